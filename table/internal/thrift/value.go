package thrift

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"slices"
)

// A Struct is the values of fields by their IDs.
type Struct map[int16]any

// Text returns a field that is a string.
func (s Struct) Text(id int16) string { v, _ := s[id].(string); return v }

// Int returns a field that is a whole number.
func (s Struct) Int(id int16) int64 { v, _ := s[id].(int64); return v }

// Struct returns a field that is a struct.
func (s Struct) Struct(id int16) Struct { v, _ := s[id].(Struct); return v }

// Map returns a field that is a map.
func (s Struct) Map(id int16) map[string]string { v, _ := s[id].(map[string]string); return v }

// Texts returns a field that is a list of strings.
func (s Struct) Texts(id int16) []string { v, _ := s[id].([]string); return v }

// Structs returns a field that is a list of structs.
func (s Struct) Structs(id int16) []Struct { v, _ := s[id].([]Struct); return v }

// Types of values on the wire.
const (
	typeStop   = 0
	typeBool   = 2
	typeByte   = 3
	typeDouble = 4
	typeI16    = 6
	typeI32    = 8
	typeI64    = 10
	typeString = 11
	typeStruct = 12
	typeMap    = 13
	typeSet    = 14
	typeList   = 15
)

// appendStruct appends a struct, whose values have the types of the package's table.
func appendStruct(b []byte, s Struct) []byte {
	for _, id := range slices.Sorted(maps.Keys(s)) {
		b = append(b, typeOf(s[id]))
		b = binary.BigEndian.AppendUint16(b, uint16(id))
		b = appendValue(b, s[id])
	}
	return append(b, typeStop)
}

func typeOf(v any) byte {
	switch v.(type) {
	case bool:
		return typeBool
	case int16:
		return typeI16
	case int32:
		return typeI32
	case int64:
		return typeI64
	case float64:
		return typeDouble
	case string:
		return typeString
	case Struct:
		return typeStruct
	case []string, []Struct:
		return typeList
	case map[string]string:
		return typeMap
	}
	panic(fmt.Sprintf("thrift: no type for %T", v))
}

func appendValue(b []byte, v any) []byte {
	switch v := v.(type) {
	case bool:
		if v {
			return append(b, 1)
		}
		return append(b, 0)
	case int16:
		return binary.BigEndian.AppendUint16(b, uint16(v))
	case int32:
		return binary.BigEndian.AppendUint32(b, uint32(v))
	case int64:
		return binary.BigEndian.AppendUint64(b, uint64(v))
	case float64:
		return binary.BigEndian.AppendUint64(b, math.Float64bits(v))
	case string:
		return append(appendLen(b, len(v)), v...)
	case Struct:
		return appendStruct(b, v)
	case []string:
		return appendList(b, typeString, v)
	case []Struct:
		return appendList(b, typeStruct, v)
	case map[string]string:
		b = appendLen(append(b, typeString, typeString), len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			b = appendValue(appendValue(b, key), v[key])
		}
	}
	return b
}

func appendLen(b []byte, n int) []byte { return binary.BigEndian.AppendUint32(b, uint32(n)) }

func appendList[T any](b []byte, kind byte, items []T) []byte {
	b = appendLen(append(b, kind), len(items))
	for _, item := range items {
		b = appendValue(b, item)
	}
	return b
}
