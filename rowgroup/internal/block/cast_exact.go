package block

import (
	"encoding/binary"
	"math/big"
	"math/bits"
	"unsafe"

	"github.com/shardfeed/shardfeed/column"
)

// A Recaster converts values to another type, and checks each.
type Recaster struct {
	from, to *column.Field
	run      kernel
}

// NewRecaster returns a Recaster from values of one field to values of another.
func NewRecaster(from, to *column.Field) (*Recaster, error) {
	run, err := recastKernel(from, to)
	return &Recaster{from: from, to: to, run: run}, err
}

// Values changes n values. tmp is scratch.
func (r *Recaster) Values(dst, src []byte, n int, tmp *CastScratch) error {
	in := unsafe.Pointer(unsafe.SliceData(src))
	if !r.run(unsafe.Pointer(unsafe.SliceData(dst)), 1, in, n, tmp) {
		return nil
	}
	for i := range n {
		var one [32]byte
		if at := unsafe.Add(in, i*r.from.Width); r.run(unsafe.Pointer(&one), 1, at, 1, tmp) {
			return &CastError{value: numberText(r.from, at), to: r.to}
		}
	}
	return nil
}

func recastKernel(from, to *column.Field) (kernel, error) {
	switch {
	case to.Type == column.TypeInt96 && unitOf(from) > 0:
		return int96Of(from), nil
	case to.Type == column.TypeTime && from.Type == column.TypeTime:
		return inUnits[int64](unitOf(from), unitOf(to)), nil
	case to.Type == column.TypeDecimal && (from.Type == column.TypeDecimal || IsInt(from.Type)):
		return decimalKernel(from, to), nil
	}
	m, err := NewCaster(from, Cast{To: to.Type, Unit: to.Unit})
	if err != nil {
		return nil, err
	}
	return m.run, nil
}

// int96Of makes INT96 timestamps of dates and timestamps.
func int96Of(from *column.Field) kernel {
	unit, width := unitOf(from), from.Width
	return func(dst unsafe.Pointer, stride int, src unsafe.Pointer, n int, _ *CastScratch) (misfit bool) {
		for i := range n {
			at := unsafe.Add(src, i*width)
			v := int64(*(*int32)(at))
			if width == 8 {
				v = *(*int64)(at)
			}
			if !instantOf(v, unit).put(unsafe.Add(dst, 12*i*stride)) {
				misfit = true
			}
		}
		return misfit
	}
}

// decimalKernel makes decimals of more digits after the point of integers and decimals.
func decimalKernel(from, to *column.Field) kernel {
	factor := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(to.Scale-from.Scale)), nil)
	var by wideInt
	for i, b := range factor.FillBytes(make([]byte, 32)) {
		by[3-i/8] |= uint64(b) << (56 - i%8*8)
	}
	width, signed := from.Width, !IsUnsigned(from.Type)
	return func(dst unsafe.Pointer, stride int, src unsafe.Pointer, n int, _ *CastScratch) (misfit bool) {
		for i := range n {
			v := wideIntOf(unsafe.Slice((*byte)(unsafe.Add(src, i*width)), width), signed)
			negative := v[3]>>63 != 0
			if negative {
				v = v.negated()
			}
			product, ok := v.times(by)
			if negative {
				product = product.negated()
			}
			if !ok || !product.put(unsafe.Slice((*byte)(unsafe.Add(dst, i*stride*to.Width)), to.Width)) || (product != wideInt{}) && (product[3]>>63 != 0) != negative {
				misfit = true
			}
		}
		return misfit
	}
}

// A wideInt is an integer of 256 bits in two's complement, the lowest word first.
type wideInt [4]uint64

// wideIntOf reads a little-endian integer of 1 to 32 bytes.
func wideIntOf(b []byte, signed bool) (v wideInt) {
	var full [32]byte
	if signed && b[len(b)-1]&0x80 != 0 {
		for i := range full {
			full[i] = 0xff
		}
	}
	copy(full[:], b)
	for i := range v {
		v[i] = binary.LittleEndian.Uint64(full[8*i:])
	}
	return v
}

func (v wideInt) negated() wideInt {
	carry := uint64(1)
	for i := range v {
		v[i], carry = bits.Add64(^v[i], 0, carry)
	}
	return v
}

// times multiplies numbers that are not negative; ok is false where 256 bits do not hold the
// product.
func (v wideInt) times(w wideInt) (product wideInt, ok bool) {
	ok = true
	for i := range v {
		carry := uint64(0)
		for j := range w {
			hi, lo := bits.Mul64(v[i], w[j])
			if i+j > 3 {
				ok = ok && hi == 0 && lo == 0 && carry == 0
				continue
			}
			var c uint64
			lo, c = bits.Add64(lo, carry, 0)
			hi += c
			product[i+j], c = bits.Add64(product[i+j], lo, 0)
			carry = hi + c
		}
		ok = ok && carry == 0
	}
	return product, ok
}

// put writes the lowest bytes; ok is false where the number needs more.
func (v wideInt) put(dst []byte) (ok bool) {
	var full [32]byte
	for i := range v {
		binary.LittleEndian.PutUint64(full[8*i:], v[i])
	}
	copy(dst, full[:])
	sign := byte(int8(dst[len(dst)-1]) >> 7)
	for _, b := range full[len(dst):] {
		if b != sign {
			return false
		}
	}
	return true
}
