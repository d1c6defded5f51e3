package schema

import (
	"testing"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
)

// TestUniteTypes unites each pair in both orders.
func TestUniteTypes(t *testing.T) {
	of := func(t column.Type) column.Field { return retyped(column.Field{}, t, block.CastWidth(t)) }
	stamp := func(u column.Unit, utc bool) column.Field {
		f := of(column.TypeTimestamp)
		f.Unit, f.UTC = u, utc
		return f
	}
	decimal := func(p, s int) column.Field {
		f := retyped(column.Field{}, column.TypeDecimal, decimalWidth(p))
		f.Precision, f.Scale = p, s
		return f
	}
	int96 := retyped(column.Field{}, column.TypeInt96, 12)
	int96.Unit = column.Nano
	utc96 := int96
	utc96.UTC = true
	date := retyped(column.Field{}, column.TypeDate, 4)
	bytes := func(t column.Type, width int) column.Field {
		f := column.Field{Kind: column.Binary, Type: t, Width: width}
		if width > 0 {
			f.Kind = column.Fixed
		}
		return f
	}
	text, binary := bytes(column.TypeString, 0), bytes(column.TypeBinary, 0)
	none := column.Field{}
	for _, c := range []struct {
		name       string
		a, b, want column.Field
	}{
		{"int32 and float64", of(column.TypeInt32), of(column.TypeFloat64), of(column.TypeFloat64)},
		{"int32 and float16", of(column.TypeInt32), of(column.TypeFloat16), of(column.TypeFloat64)},
		{"uint8 and float16", of(column.TypeUint8), of(column.TypeFloat16), of(column.TypeFloat16)},
		{"int16 and float32", of(column.TypeInt16), of(column.TypeFloat32), of(column.TypeFloat32)},
		{"int64 and float64", of(column.TypeInt64), of(column.TypeFloat64), none},
		{"bool and int8", of(column.TypeBool), of(column.TypeInt8), none},
		{"decimals", decimal(5, 2), decimal(9, 6), decimal(9, 6)},
		{"decimals that grow", decimal(18, 0), decimal(18, 18), decimal(36, 18)},
		{"decimals that no width holds", decimal(70, 0), decimal(70, 60), none},
		{"decimal and int64", decimal(5, 2), of(column.TypeInt64), decimal(21, 2)},
		{"decimal and float64", decimal(5, 2), of(column.TypeFloat64), none},
		{"ms and us", stamp(column.Milli, true), stamp(column.Micro, true), stamp(column.Micro, true)},
		{"us and ns", stamp(column.Micro, false), stamp(column.Nano, false), int96},
		{"INT96 and us", int96, stamp(column.Micro, false), int96},
		{"INT96 and us in UTC", int96, stamp(column.Micro, true), utc96},
		{"local and UTC", stamp(column.Micro, false), stamp(column.Micro, true), none},
		{"date and us", date, stamp(column.Micro, false), stamp(column.Micro, false)},
		{"date and ns", date, stamp(column.Nano, false), int96},
		{"date and UTC", date, stamp(column.Milli, true), none},
		{"date and int32", date, of(column.TypeInt32), none},
		{"json and enum", bytes(column.TypeJSON, 0), bytes(column.TypeEnum, 0), text},
		{"string and binary", text, binary, binary},
		{"bson and fixed", bytes(column.TypeBSON, 0), bytes(column.TypeFixedBinary, 7), binary},
		{"fixed and fixed", bytes(column.TypeFixedBinary, 3), bytes(column.TypeFixedBinary, 7), binary},
		{"UUID and fixed", bytes(column.TypeUUID, 16), bytes(column.TypeFixedBinary, 16), bytes(column.TypeFixedBinary, 16)},
		{"UUID and string", bytes(column.TypeUUID, 16), text, none},
		{"string and int", text, of(column.TypeInt8), none},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, pair := range [][2]column.Field{{c.a, c.b}, {c.b, c.a}} {
				got, ok := uniteTypes(pair[0], pair[1])
				if ok != (c.want.Type != 0) || ok && !sameType(got, c.want) {
					t.Errorf("%v and %v: got %v, %v", &pair[0], &pair[1], &got, ok)
				}
			}
		})
	}
}
