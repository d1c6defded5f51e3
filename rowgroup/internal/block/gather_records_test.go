package block

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/shardfeed/shardfeed/column"
)

// Columns whose slots lie in records give the same values as columns of their own: of any width,
// plain and by codes, with nulls, in records of one size and of several, in any number of picks.
func TestRecordCopies(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 16))
	var copied, plain Gatherer
	text := &column.Field{Name: "text", Kind: column.Binary, Type: column.TypeString, Nullable: true}
	ways := map[string]int{}
	defer func(can bool) { canTranspose = can }(canTranspose)
	can := canTranspose
	for try := range 300 {
		canTranspose = can && try%3 > 0
		const rows = 60
		var fields []*column.Field
		for _, width := range []int{8, 8, 4, 4, 4, 2, 1, 16}[:leastSlots+r.IntN(5)] {
			fields = append(fields, &column.Field{Name: "fixed", Type: column.TypeInt64, Width: width, Nullable: true})
		}
		fields = append(fields, text, text)
		codes := make([]int, len(fields))
		for i := range codes {
			codes[i] = []int{0, 0, 1, 2, 4}[r.IntN(5)]
		}
		var own, records []*Block
		for range 1 + r.IntN(5) {
			b := &Block{rows: rows}
			for i, f := range fields {
				b.cols = append(b.cols, randomSlots(r, f, rows, codes[i]))
			}
			own, records = append(own, b), append(records, laidInRecords(b, r.IntN(4)/3))
		}
		n := 1 + r.IntN(90)
		picks := randomPicks(r, len(own), rows, n)
		copied.Prepare(records, picks, sortedColumns)
		if !copied.records.has(picks) {
			t.Fatal("no records were copied")
		}
		for i, f := range fields {
			got, err := copied.Gather(i, f, records, picks, heap)
			if err != nil {
				t.Fatal(err)
			}
			want, err := plain.Gather(i, f, own, picks, heap)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got.Data, want.Data) || !bytes.Equal(got.Valid, want.Valid) || got.Nulls != want.Nulls || !slices.Equal(got.Offsets, want.Offsets) {
				t.Fatalf("%s of %d bytes, codes of %d, %d picks of %d blocks: the values differ", f.Name, f.Width, codes[i], n, len(own))
			}
			ways[fmt.Sprint(f.Name, " ", f.Width, " by ", codes[i])]++
		}
	}
	if len(ways) != 6*4 {
		t.Errorf("forms: %v", ways)
	}
}

// The copies of a batch's records stay small: a larger batch is gathered from where they lie.
func TestMostRecordCopies(t *testing.T) {
	r := rand.New(rand.NewPCG(16, 17))
	f := &column.Field{Name: "fixed", Type: column.TypeInt64, Width: 8, Nullable: true}
	own := &Block{rows: 1}
	for range leastSlots {
		own.cols = append(own.cols, randomSlots(r, f, 1, 0))
	}
	blocks := []*Block{laidInRecords(own, 0)}
	picks := make([]Pick, mostCopied/blocks[0].record+1)
	var g Gatherer
	if g.Prepare(blocks, picks[1:], sortedColumns); !g.records.has(picks[1:]) {
		t.Error("as many records as may be were not copied")
	}
	if g.Prepare(blocks, picks, sortedColumns); g.records.has(picks) {
		t.Error("more records were copied than may be")
	}
	got, err := g.Gather(0, f, blocks, picks, heap)
	if err != nil {
		t.Fatal(err)
	}
	var plain Gatherer
	want, err := plain.Gather(0, f, []*Block{own}, picks, heap)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Data, want.Data) || got.Nulls != want.Nulls {
		t.Error("the values differ")
	}
}

// randomSlots is a vector of slots of one form; codes is the bytes of a code, 0 of plain values.
func randomSlots(r *rand.Rand, f *column.Field, rows, codes int) *Vector {
	for {
		var v *Vector
		if f.Kind == column.Binary {
			v = randomViews(r, f, rows)
		} else {
			v = randomFixed(r, f, rows)
		}
		if v.CodeWidth == codes && v.Order == nil && v.ChunkShift == 0 && v.IsSlot() {
			return v
		}
	}
}

// laidInRecords is a block whose columns lie in records, with so many unused words at their ends.
func laidInRecords(b *Block, unused int) *Block {
	out := &Block{rows: b.rows, slots: len(b.cols)}
	at := make([]int, len(b.cols))
	size := 0
	for _, align := range []int{8, 4, 2, 1} {
		for i, v := range b.cols {
			if w := int(SlotWidth(v.Field, v.CodeWidth)); min(8, w&-w) == align {
				at[i], size = size, size+w
			}
		}
	}
	marks := size
	size = (marks + (len(b.cols)+7)/8 + 7) &^ 7
	out.record = size + 8*unused
	out.records = make([]byte, out.record*b.rows)
	for i, v := range b.cols {
		w := int(SlotWidth(v.Field, v.CodeWidth))
		s := &Vector{
			Field: v.Field, Len: v.Len, Nulls: v.Nulls, CodeWidth: v.CodeWidth, Dict: v.Dict, Base: v.Base,
			Slots: out.records[at[i]:], Slot: at[i], Step: out.record,
			Marks: out.records[marks+i/8:], MarkAt: marks + i/8, Mark: 1 << (i % 8),
		}
		for row := range b.rows {
			to := s.Slots[row*s.Step:][:w]
			switch {
			case v.Codes != nil:
				copy(to, v.Codes[row*w:])
			case v.Views != nil:
				binary.LittleEndian.PutUint64(to, v.Views[row])
			default:
				copy(to, v.Data[row*w:])
			}
			if v.Nulls == 0 || !v.IsNull(row) {
				s.Marks[row*s.Step] |= s.Mark
			}
		}
		out.cols = append(out.cols, s)
	}
	return out
}
