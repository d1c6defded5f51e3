// Package proto finds fields in messages of protocol buffers, of which the packages around it want
// a few each. As with any parser the last field of a number counts. Messages come from outside: one
// that ends in nonsense has no fields. Nothing is copied, and nothing is allocated.
package proto

import (
	"encoding/binary"

	"google.golang.org/protobuf/encoding/protowire"
)

// Fields visits the fields of a message in their order: numbers as their bytes on the wire, strings
// and messages without their length. It returns false where the message ends in nonsense, behind
// the fields that come before it.
func Fields(m []byte, visit func(num protowire.Number, typ protowire.Type, value []byte)) bool {
	for len(m) > 0 {
		num, typ, n := protowire.ConsumeTag(m)
		if n < 0 {
			return false
		}
		m = m[n:]
		if n = protowire.ConsumeFieldValue(num, typ, m); n < 0 {
			return false
		}
		value := m[:n]
		if typ == protowire.BytesType {
			value, _ = protowire.ConsumeBytes(m)
		}
		visit(num, typ, value)
		m = m[n:]
	}
	return true
}

// Bytes finds a string or a message down a path of messages.
func Bytes(m []byte, path ...protowire.Number) (value []byte, ok bool) {
	return find(m, protowire.BytesType, path)
}

// Number finds a number, of the wire's type want, down a path of messages.
func Number(m []byte, want protowire.Type, path ...protowire.Number) (value uint64, ok bool) {
	b, ok := find(m, want, path)
	switch {
	case !ok:
	case want == protowire.VarintType:
		value, _ = protowire.ConsumeVarint(b)
	case want == protowire.Fixed32Type:
		value = uint64(binary.LittleEndian.Uint32(b))
	case want == protowire.Fixed64Type:
		value = binary.LittleEndian.Uint64(b)
	}
	return value, ok
}

func find(m []byte, want protowire.Type, path []protowire.Number) (value []byte, ok bool) {
	whole := Fields(m, func(num protowire.Number, typ protowire.Type, v []byte) {
		switch {
		case num != path[0]:
		case len(path) > 1 && typ == protowire.BytesType:
			value, ok = find(v, want, path[1:])
		case len(path) == 1 && typ == want:
			value, ok = v, true
		}
	})
	if !whole {
		return nil, false
	}
	return value, ok
}
