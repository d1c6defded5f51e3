package loaderarrow

import (
	"context"
	"encoding/binary"
	"errors"
	"testing"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/local"
)

// An owner counts the batches that are out.
type owner struct{ out int }

func (o *owner) Begin(context.Context, int) (loader.Memory, error) {
	o.out++
	return &heap{o}, nil
}

type heap struct{ owner *owner }

func (h *heap) Alloc(n int) ([]byte, error) { return make([]byte, n), nil }
func (h *heap) Free()                       { h.owner.out-- }

// first is the first batch of the shop.
func first(t *testing.T, columns []string, pad ...loader.Padding) (*loader.Batch, *owner) {
	t.Helper()
	ds, err := iterable.Open(t.Context(), shard.Stores{"": local.Store{}}, []string{"../../testdata/shop"}, iterable.Options{Reading: iterable.Reading{Columns: columns}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ds.Close() })
	o := &owner{}
	l, err := loader.New(ds, loader.Options{BatchSize: 100, Allocator: o, Pad: pad})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	for b, err := range l.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		return b, o
	}
	t.Fatal("the shop has no batch")
	return nil, nil
}

func TestRecord(t *testing.T) {
	b, _ := first(t, []string{"unique_id", "price", "token_ids"})
	ids, _ := column.Strings(b.Columns[0])
	prices := b.Columns[2] // in the order of the schema
	want, _ := column.Values[float64](prices)
	want = append([]float64(nil), want...)
	address := unsafe.SliceData(prices.Data)
	r, err := RecordBatch(b)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	if r.NumRows() != 100 || r.NumCols() != 3 {
		t.Fatalf("%d rows, %d columns", r.NumRows(), r.NumCols())
	}
	texts, values := r.Column(0).(*array.String), r.Column(2).(*array.Float64)
	for i := range ids {
		if texts.Value(i) != ids[i] || values.Value(i) != want[i] || values.IsNull(i) != prices.IsNull(i) {
			t.Fatalf("row %d is %q, %v", i, texts.Value(i), values.Value(i))
		}
	}
	if unsafe.Pointer(unsafe.SliceData(values.Float64Values())) != unsafe.Pointer(address) {
		t.Error("the values were copied")
	}
	if got := r.Column(1).DataType().String(); got != "list<element: int32, nullable>" {
		t.Errorf("token_ids is %s", got)
	}
}

// The batch is released by the last holder of any of its arrays.
func TestHolders(t *testing.T) {
	b, o := first(t, []string{"unique_id", "price"})
	r, err := RecordBatch(b)
	if err != nil {
		t.Fatal(err)
	}
	kept := r.Column(1)
	kept.Retain()
	slice := array.NewSlice(kept, 10, 20)
	r.Release()
	if o.out != 1 {
		t.Fatal("the batch was released under a column that is held")
	}
	kept.Release()
	if o.out != 1 || slice.Len() != 10 {
		t.Fatal("the batch was released under a slice that is held")
	}
	slice.Release()
	if o.out != 0 {
		t.Fatal("nothing holds the batch, and it is not released")
	}
	if _, err := RecordBatch(b); !errors.Is(err, column.ErrReleased) {
		t.Errorf("a record of a released batch: %v", err)
	}
}

func TestPaddedColumn(t *testing.T) {
	b, o := first(t, []string{"token_ids"}, loader.Padding{Column: "token_ids", Max: 16, ToMax: true})
	r, err := RecordBatch(b)
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Column(0).DataType().String(); got != "fixed_size_list<element: int32, nullable>[16]" {
		t.Errorf("the padded column is %s", got)
	}
	r.Release()
	if o.out != 0 {
		t.Error("the batch is not released")
	}
}

// A batch that cannot be shown stays its owner's.
func TestRefused(t *testing.T) {
	b, o := first(t, []string{"price"})
	defer b.Release()
	own := *b.Columns[0].Field
	own.Type = column.TypeNone
	b.Columns[0].Field = &own
	if _, err := RecordBatch(b); err == nil || err.Error() != `loaderarrow: column "price" is none, which has no Arrow type` {
		t.Errorf("the error is %v", err)
	}
	if o.out != 1 {
		t.Error("the batch was released")
	}
}

func TestTypes(t *testing.T) {
	fixed := func(typ column.Type, width int) *column.Field {
		return &column.Field{Name: "x", Kind: column.Fixed, Type: typ, Width: width}
	}
	decimal := func(width, precision int) *column.Field {
		f := fixed(column.TypeDecimal, width)
		f.Precision, f.Scale = precision, 2
		return f
	}
	key := &column.Field{Name: "k", Kind: column.Binary, Type: column.TypeString}
	pair := &column.Field{Name: "key_value", Kind: column.Struct, Children: []*column.Field{key, {Name: "v", Kind: column.Fixed, Type: column.TypeInt8, Width: 1, Nullable: true}}}
	keys := &column.Field{Name: "key_value", Kind: column.Struct, Children: []*column.Field{key}}
	for _, c := range []struct {
		field *column.Field
		want  string
	}{
		{fixed(column.TypeBool, 1), "bool"},
		{fixed(column.TypeUint16, 2), "uint16"},
		{fixed(column.TypeFloat16, 2), "float16"},
		{fixed(column.TypeDate, 4), "date32"},
		{fixed(column.TypeTime, 8), "time32[ms]"},
		{&column.Field{Kind: column.Fixed, Type: column.TypeTime, Width: 8, Unit: column.Nano}, "time64[ns]"},
		{fixed(column.TypeTimestamp, 8), "timestamp[ms]"},
		{&column.Field{Kind: column.Fixed, Type: column.TypeTimestamp, Width: 8, Unit: column.Micro, UTC: true}, "timestamp[us, tz=UTC]"},
		{fixed(column.TypeInterval, 12), "fixed_size_binary[12]"},
		{fixed(column.TypeUUID, 16), "fixed_size_binary[16]"},
		{decimal(8, 18), "decimal(18, 2)"},
		{decimal(16, 38), "decimal(38, 2)"},
		{decimal(32, 76), "decimal256(76, 2)"},
		{&column.Field{Kind: column.Binary, Type: column.TypeDecimal, Precision: 90}, "binary"},
		{&column.Field{Kind: column.Binary, Type: column.TypeJSON}, "utf8"},
		{&column.Field{Kind: column.Null}, "null"},
		{&column.Field{Kind: column.Map, Children: []*column.Field{pair}}, "map<utf8, int8, items_nullable>"},
		{&column.Field{Kind: column.Map, Children: []*column.Field{keys}}, "list<key_value: struct<k: utf8>>"},
	} {
		got, err := typeOf(c.field)
		if err != nil || got.String() != c.want {
			t.Errorf("%v is %v, %v; want %s", c.field, got, err, c.want)
		}
	}
	uuids, _ := fieldOf(fixed(column.TypeUUID, 16))
	if name, _ := uuids.Metadata.GetValue("ARROW:extension:name"); name != "arrow.uuid" {
		t.Errorf("a UUID is marked %q", name)
	}
}

// What Arrow lays out in another way.
func TestConverted(t *testing.T) {
	for _, c := range []struct {
		name string
		a    *column.Array
		typ  arrow.DataType
		want string
	}{
		{
			"bool",
			&column.Array{Field: &column.Field{Type: column.TypeBool, Width: 1}, Len: 9, Data: []byte{1, 0, 1, 0, 0, 0, 0, 0, 1}},
			arrow.FixedWidthTypes.Boolean, "[true false true false false false false false true]",
		},
		{
			"decimal of 64 bits",
			&column.Array{Field: &column.Field{Type: column.TypeDecimal, Width: 8}, Len: 2, Data: binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, 150), ^uint64(0))},
			&arrow.Decimal128Type{Precision: 18, Scale: 2}, "[1.5 -0.01]",
		},
		{
			"time in milliseconds",
			&column.Array{Field: &column.Field{Type: column.TypeTime, Width: 8}, Len: 1, Data: binary.LittleEndian.AppendUint64(nil, 61_001)},
			arrow.FixedWidthTypes.Time32ms, "[61001]",
		},
		{
			"null",
			&column.Array{Field: &column.Field{Kind: column.Null}, Len: 2},
			arrow.Null, "[(null) (null)]",
		},
		{
			"text without rows",
			&column.Array{Field: &column.Field{Kind: column.Binary, Type: column.TypeString}},
			arrow.BinaryTypes.String, "[]",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := &holder{batch: &loader.Batch{}}
			h.buffers.Store(1)
			data := h.array(c.typ, c.a)
			defer data.Release()
			got := array.MakeFromData(data)
			defer got.Release()
			if got.String() != c.want {
				t.Errorf("got %v, want %s", got, c.want)
			}
		})
	}
}
