package parquet

import "github.com/parquet-go/parquet-go/format"

// Has says whether an element carries a logical type or, in older files, the converted type.
func (e *Element) Has(kind uint8, converted int8) bool {
	return e.Logical.Kind == kind || e.Logical.Kind == 0 && e.Converted == converted
}

// IsDecimal says whether a leaf holds decimals.
func (e *Element) IsDecimal() bool {
	switch format.Type(e.Physical) {
	case format.Int32, format.Int64, format.ByteArray, format.FixedLenByteArray:
		return e.Has(LogicalDecimal, ConvertedDecimal)
	}
	return false
}

// IsUTC: the converted types of times and timestamps are adjusted to UTC, by the format's document.
func (e *Element) IsUTC() bool { return e.Logical.Kind == 0 || e.Logical.UTC }

// IntBits is the width that the annotation gives an integer; 0 when there is none.
func (e *Element) IntBits() (bits int, signed bool) {
	switch {
	case e.Logical.Kind == LogicalInt:
		return int(e.Logical.Bits), e.Logical.Signed
	case e.Logical.Kind != 0:
		return 0, true
	case e.Converted >= ConvertedUint8 && e.Converted <= ConvertedUint64:
		return 8 << (e.Converted - ConvertedUint8), false
	case e.Converted >= ConvertedInt8 && e.Converted <= ConvertedInt64:
		return 8 << (e.Converted - ConvertedInt8), true
	}
	return 0, true
}
