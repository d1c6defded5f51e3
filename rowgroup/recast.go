package rowgroup

import (
	"encoding/binary"
	"fmt"
	"math/big"
	"math/bits"
	"unsafe"

	"github.com/shardfeed/shardfeed/column"
)

// A recast changes the values of a leaf to the type of its column in the data set, where other
// shards have another.
type recast struct {
	own     *column.Field // the leaf's, as its file has it
	convert convert       // how stored values become those of own
	to      *column.Field
	run     kernel
}

// recastTile is the values that are changed at once.
const recastTile = 256

// bindTo is the leaf for a column of the data set; from is its own field.
func (l leaf) bindTo(from, to *column.Field) (*leaf, error) {
	switch {
	case from.Kind == column.Null && to.Kind != column.Null:
		l.convert = convertNull
	case to.Kind != column.Fixed || sameLayout(from, to):
	case from.Type == column.TypeFloat32 && to.Type == column.TypeFloat64:
		l.convert = convertWidenFloat
	case isDecimal(from) && isDecimal(to) && from.Scale == to.Scale:
		l.convert = convertDecimal
	case widensTo(from.Type, to.Type):
		l.convert = widenInt(from, to)
	default:
		run, err := recastKernel(from, to)
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", l.path, err)
		}
		l.recast, l.convert = &recast{own: from, convert: l.convert, to: to, run: run}, convertRecast
	}
	return &l, nil
}

func isDecimal(f *column.Field) bool { return f.Type == column.TypeDecimal }

// sameLayout reports whether values of two fields are the same bytes.
func sameLayout(a, b *column.Field) bool {
	if a.Width != b.Width || isBytes(*a) && isBytes(*b) {
		return a.Width == b.Width
	}
	return a.Type == b.Type && a.Unit == b.Unit && a.Scale == b.Scale
}

// widensTo reports whether an integer type holds another.
func widensTo(from, to column.Type) bool {
	t, ok := uniteInts(from, to)
	return ok && t == to
}

// widenInt says how an INT32 of one integer type becomes a wider one.
func widenInt(from, to *column.Field) convert {
	switch {
	case to.Width == 8 && isUnsigned(from.Type):
		return convertWidenUint
	case to.Width == 8:
		return convertWidenInt
	case to.Width == 4:
		return convertNone
	}
	return convertNarrow
}

// recastKernel makes values of one field those of another. It checks each.
func recastKernel(from, to *column.Field) (kernel, error) {
	switch {
	case to.Type == column.TypeInt96 && unitOf(from) > 0:
		return int96Of(from), nil
	case to.Type == column.TypeTime && from.Type == column.TypeTime:
		return inUnits[int64](unitOf(from), unitOf(to)), nil
	case isDecimal(to) && (isDecimal(from) || isInt(from.Type)):
		return decimalKernel(from, to), nil
	}
	m, err := NewCaster(from, Cast{To: to.Type, Unit: to.Unit})
	if err != nil {
		return nil, err
	}
	return m.run, nil
}

// values changes n stored values. tmp is scratch of the kernels.
func (r *recast) values(dst, src []byte, n int, c *leafDecoder) error {
	var own [recastTile * 32]byte
	for i := 0; i < n; i += recastTile {
		m := min(recastTile, n-i)
		part := src[i*c.stored : (i+m)*c.stored]
		if r.convert != convertNone {
			l := *c.leaf
			l.convert = r.convert
			inner := leafDecoder{leaf: &l, field: r.own, stored: c.stored}
			if err := inner.convert(own[:m*r.own.Width], part, m); err != nil {
				return err
			}
			part = own[:m*r.own.Width]
		}
		if err := r.tile(dst[i*r.to.Width:], part, m, c); err != nil {
			return err
		}
	}
	return nil
}

// byteDecimals changes decimals of BYTE_ARRAY, which are views of text.
func (r *recast) byteDecimals(dst, text []byte, views []uint64, c *leafDecoder) error {
	var own [recastTile * 32]byte
	w := r.own.Width
	for len(views) > 0 {
		n := min(recastTile, len(views))
		for i, v := range views[:n] {
			if !putBigEndian(own[i*w:(i+1)*w], text[v>>32:][:uint32(v)]) {
				return errDecimal
			}
		}
		if err := r.tile(dst, own[:n*w], n, c); err != nil {
			return err
		}
		dst, views = dst[n*r.to.Width:], views[n:]
	}
	return nil
}

// tile changes values that are those of the leaf's own field.
func (r *recast) tile(dst, own []byte, n int, c *leafDecoder) error {
	tmp := c.kernelScratch()
	src := unsafe.Pointer(unsafe.SliceData(own))
	if !r.run(unsafe.Pointer(unsafe.SliceData(dst)), 1, src, n, tmp) {
		return nil
	}
	for i := range n {
		var one [32]byte
		if at := unsafe.Add(src, i*r.own.Width); r.run(unsafe.Pointer(&one), 1, at, 1, tmp) {
			return &castError{value: numberText(r.own, at), to: r.to}
		}
	}
	return nil
}

// kernelScratch is the decoder's; statistics are changed without one.
func (c *leafDecoder) kernelScratch() *castScratch {
	if c.d == nil {
		return &castScratch{}
	}
	if c.d.kernels == nil {
		c.d.kernels = &castScratch{}
	}
	return c.d.kernels
}

// int96Of makes INT96 timestamps of dates and timestamps.
func int96Of(from *column.Field) kernel {
	unit, width := unitOf(from), from.Width
	return func(dst unsafe.Pointer, stride int, src unsafe.Pointer, n int, _ *castScratch) (misfit bool) {
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
	width, signed := from.Width, !isUnsigned(from.Type)
	return func(dst unsafe.Pointer, stride int, src unsafe.Pointer, n int, _ *castScratch) (misfit bool) {
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
