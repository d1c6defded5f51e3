package avro

import (
	"encoding/binary"
	"fmt"
)

// A decoder reads values from memory. Its first error stays, and reads after it are empty.
type decoder struct {
	data   []byte
	at     int
	depth  int
	values []Value
	err    error
}

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("%w: %s", ErrCorrupt, fmt.Sprintf(format, args...))
		d.at = len(d.data)
	}
}

func (d *decoder) take(n int) []byte {
	if n < 0 || n > len(d.data)-d.at {
		d.fail("it is cut short")
		return nil
	}
	d.at += n
	return d.data[d.at-n : d.at]
}

func (d *decoder) long() int64 {
	if d.at < len(d.data) && d.data[d.at] < 0x80 { // as most are
		v := d.data[d.at]
		d.at++
		return int64(v>>1) ^ -int64(v&1)
	}
	v, n := binary.Uvarint(d.data[d.at:])
	if n <= 0 {
		d.fail("it is cut short")
		return 0
	}
	d.at += n
	return int64(v>>1) ^ -int64(v&1)
}

func (d *decoder) bytes() []byte {
	n := d.long()
	if n > int64(len(d.data)) {
		n = -1
	}
	return d.take(int(n))
}

// each calls item for every item of an array or map.
func (d *decoder) each(item func()) {
	for n := d.items(); n > 0; n = d.items() {
		for range n {
			if item(); d.err != nil {
				return
			}
		}
	}
}

// items is the number of items of the next block of an array or map, 0 at its end.
func (d *decoder) items() int64 {
	n := d.long()
	if n < 0 {
		d.long() // bytes
		n = -n
	}
	if n < 0 || n > int64(len(d.data)) {
		d.fail("it has an array of %d items", n)
		return 0
	}
	return n
}

// run decodes one value as a step plans it.
func (d *decoder) run(s *step) {
	switch {
	case !s.wanted:
		d.skip(s.schema)
	case s.schema.kind == record:
		for i := range s.parts {
			if d.run(&s.parts[i]); d.err != nil {
				return
			}
		}
	case s.schema.kind == union:
		if i := d.branch(s.schema); i >= 0 {
			d.run(&s.parts[i])
		}
	default:
		d.value(s.schema, &d.values[s.slot])
	}
}

func (d *decoder) branch(s *schema) int {
	i := d.long()
	if i < 0 || i >= int64(len(s.of)) {
		d.fail("it has branch %d of a union of %d", i, len(s.of))
		return -1
	}
	return int(i)
}

// value decodes a value of any kind except union.
func (d *decoder) value(s *schema, v *Value) {
	switch s.kind {
	case integer:
		v.Kind, v.Int = Int, d.long()
	case boolean:
		if b := d.take(1); b != nil {
			v.Kind, v.Int = Int, int64(b[0]&1)
		}
	case text:
		v.Kind, v.Bytes = Bytes, d.bytes()
	case fixed:
		v.Kind, v.Bytes = Bytes, d.take(s.size)
	case float:
		v.Kind, v.Bytes = Bytes, d.take(4)
	case double:
		v.Kind, v.Bytes = Bytes, d.take(8)
	case enum:
		i := d.long()
		if i < 0 || i >= int64(len(s.symbols)) {
			d.fail("it has symbol %d of %d", i, len(s.symbols))
			return
		}
		v.Kind, v.Bytes = Bytes, []byte(s.symbols[i])
	case array:
		if s.of[0].kind != integer {
			d.skip(s)
			return
		}
		v.Kind = Ints
		d.each(func() { v.Ints = append(v.Ints, d.long()) })
	default:
		d.skip(s)
	}
}

// skip steps over a value.
func (d *decoder) skip(s *schema) {
	switch s.kind {
	case null:
	case boolean:
		d.take(1)
	case integer, enum:
		d.long()
	case float:
		d.take(4)
	case double:
		d.take(8)
	case text:
		d.bytes()
	case fixed:
		d.take(s.size)
	default:
		d.skipNested(s)
	}
}

func (d *decoder) skipNested(s *schema) {
	if d.depth++; d.depth > maxDepth {
		d.fail("its values are nested deeper than %d", maxDepth)
	}
	switch s.kind {
	case union:
		if i := d.branch(s); i >= 0 {
			d.skip(s.of[i])
		}
	case array, object:
		d.skipItems(s)
	case record:
		for i := range s.fields {
			if d.skip(s.fields[i].typ); d.err != nil {
				break
			}
		}
	}
	d.depth--
}

// skipItems steps over the blocks of an array or map, at once if they have their size.
func (d *decoder) skipItems(s *schema) {
	for d.err == nil {
		n := d.long()
		switch {
		case n == 0:
			return
		case n < 0:
			d.bytes()
			continue
		case n > int64(len(d.data)):
			d.fail("it has an array of %d items", n)
		}
		for ; n > 0 && d.err == nil; n-- {
			if s.kind == object {
				d.bytes()
			}
			d.skip(s.of[0])
		}
	}
}
