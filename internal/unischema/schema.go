package unischema

import (
	"errors"
	"strings"
)

// A Field is a column that a codec encodes as bytes.
type Field struct {
	Name  string
	Codec string // "NdarrayCodec", "CompressedNdarrayCodec", "CompressedImageCodec", or one of the user's
	DType string // numpy's name of the type, as "float32"
	Shape []int  // -1 for a dimension of any length
}

// Parse reads a pickled Unischema and lists the fields whose codecs encode them as bytes.
func Parse(pickle []byte) (fields []Field, err error) {
	v, err := load(pickle)
	if err != nil {
		return nil, err
	}
	root, ok := v.(*object)
	if !ok || root.class.name() != "Unischema" {
		return nil, errors.New("it is no Unischema")
	}
	state, ok := root.state.(*object)
	if !ok {
		return nil, errBroken
	}
	all, ok := state.items["_fields"].(*object)
	if !ok {
		return nil, errBroken
	}
	for _, name := range all.order {
		field, encoded, err := parseField(all.items[name])
		if err != nil {
			return nil, err
		}
		if encoded {
			fields = append(fields, field)
		}
	}
	return fields, nil
}

// parseField reads a UnischemaField: name, type, shape, codec, nullable. The codec may be left out.
func parseField(v any) (f Field, encoded bool, err error) {
	o, ok := v.(*object)
	if !ok || o.class.name() != "UnischemaField" || len(o.args) < 3 {
		return f, false, errBroken
	}
	if f.Name, ok = o.args[0].(string); !ok {
		return f, false, errBroken
	}
	if len(o.args) < 4 {
		return f, false, nil
	}
	codec, ok := o.args[3].(*object)
	if !ok || codec.class.name() == "ScalarCodec" {
		return f, false, nil
	}
	f.Codec, f.DType = codec.class.name(), dtypeOf(o.args[1])
	shape, _ := o.args[2].(tuple)
	for _, d := range shape {
		n, ok := d.(int)
		if !ok {
			n = -1
		}
		f.Shape = append(f.Shape, n)
	}
	return f, true, nil
}

// dtypeOf is numpy's name of a type: a class, or a dtype of a code such as "f4".
func dtypeOf(v any) string {
	switch v := v.(type) {
	case class:
		return strings.TrimSuffix(v.name(), "_")
	case *object:
		if v.class.name() == "dtype" && len(v.args) > 0 {
			code, _ := v.args[0].(string)
			return codes[code]
		}
	}
	return ""
}

// codes are numpy's names of types by their codes.
var codes = map[string]string{
	"b1": "bool", "i1": "int8", "i2": "int16", "i4": "int32", "i8": "int64", "u1": "uint8", "u2": "uint16", "u4": "uint32", "u8": "uint64",
	"f2": "float16", "f4": "float32", "f8": "float64",
}
