package inspect

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strings"

	"github.com/parquet-go/parquet-go/format"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/jsonl"
	"github.com/shardfeed/shardfeed/internal/parquet"
	"github.com/shardfeed/shardfeed/rowgroup"
)

// Bounds compare and format the bounds of a column. Without compare they are not trusted: the
// format defines no order for the type.
type bounds struct {
	field   *column.Field
	width   int  // of a bound in bytes; 0 is any
	signed  bool // the older form of statistics is right too
	compare func(a, b []byte) int
}

// A span has the statistics of a column's values.
type span struct {
	nulls    int64
	noNulls  bool // some chunk does not state its nulls
	min, max []byte
	unbound  bool // some chunk with values does not state its bounds
	bounds   *bounds
}

// addChunk takes the statistics of a chunk.
func (s *span) addChunk(b *bounds, k *parquet.Statistics) {
	if k.Values == 0 {
		return
	}
	lo, hi := k.Min, k.Max
	if b.signed && (lo == nil || hi == nil) {
		lo, hi = k.OldMin, k.OldMax
	}
	one := span{nulls: k.Nulls, noNulls: k.Nulls < 0, bounds: b}
	switch {
	case k.Nulls == k.Values: // no value is left to bound
	case b.compare == nil || !b.fits(lo) || !b.fits(hi):
		one.unbound = true
	default:
		one.min, one.max = lo, hi
	}
	s.merge(&one)
}

// merge takes another span of the column. Spans of two types have no bounds in common.
func (s *span) merge(o *span) {
	if o.bounds == nil {
		return
	}
	if s.bounds == nil {
		*s = *o
		return
	}
	s.nulls += o.nulls
	s.noNulls = s.noNulls || o.noNulls
	s.unbound = s.unbound || o.unbound || s.bounds.field.String() != o.bounds.field.String() || s.bounds.width != o.bounds.width
	switch {
	case s.unbound || o.min == nil:
	case s.min == nil:
		s.min, s.max = o.min, o.max
	default:
		if s.bounds.compare(o.min, s.min) < 0 {
			s.min = o.min
		}
		if s.bounds.compare(o.max, s.max) > 0 {
			s.max = o.max
		}
	}
}

// show puts what is known into the column.
func (c *Column) show() {
	s := &c.span
	if s.bounds == nil {
		return
	}
	if !s.noNulls {
		c.Nulls = &s.nulls
	}
	if !s.unbound && s.min != nil {
		c.Min, c.Max = s.bounds.json(s.min), s.bounds.json(s.max)
	}
}

func (b *bounds) fits(v []byte) bool { return v != nil && (b.width == 0 || len(v) == b.width) }

// json is a bound in the form of cat.
func (b *bounds) json(v []byte) json.RawMessage {
	a := &column.Array{Field: b.field, Len: 1, Data: v, Offsets: []int32{0, int32(len(v))}}
	if b.field.Kind == column.Fixed {
		var wide [8]byte // sign-extended where the stored value is narrower
		copy(wide[:], v)
		if len(v) == 4 && int32(binary.LittleEndian.Uint32(v)) < 0 {
			copy(wide[4:], []byte{0xff, 0xff, 0xff, 0xff})
		}
		if len(v) <= 8 {
			a.Data = wide[:b.field.Width]
		}
	}
	line := jsonl.NewWriter(&column.Schema{Fields: []*column.Field{b.field}}).AppendRow(nil, []*column.Array{a}, 0)
	return json.RawMessage(line[len(`{"":`) : len(line)-len("}\n")])
}

var (
	numberTypes = map[string]column.Type{
		"int8": column.TypeInt8, "int16": column.TypeInt16, "int32": column.TypeInt32, "int64": column.TypeInt64,
		"uint8": column.TypeUint8, "uint16": column.TypeUint16, "uint32": column.TypeUint32, "uint64": column.TypeUint64,
		"float": column.TypeFloat32, "double": column.TypeFloat64, "bool": column.TypeBool, "date": column.TypeDate,
	}
	numberWidths = map[string]int{"int8": 1, "uint8": 1, "bool": 1, "int16": 2, "uint16": 2, "int64": 8, "uint64": 8, "double": 8}
	textTypes    = map[string]column.Type{
		"string": column.TypeString, "enum": column.TypeEnum, "json": column.TypeJSON, "binary": column.TypeBinary, "bson": column.TypeBSON,
	}
	units = map[string]column.Unit{"ms": column.Milli, "us": column.Micro, "ns": column.Nano}
)

// boundsOf returns the bounds of a leaf.
func boundsOf(l rowgroup.Leaf) *bounds {
	b := &bounds{field: &column.Field{Kind: column.Fixed}, width: storedWidth(l.Physical)}
	if t, ok := numberTypes[l.Type]; ok {
		b.field.Type, b.field.Width = t, max(numberWidths[l.Type], 4*boolInt(numberWidths[l.Type] == 0))
		b.compare, b.signed = numberOrder(l), !strings.HasPrefix(l.Type, "uint")
		return b
	}
	if t, ok := textTypes[l.Type]; ok {
		b.field.Kind, b.field.Type, b.compare = column.Binary, t, bytes.Compare
		return b
	}
	kind, rest, _ := strings.Cut(strings.TrimSuffix(l.Type, ")"), "(")
	switch kind {
	case "decimal":
		_, _ = fmt.Sscanf(rest, "%d,%d", &b.field.Precision, &b.field.Scale)
		b.field.Type, b.field.Width, b.compare = column.TypeDecimal, 8, signedOrder
		if b.width != 4 && b.width != 8 {
			b.field.Kind, b.width, b.compare = column.Binary, 0, bigEndianOrder
		}
	case "timestamp", "time":
		unit, zone, _ := strings.Cut(rest, ", ")
		b.field.Type, b.field.Width, b.field.Unit, b.field.UTC = column.TypeTime, 8, units[unit], zone == "UTC"
		if kind == "timestamp" {
			b.field.Type = column.TypeTimestamp
		}
		b.compare, b.signed = signedOrder, true
	case "fixed binary":
		b.field.Kind, b.field.Type, b.compare = column.Binary, column.TypeBinary, bytes.Compare
	}
	return b
}

func boolInt(v bool) int {
	if v {
		return 1
	}
	return 0
}

func storedWidth(p rowgroup.Physical) int {
	switch p {
	case format.Boolean:
		return 1
	case format.Int32, format.Float:
		return 4
	case format.Int64, format.Double:
		return 8
	}
	return 0
}

func numberOrder(l rowgroup.Leaf) func(a, b []byte) int {
	switch {
	case l.Physical == format.Float:
		return func(a, b []byte) int {
			return cmp.Compare(math.Float32frombits(binary.LittleEndian.Uint32(a)), math.Float32frombits(binary.LittleEndian.Uint32(b)))
		}
	case l.Physical == format.Double:
		return func(a, b []byte) int {
			return cmp.Compare(math.Float64frombits(binary.LittleEndian.Uint64(a)), math.Float64frombits(binary.LittleEndian.Uint64(b)))
		}
	case strings.HasPrefix(l.Type, "uint"):
		return func(a, b []byte) int { return cmp.Compare(unsigned(a), unsigned(b)) }
	}
	return signedOrder
}

func unsigned(v []byte) uint64 {
	var wide [8]byte
	copy(wide[:], v)
	return binary.LittleEndian.Uint64(wide[:])
}

func signedOrder(a, b []byte) int { return cmp.Compare(signedOf(a), signedOf(b)) }

func signedOf(v []byte) int64 {
	shift := 64 - 8*len(v)
	return int64(unsigned(v)<<shift) >> shift
}

func bigEndianOrder(a, b []byte) int { return bigOf(a).Cmp(bigOf(b)) }

func bigOf(v []byte) *big.Int {
	n := new(big.Int).SetBytes(v)
	if len(v) > 0 && v[0]&0x80 != 0 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(v))))
	}
	return n
}
