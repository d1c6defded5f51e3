package rowgroup

import (
	"fmt"

	"github.com/parquet-go/parquet-go/format"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/parquet"
	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
)

// convert turns n stored values into values of the field.
func (c *leafDecoder) convert(dst, src []byte, n int) error {
	return c.leaf.Values(dst, src, n, c.field, c.kernelScratch())
}

// kernelScratch returns the decoder's scratch for recasts, or nil if the leaf needs no recast.
func (c *leafDecoder) kernelScratch() *block.CastScratch {
	if c.leaf.Recast == nil {
		return nil
	}
	if c.d.kernels == nil {
		c.d.kernels = &block.CastScratch{}
	}
	return c.d.kernels
}

// storeByteDecimals reads n decimals of BYTE_ARRAY into dst, which holds values of the Field's
// width.
func (c *leafDecoder) storeByteDecimals(e format.Encoding, dst, src []byte, n int) error {
	text, lengths, err := c.byteValues(e, src, n)
	if err != nil {
		return err
	}
	return c.leaf.ByteDecimals(dst, text, lengths, c.field, c.kernelScratch())
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
	return nil, nil, fmt.Errorf("%w: %v for %v", errEncoding, e, c.leaf.Type)
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
