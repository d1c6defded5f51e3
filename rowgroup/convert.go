package rowgroup

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go/format"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/parquet"
)

var errDecimal = errors.New("a decimal that does not fit its precision")

func (c *leafDecoder) convert(dst, src []byte, n int) error {
	switch c.leaf.convert {
	case convertNarrow:
		if c.field.Width == 1 {
			convertWords(dst[:n], mem.As[uint32](src)[:n])
		} else {
			convertWords(mem.As[uint16](dst)[:n], mem.As[uint32](src)[:n])
		}
	case convertWidenInt:
		convertWords(mem.As[int64](dst)[:n], mem.As[int32](src)[:n])
	case convertWidenUint:
		convertWords(mem.As[uint64](dst)[:n], mem.As[uint32](src)[:n])
	case convertWidenFloat:
		convertWords(mem.As[float64](dst)[:n], mem.As[float32](src)[:n])
	case convertDecimal:
		return c.convertDecimals(dst, src, n)
	case convertRecast:
		return c.leaf.recast.values(dst, src, n, c)
	}
	return nil
}

func convertWords[T uint8 | uint16 | uint64 | int64 | float64, S uint32 | int32 | float32](dst []T, src []S) {
	for i, v := range src {
		dst[i] = T(v)
	}
}

// convertDecimals turns decimals of a fixed size into little-endian ones of the Field's width.
func (c *leafDecoder) convertDecimals(dst, src []byte, n int) error {
	w := c.field.Width
	for i := range n {
		d := dst[i*w : (i+1)*w]
		switch c.leaf.typ {
		case format.Int32:
			putInt(d, int64(mem.As[int32](src)[i]))
		case format.Int64:
			putInt(d, mem.As[int64](src)[i])
		default:
			if !putBigEndian(d, src[i*c.stored:(i+1)*c.stored]) {
				return errDecimal
			}
		}
	}
	return nil
}

// putInt writes v as a little-endian integer of 8 bytes or more.
func putInt(d []byte, v int64) {
	binary.LittleEndian.PutUint64(d, uint64(v))
	for i := 8; i < len(d); i++ {
		d[i] = byte(v >> 63)
	}
}

// putBigEndian writes a big-endian two's complement integer as a little-endian one; ok is false
// when it does not fit.
func putBigEndian(d, s []byte) (ok bool) {
	sign := byte(0)
	if len(s) > 0 {
		sign = byte(int8(s[0]) >> 7)
	}
	for ; len(s) > len(d); s = s[1:] {
		if s[0] != sign {
			return false
		}
	}
	if len(s) == len(d) && len(s) > 0 && (s[0]^sign)&0x80 != 0 {
		return false
	}
	for i := range d {
		if i < len(s) {
			d[i] = s[len(s)-1-i]
		} else {
			d[i] = sign
		}
	}
	return true
}

// storeByteDecimals reads n decimals of BYTE_ARRAY into dst, which holds values of the Field's
// width.
func (c *leafDecoder) storeByteDecimals(e format.Encoding, dst, src []byte, n int) error {
	text, lengths, err := c.byteValues(e, src, n)
	if err != nil {
		return err
	}
	if r := c.leaf.recast; r != nil {
		return r.byteDecimals(dst, text, lengths, c)
	}
	w := c.field.Width
	for i, v := range lengths {
		if !putBigEndian(dst[i*w:(i+1)*w], text[v>>32:][:uint32(v)]) {
			return errDecimal
		}
	}
	return nil
}

// byteValues finds n values of BYTE_ARRAY in a page without keeping them: views into the bytes that
// it returns.
func (c *leafDecoder) byteValues(e format.Encoding, src []byte, n int) ([]byte, []uint64, error) {
	found := mem.As[uint64](c.d.views.take(8 * n))
	switch e {
	case format.Plain:
		return src, found, plainViews(found, src, 0)
	case format.DeltaLengthByteArray, format.DeltaByteArray:
		// A column of its own, whose text is thrown away.
		c.d.spare.Free()
		t := leafDecoder{d: c.d, arena: c.d.spare, keep: c.d.spare, scan: c.scan, leaf: c.leaf, field: &column.Field{Kind: column.Binary, Type: column.TypeBinary}, form: views, unit: 8}
		if err := t.storeViews(&page{PageHeader: parquet.PageHeader{Encoding: e, Size: len(src)}}, &openPage{values: src}, found); err != nil {
			return nil, nil, err
		}
		return t.text, found, nil
	}
	return nil, nil, fmt.Errorf("%w: %v for %v", errEncoding, e, c.leaf.typ)
}

// storeFixedText makes Binary values of FIXED_LEN_BYTE_ARRAY: decimals too long for any fixed
// width.
func (c *leafDecoder) storeFixedText(e format.Encoding, dst []uint64, src []byte) error {
	n := len(dst) * c.stored
	if err := textBudget(int64(c.textLen) + int64(n)); err != nil {
		return err
	}
	if err := c.decodeFixed(e, c.textRoom(n), src, len(dst)); err != nil {
		return err
	}
	for i := range dst {
		dst[i] = uint64(c.textLen+i*c.stored)<<32 | uint64(c.stored)
	}
	c.textLen += n
	return nil
}
