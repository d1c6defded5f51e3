package column

import (
	"fmt"
	"strings"
)

var typeNames = [...]string{
	TypeNone: "none", TypeUnknown: "null", TypeBool: "bool",
	TypeInt8: "int8", TypeInt16: "int16", TypeInt32: "int32", TypeInt64: "int64",
	TypeUint8: "uint8", TypeUint16: "uint16", TypeUint32: "uint32", TypeUint64: "uint64",
	TypeFloat16: "float16", TypeFloat32: "float", TypeFloat64: "double",
	TypeDecimal: "decimal", TypeDate: "date", TypeTime: "time", TypeTimestamp: "timestamp",
	TypeInt96: "int96", TypeInterval: "interval", TypeUUID: "uuid", TypeFixedBinary: "fixed binary",
	TypeBinary: "binary", TypeString: "string", TypeEnum: "enum", TypeJSON: "json", TypeBSON: "bson",
	TypeBFloat16: "bfloat16",
}

func (t Type) String() string {
	if int(t) < len(typeNames) {
		return typeNames[t]
	}
	return fmt.Sprintf("type %d", uint8(t))
}

func (u Unit) String() string { return [...]string{Milli: "ms", Micro: "us", Nano: "ns"}[u] }

// String is the field's type in words, without its name: "list<string>".
func (f *Field) String() string {
	switch f.Kind {
	case List:
		if f.Tensor != nil {
			return fmt.Sprintf("tensor<%v>%s", f.Innermost(), f.Tensor)
		}
		if f.ListSize > 0 {
			return fmt.Sprintf("list<%v>[%d]", f.Children[0], f.ListSize)
		}
		return fmt.Sprintf("list<%v>", f.Children[0])
	case Map:
		return fmt.Sprintf("map<%v, %v>", f.Children[0].Children[0], f.Children[0].Children[1])
	case Struct:
		var b strings.Builder
		b.WriteString("struct<")
		for i, c := range f.Children {
			if i > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "%s: %v", c.Name, c)
		}
		b.WriteByte('>')
		return b.String()
	}
	switch f.Type {
	case TypeDecimal:
		return fmt.Sprintf("decimal(%d,%d)", f.Precision, f.Scale)
	case TypeTime, TypeTimestamp:
		zone := "local"
		if f.UTC {
			zone = "UTC"
		}
		return fmt.Sprintf("%v(%v, %s)", f.Type, f.Unit, zone)
	case TypeFixedBinary:
		return fmt.Sprintf("fixed binary(%d)", f.Width)
	}
	return f.Type.String()
}
