package estimate

import (
	"math"
	"testing"

	"github.com/parquet-go/parquet-go/format"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/parquet"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
)

func TestAlloc(t *testing.T) {
	least := mem.ClassBytes(0)
	for _, c := range []struct {
		name         string
		n            []int64
		small, total int64
	}{
		{name: "nothing"},
		{"a small one has a buffer to share", []int64{872}, 1000, 1333 + least},
		{"the largest small one", []int64{least - 128}, least, least + least/3 + 2*least},
		{"a large one has its own", []int64{least - 127}, 0, mem.ClassBytes(least + 1)},
		{"at most four shared buffers are empty", []int64{1 << 20, 872}, 1000, mem.ClassBytes(1<<20+128) + 1333 + 4*least},
		{"no overflow", []int64{math.MaxInt64, math.MaxInt64, math.MaxInt64}, 0, math.MaxInt64},
	} {
		t.Run(c.name, func(t *testing.T) {
			var e Estimator
			for _, n := range c.n {
				e.Alloc(n)
			}
			if e.Small != c.small || e.Total() != c.total {
				t.Errorf("%d small bytes and %d in all, want %d and %d", e.Small, e.Total(), c.small, c.total)
			}
		})
	}
}

const (
	codes   = 1<<format.RLEDictionary | 1<<parquet.AllCoded
	nRows   = 1000
	nValues = 3000 // items of lists
)

func leaf(f column.Field) *schema.Node {
	return &schema.Node{Field: &f, Leaf: &schema.Leaf{Type: format.Int64}}
}

func list(of *schema.Node) *schema.Node {
	of.Leaf.MaxRep = 1
	return &schema.Node{Field: &column.Field{Kind: column.List}, Rep: 1, Children: []*schema.Node{of}}
}

// TestColumn adds a column of 1,000 rows. values are without what allocations take beside.
func TestColumn(t *testing.T) {
	whole := column.Field{Kind: column.Fixed, Width: 8}
	text := column.Field{Kind: column.Binary}
	optional := whole
	optional.Nullable = true
	for _, c := range []struct {
		name         string
		node         *schema.Node
		chunk        chunk
		values, wide int64
	}{
		{"numbers", leaf(whole), chunk{values: nRows}, 8000, 0},
		{"nulls", leaf(optional), chunk{values: nRows}, 8000 + 125, 0},
		{"codes count as values", leaf(whole), chunk{values: nRows, uncompressed: 9000, dict: 80, encodings: codes}, 8000, 0},
		{"texts", leaf(text), chunk{values: nRows, uncompressed: 9000}, 8*nRows + 9000, 0},
		{"texts that share prefixes", leaf(text), chunk{values: nRows, uncompressed: 9000, encodings: 1 << format.DeltaByteArray}, 8*nRows + 4*9000, 0},
		{"the file has the bytes of prefixes", leaf(text), chunk{values: nRows, uncompressed: 9000, binary: 10_000, encodings: 1 << format.DeltaByteArray}, 8*nRows + 10_000, 0},
		{"wide texts", leaf(text), chunk{values: nRows, uncompressed: 512 * nRows}, 8 * nRows, 512*nRows + 64*nRows},
		{"not wide enough", leaf(text), chunk{values: nRows, uncompressed: 512*nRows - 1}, 8*nRows + 512*nRows - 1, 0},
		{"too much to be wide", leaf(text), chunk{values: nRows, uncompressed: WideMost + 1}, 8*nRows + WideMost + 1, 0},
		{"lists", list(leaf(whole)), chunk{values: nValues}, 8*(nRows+1) + 8*nValues, 0},
		{"wide lists", list(leaf(whole)), chunk{values: 64 * nRows}, 8 * nRows, 8 * 64 * nRows * 9 / 8},
		{"missing", &schema.Node{Field: &whole, Missing: true}, chunk{}, nRows, 0},
		{"numbers that are made", &schema.Node{Field: &whole, Numbers: &schema.Numbers{}}, chunk{}, 8 * nRows, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := New(c.chunk.record(t), 0)
			e.Column(c.node, nRows)
			if e.Values != c.values || e.Wide != c.wide {
				t.Errorf("%d bytes of values and %d wide ones, want %d and %d", e.Values, e.Wide, c.values, c.wide)
			}
		})
	}
}

// TestCodes adds numbers that are codes, which take less than the numbers.
func TestCodes(t *testing.T) {
	const n = 1 << 20
	for _, c := range []struct {
		name          string
		dict          int64
		kept          int64 // of n rows; 0 means all
		narrow, small int64
	}{
		{"a byte each", 200, 0, mem.ClassBytes(n + 128), 8*256 + 128},
		{"two bytes each, as the dictionary may be compressed well", 8 * SmallTable, 0, mem.ClassBytes(2*n + 128), 8*512 + 128},
		{"the decoder may keep the numbers", 8*SmallTable + 1, 0, mem.ClassBytes(8*n + 128), 0},
		{"few rows are not worth a dictionary", 8 * 60, 30, 0, 8*30 + 128},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := chunk{values: n, uncompressed: 8 * n, dict: c.dict, codec: int64(format.Gzip), encodings: codes}.record(t)
			e, rows := New(r, 0), int64(n)
			if c.kept > 0 {
				e, rows = NewKept(r, 0, c.kept, n), c.kept
			}
			e.Column(leaf(column.Field{Kind: column.Fixed, Width: 8}), rows)
			if e.Narrow != c.narrow || e.Small != c.small {
				t.Errorf("%d large bytes and %d small ones, want %d and %d", e.Narrow, e.Small, c.narrow, c.small)
			}
		})
	}
}

// TestKeptText takes an eighth more than their share for rows that are kept, and never more than
// all.
func TestKeptText(t *testing.T) {
	r := chunk{values: nRows, uncompressed: 80_000}.record(t)
	for _, c := range []struct {
		kept int64
		all  bool
		want int64
	}{{100, false, 8000 + 1000 + 1}, {999, false, 80_000}, {100, true, 80_000}} {
		e := NewKept(r, 0, c.kept, nRows)
		e.AllText = c.all
		e.Node(leaf(column.Field{Kind: column.Binary}), c.kept)
		if got := e.Values - 8*c.kept; got != c.want {
			t.Errorf("%d of %d rows, all text %v: %d bytes, want %d", c.kept, nRows, c.all, got, c.want)
		}
	}
}
