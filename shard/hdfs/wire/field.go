package wire

import (
	"encoding/binary"

	"google.golang.org/protobuf/encoding/protowire"
)

// field finds a number of type want down a path of sub-messages. As with any parser of protocol
// buffers the last one counts; a message that ends in nonsense has no fields.
func field(m []byte, want protowire.Type, path ...protowire.Number) (value uint64, ok bool) {
	for len(m) > 0 {
		num, typ, n := protowire.ConsumeTag(m)
		if n < 0 {
			return 0, false
		}
		m = m[n:]
		if n = protowire.ConsumeFieldValue(num, typ, m); n < 0 {
			return 0, false
		}
		switch {
		case num != path[0]:
		case len(path) > 1 && typ == protowire.BytesType:
			sub, _ := protowire.ConsumeBytes(m)
			value, ok = field(sub, want, path[1:]...)
		case len(path) == 1 && typ == want:
			value, ok = scalar(m, typ), true
		}
		m = m[n:]
	}
	return value, ok
}

// scalar is the number at the start of m, which is known to hold it.
func scalar(m []byte, typ protowire.Type) (value uint64) {
	switch typ {
	case protowire.VarintType:
		value, _ = protowire.ConsumeVarint(m)
	case protowire.Fixed32Type:
		value = uint64(binary.LittleEndian.Uint32(m))
	case protowire.Fixed64Type:
		value = binary.LittleEndian.Uint64(m)
	}
	return value
}

// text finds a string in a message, or "".
func text(m []byte, want protowire.Number) (s string) {
	for len(m) > 0 {
		num, typ, n := protowire.ConsumeTag(m)
		if n < 0 {
			return ""
		}
		m = m[n:]
		if n = protowire.ConsumeFieldValue(num, typ, m); n < 0 {
			return ""
		}
		if num == want && typ == protowire.BytesType {
			b, _ := protowire.ConsumeBytes(m)
			s = string(b)
		}
		m = m[n:]
	}
	return s
}
