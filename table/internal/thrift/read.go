package thrift

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

const (
	maxMessage = 1 << 30 // bytes
	maxDepth   = 64
)

// ErrDamaged is wrapped by errors about messages that are not of the protocol.
var ErrDamaged = errors.New("it is not an answer of Thrift's binary protocol")

// A reader reads the values of one message.
type reader struct {
	from  io.Reader
	left  int64 // bytes that the message may still have
	depth int
	word  [8]byte
}

// number reads an integer of some bytes.
func (r *reader) number(width int) (int64, error) {
	if r.left -= int64(width); r.left < 0 {
		return 0, fmt.Errorf("%w: it has more than %d bytes", ErrDamaged, maxMessage)
	}
	if _, err := io.ReadFull(r.from, r.word[:width]); err != nil {
		return 0, err
	}
	switch width {
	case 1:
		return int64(int8(r.word[0])), nil
	case 2:
		return int64(int16(binary.BigEndian.Uint16(r.word[:]))), nil
	case 4:
		return int64(int32(binary.BigEndian.Uint32(r.word[:]))), nil
	}
	return int64(binary.BigEndian.Uint64(r.word[:])), nil
}

// text reads a string with its length.
func (r *reader) text() (string, error) {
	n, err := r.number(4)
	if err != nil {
		return "", err
	}
	if n < 0 || n > r.left {
		return "", fmt.Errorf("%w: a text has %d bytes", ErrDamaged, n)
	}
	r.left -= n
	var b bytes.Buffer // grows with what comes
	if _, err := io.CopyN(&b, r.from, n); err != nil {
		return "", err
	}
	return b.String(), nil
}

// fields reads a struct.
func (r *reader) fields() (Struct, error) {
	if r.depth++; r.depth > maxDepth {
		return nil, fmt.Errorf("%w: it is nested more than %d deep", ErrDamaged, maxDepth)
	}
	defer func() { r.depth-- }()
	s := Struct{}
	for {
		kind, err := r.number(1)
		if err != nil || kind == typeStop {
			return s, err
		}
		id, err := r.number(2)
		if err != nil {
			return nil, err
		}
		v, err := r.value(byte(kind))
		if err != nil {
			return nil, err
		}
		s[int16(id)] = v
	}
}

// value reads a value of a type.
func (r *reader) value(kind byte) (any, error) {
	switch kind {
	case typeBool:
		v, err := r.number(1)
		return v == 1, err
	case typeByte:
		return r.number(1)
	case typeI16:
		return r.number(2)
	case typeI32:
		return r.number(4)
	case typeI64:
		return r.number(8)
	case typeDouble:
		v, err := r.number(8)
		return math.Float64frombits(uint64(v)), err
	case typeString:
		return r.text()
	case typeStruct:
		return r.fields()
	case typeMap:
		return r.pairs()
	case typeList, typeSet:
		return r.items()
	}
	return nil, fmt.Errorf("%w: it has a value of type %d", ErrDamaged, kind)
}

// count reads the number of a collection's values, each of which has a byte or more.
func (r *reader) count() (int64, error) {
	n, err := r.number(4)
	if err == nil && (n < 0 || n > r.left) {
		err = fmt.Errorf("%w: a list has %d values", ErrDamaged, n)
	}
	return n, err
}

func (r *reader) items() (any, error) {
	if r.depth++; r.depth > maxDepth {
		return nil, fmt.Errorf("%w: it is nested more than %d deep", ErrDamaged, maxDepth)
	}
	defer func() { r.depth-- }()
	kind, err := r.number(1)
	if err != nil {
		return nil, err
	}
	n, err := r.count()
	if err != nil {
		return nil, err
	}
	switch kind {
	case typeString:
		return listOf(n, r.text)
	case typeStruct:
		return listOf(n, r.fields)
	}
	_, err = listOf(n, func() (any, error) { return r.value(byte(kind)) })
	return nil, err
}

func listOf[T any](n int64, read func() (T, error)) (all []T, err error) {
	for range n {
		v, err := read()
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

// pairs reads a map.
func (r *reader) pairs() (any, error) {
	if r.depth++; r.depth > maxDepth {
		return nil, fmt.Errorf("%w: it is nested more than %d deep", ErrDamaged, maxDepth)
	}
	defer func() { r.depth-- }()
	key, err := r.number(1)
	if err != nil {
		return nil, err
	}
	value, err := r.number(1)
	if err != nil {
		return nil, err
	}
	n, err := r.count()
	if err != nil {
		return nil, err
	}
	texts := map[string]string{}
	for range n {
		k, err := r.value(byte(key))
		if err != nil {
			return nil, err
		}
		v, err := r.value(byte(value))
		if err != nil {
			return nil, err
		}
		name, isText := k.(string)
		text, isValue := v.(string)
		if isText && isValue {
			texts[name] = text
		}
	}
	return texts, nil
}
