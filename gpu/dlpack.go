package gpu

import (
	"fmt"
	"unsafe"

	"github.com/shardfeed/shardfeed/column"
)

// DeviceType is DLPack's DLDeviceType.
type DeviceType int32

// The kinds of memory of batches. Page-locked host memory is CPU, as importers of DLPack expect.
const (
	CPU  DeviceType = 1
	CUDA DeviceType = 2
)

// TypeCode is DLPack's DLDataTypeCode.
type TypeCode uint8

// The codes of columns' types.
const (
	Int   TypeCode = 0
	Uint  TypeCode = 1
	Float TypeCode = 2
	Brain TypeCode = 4 // bfloat16
	Bool  TypeCode = 6
)

// A DataType is DLPack's DLDataType.
type DataType struct {
	Code  TypeCode
	Bits  uint8
	Lanes uint16
}

// A Tensor is a dense array of a device's memory, row by row, as DLPack describes it. It is valid
// as long as its batch.
type Tensor struct {
	Device  DeviceType
	Index   int // of the device
	Pointer uintptr
	Type    DataType
	Shape   []int64
	Strides []int64 // in elements
}

// A DLTensor has the layout of DLPack's DLTensor in C (dlpack.h, version 1): what an importer in
// the same process reads. The struct around it that has a deleter, DLManagedTensor, is the
// importer's own matter: it calls the batch's Release.
type DLTensor struct {
	Data       uintptr // void *
	DeviceType DeviceType
	DeviceID   int32
	NDim       int32
	Type       DataType
	Shape      *int64
	Strides    *int64
	ByteOffset uint64
}

// DL is the tensor for C. Shape and strides point into t, which must be kept, and pinned with a
// runtime.Pinner while C has them.
func (t *Tensor) DL() *DLTensor {
	return &DLTensor{
		Data: t.Pointer, DeviceType: t.Device, DeviceID: int32(t.Index), NDim: int32(len(t.Shape)), Type: t.Type,
		Shape: unsafe.SliceData(t.Shape), Strides: unsafe.SliceData(t.Strides),
	}
}

// Tensor is a column of fixed-width values, or of fixed-size lists of them, of any depth: [Len,
// sizes...]. What DLPack has no type for, such as a UUID, is its bytes: one more dimension of
// uint8. Nulls are not in it; see Validity.
func (c *Column) Tensor() (*Tensor, error) {
	if c.released() {
		return nil, ErrReleased
	}
	leaf, shape := c, []int64{int64(c.Len)}
	for leaf.Field.Kind == column.List && leaf.Offsets.Bytes == 0 {
		shape = append(shape, int64(leaf.Field.ListSize))
		leaf = leaf.Children[0]
	}
	if leaf.Field.Kind != column.Fixed {
		return nil, fmt.Errorf("gpu: column %q is %v, which is no dense tensor; see Ragged and Children", c.Field.Name, c.Field)
	}
	t, width := typeOf(leaf.Field)
	if width > 0 {
		shape = append(shape, int64(width))
	}
	return c.tensor(leaf.Data, t, shape...), nil
}

// Ragged returns a column of byte strings or of lists of different lengths as two tensors: row i is
// values[offsets[i]:offsets[i+1]]. The values of byte strings are uint8; of lists they are the
// Tensor of their items.
func (c *Column) Ragged() (values, offsets *Tensor, err error) {
	if c.released() {
		return nil, nil, ErrReleased
	}
	switch {
	case c.Field.Kind == column.Binary:
		values = c.tensor(c.Data, DataType{Code: Uint, Bits: 8, Lanes: 1}, int64(c.Data.Bytes))
	case c.Field.Kind == column.List && c.Offsets.Bytes > 0:
		if values, err = c.Children[0].Tensor(); err != nil {
			return nil, nil, err
		}
	default:
		return nil, nil, fmt.Errorf("gpu: column %q is %v, which has no offsets to values of one type; see Tensor and Children", c.Field.Name, c.Field)
	}
	return values, c.tensor(c.Offsets, DataType{Code: Int, Bits: 32, Lanes: 1}, int64(c.Len)+1), nil
}

// Validity is a column's bits, least significant first, 1 where a value is present, as uint8; nil
// when no value is null.
func (c *Column) Validity() (*Tensor, error) {
	if c.released() {
		return nil, ErrReleased
	}
	if c.Valid.Bytes == 0 {
		return nil, nil
	}
	return c.tensor(c.Valid, DataType{Code: Uint, Bits: 8, Lanes: 1}, int64(c.Valid.Bytes)), nil
}

// tensor is a dense tensor over a span.
func (c *Column) tensor(s Span, t DataType, shape ...int64) *Tensor {
	strides := make([]int64, len(shape))
	for i, n := len(shape)-1, int64(1); i >= 0; i-- {
		strides[i] = n
		n *= shape[i]
	}
	info := c.batch.buffers.device.Info()
	return &Tensor{Device: info.Type, Index: info.Index, Pointer: s.Pointer, Type: t, Shape: shape, Strides: strides}
}

// typeOf returns DLPack's type of a fixed-width field's values; if width is above 0, a value has
// width items.
func typeOf(f *column.Field) (t DataType, width int) {
	bits := uint8(8 * min(f.Width, 8))
	switch f.Type {
	case column.TypeBool:
		return DataType{Code: Bool, Bits: 8, Lanes: 1}, 0
	case column.TypeInt8, column.TypeInt16, column.TypeInt32, column.TypeInt64,
		column.TypeDate, column.TypeTime, column.TypeTimestamp:
		return DataType{Code: Int, Bits: bits, Lanes: 1}, 0
	case column.TypeUint8, column.TypeUint16, column.TypeUint32, column.TypeUint64:
		return DataType{Code: Uint, Bits: bits, Lanes: 1}, 0
	case column.TypeFloat16, column.TypeFloat32, column.TypeFloat64:
		return DataType{Code: Float, Bits: bits, Lanes: 1}, 0
	case column.TypeBFloat16:
		return DataType{Code: Brain, Bits: bits, Lanes: 1}, 0
	case column.TypeDecimal:
		if f.Width == 8 {
			return DataType{Code: Int, Bits: 64, Lanes: 1}, 0 // unscaled
		}
	}
	return DataType{Code: Uint, Bits: 8, Lanes: 1}, f.Width
}
