package rowgroup

import (
	"errors"
	"fmt"

	"github.com/parquet-go/parquet-go/format"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/parquet"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
)

var (
	errChecksum = errors.New("checksum mismatch: the page is damaged")
	errEncoding = errors.New("encoding is not supported here")
)

// storeFixed decodes n values, one after another, into dst as the Field wants them.
func (c *leafDecoder) storeFixed(e format.Encoding, dst, src []byte, n int) error {
	if c.stored == 0 {
		return c.storeByteDecimals(e, dst, src, n)
	}
	if c.leaf.Convert == schema.ConvertNone {
		return c.decodeFixed(e, dst, src, n)
	}
	if e != format.Plain {
		raw := c.d.values.take(n * c.stored)
		if err := c.decodeFixed(e, raw, src, n); err != nil {
			return err
		}
		src = raw
	}
	if n*c.stored > len(src) {
		return parquet.ErrShort
	}
	return c.convert(dst, src[:n*c.stored], n)
}

// decodeFixed decodes n values into dst as they are stored.
func (c *leafDecoder) decodeFixed(e format.Encoding, dst, src []byte, n int) error {
	switch {
	case e == format.Plain && c.leaf.Type == format.Boolean:
		if (n+7)/8 > len(src) {
			return parquet.ErrShort
		}
		unpackBools(dst[:n], src)
		return nil
	case e == format.Plain:
		if n*c.stored > len(src) {
			return parquet.ErrShort
		}
		if !sameMemory(dst, src) {
			copy(dst, src[:n*c.stored])
		}
		return nil
	case e == format.RLE && c.leaf.Type == format.Boolean:
		return decodeRLEBools(dst[:n], src)
	case e == format.DeltaBinaryPacked && c.leaf.Type == format.Int32:
		_, err := parquet.DecodeDelta(mem.As[uint32](dst)[:n], src)
		return err
	case e == format.DeltaBinaryPacked && c.leaf.Type == format.Int64:
		_, err := parquet.DecodeDelta(mem.As[uint64](dst)[:n], src)
		return err
	case e == format.ByteStreamSplit && c.leaf.Type != format.Boolean && c.leaf.Type != format.Int96:
		return parquet.DecodeSplit(dst[:n*c.stored], src, c.stored)
	case e == format.DeltaByteArray && c.leaf.Type == format.FixedLenByteArray:
		return c.decodeDeltaFixed(dst[:n*c.stored], src, n)
	}
	return fmt.Errorf("%w: %v for %v", errEncoding, e, c.leaf.Type)
}

// unpackBools makes a byte of each bit, least significant first.
func unpackBools(dst, src []byte) {
	i := 0
	for ; i+8 <= len(dst); i += 8 {
		// Eight copies of the byte, one bit kept in each, moved to the lowest place.
		w := uint64(src[i>>3]) * 0x0101010101010101 & 0x8040201008040201
		w = (w + 0x7f7f7f7f7f7f7f7f) | w
		mem.As[uint64](dst[i : i+8])[0] = w >> 7 & 0x0101010101010101
	}
	for ; i < len(dst); i++ {
		dst[i] = src[i>>3] >> (i & 7) & 1
	}
}

// decodeRLEBools reads booleans of the RLE encoding, which start with their length.
func decodeRLEBools(dst, src []byte) error {
	l, _, err := parquet.SplitLevels(src, len(dst), 1, format.RLE)
	if err != nil {
		return err
	}
	return l.Expand(dst)
}
