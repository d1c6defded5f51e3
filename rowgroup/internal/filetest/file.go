package filetest

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// Schemas in tests are written as parquet prints them, without the message around:
//
//	optional group a (LIST) {
//	  repeated group list {
//	    optional binary element (UTF8);
//	  }
//	}
//
// In parentheses is a ConvertedType, or a LogicalType after a colon: (UTF8), (DECIMAL(9,2)),
// (:TIMESTAMP(ms,utc)). A fixed length is part of the type: fixed(16).

// Schema returns the list of schema elements, the root first.
func Schema(t testing.TB, text string) []format.SchemaElement {
	t.Helper()
	p := schemaParser{t: t, words: strings.Fields(strings.NewReplacer("{", " { ", "}", " } ", ";", " ; ").Replace(text))}
	all := []format.SchemaElement{{Name: "schema"}}
	n := 0
	for len(p.words) > 0 {
		all = append(all, p.element()...)
		n++
	}
	all[0].NumChildren = thrift.New(int32(n))
	return all
}

type schemaParser struct {
	t     testing.TB
	words []string
}

func (p *schemaParser) next() string {
	if len(p.words) == 0 {
		p.t.Fatal("schema ends early")
	}
	w := p.words[0]
	p.words = p.words[1:]
	return w
}

func (p *schemaParser) element() []format.SchemaElement {
	repetition := map[string]format.FieldRepetitionType{"required": format.Required, "optional": format.Optional, "repeated": format.Repeated}
	r, ok := repetition[p.next()]
	if !ok {
		p.t.Fatalf("no repetition before %q", p.words)
	}
	e := format.SchemaElement{RepetitionType: thrift.New(r)}
	kind := p.next()
	e.Name = p.next()
	all := []format.SchemaElement{}
	end := p.next()
	if strings.HasPrefix(end, "(") {
		p.annotate(&e, strings.TrimSuffix(strings.TrimPrefix(end, "("), ")"))
		end = p.next()
	}
	n := int32(0)
	if kind == "group" {
		for p.words[0] != "}" {
			all = append(all, p.element()...)
			n++
		}
		p.next()
		e.NumChildren = thrift.New(n)
	} else {
		p.physical(&e, kind)
		if end != ";" {
			p.t.Fatalf("%q after %s", end, e.Name)
		}
	}
	return append([]format.SchemaElement{e}, all...)
}

func (p *schemaParser) physical(e *format.SchemaElement, kind string) {
	name, length, fixed := strings.Cut(strings.TrimSuffix(kind, ")"), "(")
	types := map[string]format.Type{
		"boolean": format.Boolean, "int32": format.Int32, "int64": format.Int64, "int96": format.Int96, "float": format.Float,
		"double": format.Double, "binary": format.ByteArray, "fixed": format.FixedLenByteArray,
	}
	typ, ok := types[name]
	if !ok {
		p.t.Fatalf("no type %q", kind)
	}
	e.Type = thrift.New(typ)
	if fixed {
		n, err := strconv.Atoi(length)
		if err != nil {
			p.t.Fatal(err)
		}
		e.TypeLength = thrift.New(int32(n))
	}
}

func (p *schemaParser) annotate(e *format.SchemaElement, text string) {
	if logical, ok := strings.CutPrefix(text, ":"); ok {
		e.LogicalType = p.logical(logical)
		return
	}
	names := strings.Fields(`UTF8 MAP MAP_KEY_VALUE LIST ENUM DECIMAL DATE TIME_MILLIS TIME_MICROS TIMESTAMP_MILLIS TIMESTAMP_MICROS
		UINT_8 UINT_16 UINT_32 UINT_64 INT_8 INT_16 INT_32 INT_64 JSON BSON INTERVAL`)
	name, args, _ := strings.Cut(strings.TrimSuffix(text, ")"), "(")
	for i, n := range names {
		if n == name {
			e.ConvertedType = thrift.New(deprecated.ConvertedType(i))
			if name == "DECIMAL" {
				var precision, scale int32
				if _, err := fmt.Sscanf(args, "%d,%d", &precision, &scale); err != nil {
					p.t.Fatal(err)
				}
				e.Precision, e.Scale = thrift.New(precision), thrift.New(scale)
			}
			return
		}
	}
	p.t.Fatalf("no annotation %q", text)
}

func (p *schemaParser) logical(text string) format.LogicalType {
	name, args, _ := strings.Cut(strings.TrimSuffix(text, ")"), "(")
	a, b, _ := strings.Cut(args, ",")
	x, _ := strconv.Atoi(a)
	y, _ := strconv.Atoi(b)
	units := map[string]format.TimeUnitValue{"ms": &format.MilliSeconds{}, "us": &format.MicroSeconds{}, "ns": &format.NanoSeconds{}}
	unit := format.TimeUnit{Value: units[a]}
	types := map[string]format.LogicalTypeValue{
		"STRING": &format.StringType{}, "MAP": &format.MapType{}, "LIST": &format.ListType{}, "ENUM": &format.EnumType{},
		"DECIMAL": &format.DecimalType{Precision: int32(x), Scale: int32(y)}, "DATE": &format.DateType{},
		"TIME":      &format.TimeType{IsAdjustedToUTC: b == "utc", Unit: unit},
		"TIMESTAMP": &format.TimestampType{IsAdjustedToUTC: b == "utc", Unit: unit},
		"INTEGER":   &format.IntType{BitWidth: int8(x), IsSigned: b == "signed"}, "UNKNOWN": &format.NullType{}, "JSON": &format.JsonType{},
		"BSON": &format.BsonType{}, "UUID": &format.UUIDType{}, "FLOAT16": &format.Float16Type{}, "VARIANT": &format.VariantType{},
	}
	v, ok := types[name]
	if !ok {
		p.t.Fatalf("no logical type %q", text)
	}
	return format.LogicalType{Value: v}
}

// A File is a parquet file of which only the footer means anything.
type File struct {
	Schema string
	Rows   []int // by row group
	Meta   func(m *format.FileMetaData)
	Data   func(column int, c *format.ColumnMetaData) []byte // makes the chunk mean something too; nil: filler
}

// Bytes makes the file: every chunk has 100 bytes of filler, of which 40 are a dictionary's in
// every other column.
func (f File) Bytes(t testing.TB) []byte {
	t.Helper()
	m := format.FileMetaData{Version: 1, Schema: Schema(t, f.Schema), CreatedBy: "test version 1"}
	b := []byte("PAR1")
	for _, rows := range f.Rows {
		g := format.RowGroup{NumRows: int64(rows)}
		for _, e := range m.Schema {
			if !e.Type.Valid {
				continue
			}
			k := len(g.Columns)
			c := format.ColumnMetaData{
				Type: e.Type.V, NumValues: int64(rows), TotalCompressedSize: 100, TotalUncompressedSize: int64(200 + 100*k),
				DataPageOffset: int64(len(b)), Codec: format.Snappy, Encoding: []format.Encoding{format.Plain, format.RLE},
			}
			if k%2 == 1 {
				c.DictionaryPageOffset = c.DataPageOffset
				c.DataPageOffset += 40
				c.Encoding = append(c.Encoding, format.RLEDictionary)
			}
			filler := []byte(strings.Repeat(string(rune('a'+k%26)), 100))
			if f.Data != nil {
				c.DataPageOffset = int64(len(b))
				filler = f.Data(k, &c)
			}
			b = append(b, filler...)
			g.Columns = append(g.Columns, format.ColumnChunk{MetaData: c})
		}
		m.NumRows += int64(rows)
		m.RowGroups = append(m.RowGroups, g)
	}
	if f.Meta != nil {
		f.Meta(&m)
	}
	return AppendFooter(t, b, &m)
}

func AppendFooter(t testing.TB, b []byte, m *format.FileMetaData) []byte {
	t.Helper()
	footer, err := thrift.Marshal(new(thrift.CompactProtocol), m)
	if err != nil {
		t.Fatal(err)
	}
	n := len(footer)
	b = append(b, footer...)
	return append(b, byte(n), byte(n>>8), byte(n>>16), byte(n>>24), 'P', 'A', 'R', '1')
}
