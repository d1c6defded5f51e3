package scan

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/leaktest"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/mem"
	"github.com/shardfeed/shardfeed/table"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// put writes rows to a file in memory, a row group for each of parts.
func put[T any](t *testing.T, store *mem.Store, parts ...[]T) shard.Shard {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[T](&b)
	for _, rows := range parts {
		if _, err := w.Write(rows); err != nil {
			t.Fatal(err)
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	store.Put("t/f.parquet", b.Bytes())
	all, err := store.List(context.Background(), "mem://t/f.parquet")
	if err != nil {
		t.Fatal(err)
	}
	return all[0]
}

type vector struct {
	Offset *int32 `parquet:"offset,optional"`
	Stored string `parquet:"stored"`
}

type action struct {
	Path   string            `parquet:"path"`
	Values map[string]string `parquet:"values"`
	Vector *vector           `parquet:"vector,optional"`
	Sizes  []int64           `parquet:"sizes,list"`
}

type line struct {
	Add  *action `parquet:"add,optional"`
	Note string  `parquet:"note"`
}

// A scan reads members of structs, maps and lists, in the order of the parts.
func TestScanNested(t *testing.T) {
	store := &mem.Store{}
	offset := int32(4)
	s := put(t, store,
		[]line{{Note: "first"}, {Add: &action{Path: "a", Values: map[string]string{"dt": "1"}, Vector: &vector{&offset, "u"}, Sizes: []int64{1, 2}}}},
		[]line{{Add: &action{Path: "b", Sizes: []int64{3}}}})
	names := func(names ...string) (all []table.Field) {
		for _, n := range names {
			all = append(all, table.Field{Names: []string{n}})
		}
		return all
	}
	fields := names("absent", "add", "note")
	fields[1].Parts = names("vector", "nothing", "path", "values", "sizes")
	fields[1].Parts[0].Parts = names("stored", "offset")
	var text strings.Builder
	err := New(store)(context.Background(), s, fields, func(first int64, columns []*column.Array) error {
		if columns[0] != nil {
			return errors.New("a column that the file lacks")
		}
		add, note := columns[1], columns[2]
		for i := range add.Len {
			fmt.Fprintf(&text, "%d %s", first+int64(i), textAt(t, note, i))
			if !add.IsNull(i) {
				if add.Children[1] != nil {
					return errors.New("a member that the file lacks")
				}
				v, values, sizes := add.Children[0], add.Children[3], add.Children[4]
				fmt.Fprintf(&text, " %s %v", textAt(t, add.Children[2], i), !v.IsNull(i))
				if !v.IsNull(i) {
					n, _ := column.Values[int32](v.Children[1])
					fmt.Fprintf(&text, " %s@%d", textAt(t, v.Children[0], i), n[i])
				}
				for lo, hi := values.Items(i); lo < hi; lo++ {
					pair := values.Children[0]
					fmt.Fprintf(&text, " %s=%s", textAt(t, pair.Children[0], lo), textAt(t, pair.Children[1], lo))
				}
				n, _ := column.Values[int64](sizes)
				lo, hi := sizes.Items(i)
				fmt.Fprintf(&text, " %v", n[lo:hi])
			}
			text.WriteString("\n")
		}
		return nil
	})
	if want := "0 first\n1  a true u@4 dt=1 [1 2]\n2  b false [3]\n"; err != nil || text.String() != want {
		t.Errorf("got %q, %v; want %q", text.String(), err, want)
	}
}

func textAt(t *testing.T, a *column.Array, i int) string {
	t.Helper()
	v, err := column.Bytes(a)
	if err != nil {
		t.Fatal(err)
	}
	return string(v.At(i))
}

type position struct {
	Path string `parquet:"file_path,id(2147483546)"`
	Pos  int64  `parquet:"pos,id(2147483545)"`
}

// A scan reads files that list deleted rows, which data sets refuse, by field IDs; rows come in
// order, over all row groups.
func TestScanPositions(t *testing.T) {
	store := &mem.Store{}
	parts := make([][]position, 3)
	n := int64(0)
	for i := range parts {
		for range 20_000 * i { // the first is empty
			parts[i] = append(parts[i], position{strings.Repeat("x", int(n%3)), n})
			n++
		}
	}
	s := put(t, store, parts...)
	next := int64(0)
	fields := []table.Field{{ID: 2147483545, Names: []string{"file_path"}}}
	scan := New(store)
	err := scan(context.Background(), s, fields, func(first int64, columns []*column.Array) error {
		values, err := column.Values[int64](columns[0])
		if err != nil || first != next {
			return fmt.Errorf("rows from %d, want %d: %w", first, next, err)
		}
		for _, v := range values {
			if v != next {
				return fmt.Errorf("row %d has %d", next, v)
			}
			next++
		}
		return nil
	})
	if err != nil || next != n {
		t.Errorf("%d rows, %v; want %d", next, err, n)
	}
	stop := errors.New("stop")
	if err := scan(context.Background(), s, fields, func(int64, []*column.Array) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("the error of each became %v", err)
	}
}

// Values longer than a gathering come row by row, and columns that are all lacking as no rows.
func TestScanLong(t *testing.T) {
	store := &mem.Store{}
	long := strings.Repeat("long", 3<<20)
	s := put(t, store, []line{{Note: long}, {Note: long + "2"}, {Note: "short"}})
	var sizes []int
	err := New(store)(context.Background(), s, []table.Field{{Names: []string{"note"}}}, func(_ int64, columns []*column.Array) error {
		for i := range columns[0].Len {
			sizes = append(sizes, len(textAt(t, columns[0], i)))
		}
		return nil
	})
	if want := []int{len(long), len(long) + 1, 5}; err != nil || fmt.Sprint(sizes) != fmt.Sprint(want) {
		t.Errorf("got %v, %v; want %v", sizes, err, want)
	}
	err = New(store)(context.Background(), s, []table.Field{{Names: []string{"absent"}}}, func(int64, []*column.Array) error { return errors.New("rows") })
	if err != nil {
		t.Error(err)
	}
}
