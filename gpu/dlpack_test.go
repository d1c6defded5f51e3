package gpu_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/gpu"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/shuffle"
)

// dlpack.h, version 1: offsets of DLTensor's members in bytes, on 64 bits.
func TestDLTensorIsThatOfC(t *testing.T) {
	var l gpu.DLTensor
	for _, c := range []struct {
		name      string
		got, want uintptr
	}{
		{"data", unsafe.Offsetof(l.Data), 0},
		{"device.device_type", unsafe.Offsetof(l.DeviceType), 8},
		{"device.device_id", unsafe.Offsetof(l.DeviceID), 12},
		{"ndim", unsafe.Offsetof(l.NDim), 16},
		{"dtype.code", unsafe.Offsetof(l.Type) + unsafe.Offsetof(l.Type.Code), 20},
		{"dtype.bits", unsafe.Offsetof(l.Type) + unsafe.Offsetof(l.Type.Bits), 21},
		{"dtype.lanes", unsafe.Offsetof(l.Type) + unsafe.Offsetof(l.Type.Lanes), 22},
		{"shape", unsafe.Offsetof(l.Shape), 24},
		{"strides", unsafe.Offsetof(l.Strides), 32},
		{"byte_offset", unsafe.Offsetof(l.ByteOffset), 40},
		{"size", unsafe.Sizeof(l), 48},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.got != c.want {
				t.Errorf("%s at %d, want %d", c.name, c.got, c.want)
			}
		})
	}
}

// kinds is a transform that adds the types that the things have not.
func kinds(b *loader.Batch) error {
	_, i8 := loader.AddTensor[int8](b, "i8")
	_, u16 := loader.AddTensor[uint16](b, "u16", 2)
	_, u32 := loader.AddTensor[uint32](b, "u32", 2, 5)
	_, u64 := loader.AddTensor[uint64](b, "u64")
	_, yes := loader.AddTensor[bool](b, "yes", 3)
	_, wide := loader.AddTensor[[12]byte](b, "wide", 2)
	return errors.Join(i8, u16, u32, u64, yes, wide)
}

// show is a tensor in words: type, shape and strides.
func show(t *gpu.Tensor) string {
	code := map[gpu.TypeCode]string{gpu.Int: "int", gpu.Uint: "uint", gpu.Float: "float", gpu.Bool: "bool"}[t.Type.Code]
	return fmt.Sprintf("%s%d %v %v", code, t.Type.Bits, t.Shape, t.Strides)
}

// Each column as tensors: dense ones, those of ragged ones, and validity.
func TestTensors(t *testing.T) {
	onDevices(t, func(t *testing.T, d rig) {
		o := everything()
		o.BatchSize = 20
		o.Transforms = append(o.Transforms, collateTransform(kinds))
		l := newLoader(t, openThings(t, iterable.Options{}), d, gpu.Options{Loader: o})
		for b, err := range l.Batches(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if b.Step == 0 {
				checkTensors(t, d, b)
			}
			column := b.Columns[0]
			b.Release()
			if column.Data != (gpu.Span{}) {
				t.Error("a column has its memory after Release")
			}
			if _, err := column.Tensor(); !errors.Is(err, gpu.ErrReleased) {
				t.Errorf("got %v", err)
			}
			if _, _, err := column.Ragged(); !errors.Is(err, gpu.ErrReleased) {
				t.Errorf("got %v", err)
			}
			if _, err := column.Validity(); !errors.Is(err, gpu.ErrReleased) {
				t.Errorf("got %v", err)
			}
		}
	})
}

func checkTensors(t *testing.T, d rig, b *gpu.Batch) {
	t.Helper()
	for _, c := range []struct{ column, dense, values, offsets, why string }{
		{column: "id", dense: "int64 [20] [1]"},
		{column: "sold", dense: "bool8 [20] [1]"},
		{column: "count", dense: "int16 [20] [1]"},
		{column: "size", dense: "uint8 [20] [1]"},
		{column: "price", dense: "float64 [20] [1]"},
		{column: "weight", dense: "float32 [20] [1]"},
		{column: "key", dense: "uint8 [20 16] [16 1]"},
		{column: "i8", dense: "int8 [20] [1]"},
		{column: "u16", dense: "uint16 [20 2] [2 1]"},
		{column: "u32", dense: "uint32 [20 2 5] [10 5 1]"},
		{column: "u64", dense: "uint64 [20] [1]"},
		{column: "yes", dense: "bool8 [20 3] [3 1]"},
		{column: "wide", dense: "uint8 [20 2 12] [24 12 1]"},
		{column: "noise", dense: "float32 [20 2 3] [6 3 1]"},
		{column: "tokens", dense: "int32 [20 4] [4 1]"},
		{column: "tokens_mask", dense: "bool8 [20 4] [4 1]"},
		{column: "title", values: "uint8 [*] [1]", offsets: "int32 [21] [1]"},
		{column: "holes", values: "int32 [*] [1]", offsets: "int32 [21] [1]"},
		{column: "words", why: "which is no dense tensor"},
		{column: "nested", why: "which is no dense tensor"},
		{column: "maker", why: "which has no offsets"},
		{column: "maker.age", dense: "int32 [20] [1]"},
		{column: "maker.made", values: "int64 [*] [1]", offsets: "int32 [21] [1]"},
		{column: "tags", why: "which has no offsets"},
	} {
		column, err := b.Column(c.column)
		if err != nil {
			t.Fatal(err)
		}
		dense, err := column.Tensor()
		if (err == nil) != (c.dense != "") || err == nil && show(dense) != c.dense {
			t.Errorf("%s: %v, want %s (%v)", c.column, dense, c.dense, err)
		}
		values, offsets, err := column.Ragged()
		if c.values == "" {
			if err == nil || !strings.Contains(err.Error(), c.why) {
				t.Errorf("%s: %v", c.column, err)
			}
		} else {
			n := values.Shape[0]
			values.Shape[0] = -1
			if err != nil || strings.Replace(show(values), "-1", "*", 1) != c.values || show(offsets) != c.offsets || n == 0 {
				t.Errorf("%s: %v, %v (%v)", c.column, values, offsets, err)
			}
		}
		if dense != nil {
			checkDL(t, d, b, column, dense)
		}
	}
	for name, bytes := range map[string]int64{"price": 3, "note": 3, "id": 0} {
		column, err := b.Column(name)
		if err != nil {
			t.Fatal(err)
		}
		valid, err := column.Validity()
		if err != nil || (valid == nil) != (bytes == 0) {
			t.Errorf("%s: %v (%v)", name, valid, err)
		}
		if valid != nil && (show(valid) != fmt.Sprintf("uint8 [%d] [1]", bytes) || valid.Pointer != column.Valid.Pointer) {
			t.Errorf("%s: %v", name, valid)
		}
	}
}

// checkDL expects the struct of C to say what the tensor does, of memory within the batch's.
func checkDL(t *testing.T, d rig, b *gpu.Batch, c *gpu.Column, dense *gpu.Tensor) {
	t.Helper()
	l, m := dense.DL(), b.Memory()
	if l.Data != dense.Pointer || l.Data < m.Pointer() || l.Data >= m.Pointer()+uintptr(m.Len()) || l.ByteOffset != 0 || l.Data%256 != 0 {
		t.Errorf("%s: data at %x of memory at %x", c.Field.Name, l.Data, m.Pointer())
	}
	if info := d.Info(); l.DeviceType != info.Type || int(l.DeviceID) != info.Index || l.Type != dense.Type || l.Type.Lanes != 1 {
		t.Errorf("%s: %+v on %+v", c.Field.Name, l, info)
	}
	n := int(l.NDim)
	if n != len(dense.Shape) || unsafe.Slice(l.Shape, n)[n-1] != dense.Shape[n-1] || unsafe.Slice(l.Strides, n)[0] != dense.Strides[0] {
		t.Errorf("%s: %+v of %+v", c.Field.Name, l, dense)
	}
}

// A batch of no rows, such as the last one of some ranks, has columns of no values.
func TestEmptyBatches(t *testing.T) {
	onDevices(t, func(t *testing.T, d rig) {
		ds := openThings(t, iterable.Options{})
		o := everything()
		o.BatchSize, o.WorldSize, o.Rank, o.Tail = thingRows/3, 3, 1, shuffle.Short
		want := onHost(t, ds, o)
		l := newLoader(t, ds, d, gpu.Options{Loader: o})
		if l.Len() != 2 {
			t.Fatalf("%d batches", l.Len())
		}
		for b, err := range l.Batches(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if diff := ofDevice(t, d, b).diff(want[b.Step]); diff != "" || b.Step == 1 && b.Rows != 0 {
				t.Fatalf("%d rows; %s", b.Rows, diff)
			}
			for _, c := range b.Columns {
				if x, err := c.Tensor(); err == nil && x.Shape[0] != int64(b.Rows) {
					t.Errorf("%s: %v", c.Field.Name, x)
				}
			}
			b.Release()
		}
	})
}

// A column is found by its name, or by the way to it.
func TestColumnNames(t *testing.T) {
	l := newLoader(t, openThings(t, iterable.Options{}), gpu.OpenHost(), gpu.Options{Loader: loader.Options{BatchSize: 300}})
	for b, err := range l.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{
			"id": "", "maker": "", "maker.name": "", "none": `no column "none"`, "maker.none": `no column "maker.none"`, "id.x": `no column "id.x"`,
		} {
			_, err := b.Column(name)
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", name, err)
			}
		}
		column, err := b.Column("maker.age")
		if err != nil || column.Field.Name != "age" || column.Len != b.Rows {
			t.Errorf("got %+v (%v)", column, err)
		}
		if got := b.Bytes(b.Columns[0].Data); len(got) != 8*b.Rows || uintptr(unsafe.Pointer(&got[0])) != b.Columns[0].Data.Pointer {
			t.Errorf("%d bytes of ids", len(got))
		}
		if s := b.String(); !strings.Contains(s, "250 rows (250 count) on host, id int64") {
			t.Errorf("got %s", s)
		}
		b.Columns = append(b.Columns, b.Columns[0])
		if _, err := b.Column("id"); err == nil || !strings.Contains(err.Error(), "more than one") {
			t.Errorf("got %v", err)
		}
		b.Release()
	}
}

// Each type of fixed-width values has a type of DLPack's, or is bytes.
func TestTensorTypes(t *testing.T) {
	for _, c := range []struct {
		of    column.Type
		width int
		want  string
	}{
		{column.TypeFloat16, 2, "float16 [3] [1]"},
		{column.TypeDate, 4, "int32 [3] [1]"},
		{column.TypeTime, 8, "int64 [3] [1]"},
		{column.TypeTimestamp, 8, "int64 [3] [1]"},
		{column.TypeDecimal, 8, "int64 [3] [1]"},
		{column.TypeDecimal, 16, "uint8 [3 16] [16 1]"},
		{column.TypeInt96, 12, "uint8 [3 12] [12 1]"},
		{column.TypeInterval, 12, "uint8 [3 12] [12 1]"},
		{column.TypeUUID, 16, "uint8 [3 16] [16 1]"},
		{column.TypeFixedBinary, 5, "uint8 [3 5] [5 1]"},
	} {
		t.Run(fmt.Sprint(c.of), func(t *testing.T) {
			b := oneBatch(t, func(b *loader.Batch) error {
				data, err := b.Alloc(3 * c.width)
				f := &column.Field{Name: "x", Kind: column.Fixed, Type: c.of, Width: c.width}
				return errors.Join(err, b.Add(&column.Array{Field: f, Len: 3, Data: data}))
			})
			x, err := b.Columns[len(b.Columns)-1].Tensor()
			if err != nil || show(x) != c.want {
				t.Errorf("type %d: got %v, want %s (%v)", c.of, x, c.want, err)
			}
			b.Release()
		})
	}
}

// oneBatch is a batch of three rows on the host, made with a collate.
func oneBatch(t *testing.T, collate func(*loader.Batch) error) *gpu.Batch {
	t.Helper()
	b, err := firstBatch(t, collate)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func firstBatch(t *testing.T, collate func(*loader.Batch) error) (*gpu.Batch, error) {
	t.Helper()
	l := newLoader(t, openThings(t, iterable.Options{Reading: iterable.Reading{Columns: []string{"id"}}}), closed(t, gpu.OpenHost()), gpu.Options{Loader: loader.Options{
		BatchSize: 3, Transforms: []loader.Transform{{Apply: func(_ context.Context, b *loader.Batch, _ *rand.Rand) error { return collate(b) }}},
	}})
	for b, err := range l.Batches(t.Context()) {
		return b, err
	}
	return nil, nil
}

// Arrays of a collate that do not fit together are an error that names the column, not a read
// beyond them.
func TestArraysThatDoNotFit(t *testing.T) {
	number := &column.Field{Name: "n", Kind: column.Fixed, Type: column.TypeInt32, Width: 4}
	text := &column.Field{Name: "s", Kind: column.Binary, Type: column.TypeString}
	list := &column.Field{Name: "l", Kind: column.List, Children: []*column.Field{number}}
	for _, c := range []struct {
		array *column.Array
		want  string
	}{
		{&column.Array{Field: number, Len: 3, Data: make([]byte, 11)}, `column "n": 11 bytes of data where 3 values take 12`},
		{&column.Array{Field: number, Len: 3, Valid: []byte{}, Data: make([]byte, 12)}, `column "n": 0 bytes of validity where 3 values take 1`},
		{&column.Array{Field: text, Len: 3, Offsets: []int32{0, 1, 1}}, `column "s": 12 bytes of offsets where 3 values take 16`},
		{&column.Array{Field: text, Len: 3}, `column "s": 0 bytes of offsets where 3 values take 16`},
		{&column.Array{Field: text, Len: 3, Offsets: []int32{0, 1, 1, 9}, Data: make([]byte, 8)}, `column "s": 8 bytes of data where 3 values take 9`},
		{&column.Array{Field: text, Len: 3, Offsets: []int32{0, 1, 1, -9}, Data: make([]byte, 8)}, `column "s": the last of its offsets is -9`},
		{
			&column.Array{Field: list, Len: 3, Offsets: []int32{0, 1, 1, 2}, Children: []*column.Array{{Field: number, Len: 2}}},
			`column "l": "n": 0 bytes of data where 2 values take 8`,
		},
		{
			&column.Array{Field: list, Len: 3, Offsets: []int32{0, 1, 1, 2}, Children: []*column.Array{{Field: number, Len: -2}}},
			`column "l": "n": a length of -2`,
		},
	} {
		t.Run(c.want, func(t *testing.T) {
			b, err := firstBatch(t, func(b *loader.Batch) error { return b.Add(c.array) })
			if err == nil || !strings.Contains(err.Error(), "gpu: host: lay out a batch: epoch 0, step 0: "+c.want) {
				t.Errorf("got %v, %v, want %s", b, err, c.want)
			}
		})
	}
}
