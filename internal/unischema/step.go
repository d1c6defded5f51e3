package unischema

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// step runs an instruction.
func (m *machine) step(op byte) error {
	switch op {
	case 0x80: // PROTO
		_, err := m.take(1)
		return err
	case 0x95: // FRAME
		_, err := m.take(8)
		return err
	case '(', '0', '1', '2', 'p', 'q', 'r', 0x94, 'g', 'h', 'j':
		return m.stepStack(op)
	case ']', 'l', 'a', 'e', ')', 't', 0x85, 0x86, 0x87, '}', 'd', 's', 'u':
		return m.stepContainer(op)
	case 'c', 0x93, 'R', 0x81, 0x92, 'b', 'i', 'o':
		return m.stepObject(op)
	}
	return m.stepValue(op)
}

// stepValue pushes a value that has no parts.
func (m *machine) stepValue(op byte) (err error) {
	var v any
	switch op {
	case 'N':
		v = nil
	case 0x88, 0x89: // NEWTRUE, NEWFALSE
		v = op == 0x88
	case 'I', 'L', 'F', 'S', 'V':
		v, err = m.lineValue(op)
	case 'J':
		var n int
		n, err = m.number(4)
		v = int(int32(n))
	case 'K':
		v, err = m.number(1)
	case 'M':
		v, err = m.number(2)
	case 0x8a: // LONG1
		v, err = m.long()
	case 'G':
		var taken []byte
		if taken, err = m.take(8); err == nil {
			v = math.Float64frombits(binary.BigEndian.Uint64(taken))
		}
	case 'U', 'C', 0x8c: // SHORT_BINSTRING, SHORT_BINBYTES, SHORT_BINUNICODE
		v, err = m.text(1)
	case 'T', 'B', 'X':
		v, err = m.text(4)
	case 0x8d, 0x8e: // BINUNICODE8, BINBYTES8
		v, err = m.text(8)
	default:
		return fmt.Errorf("it has the instruction %#02x, which no Unischema needs", op)
	}
	m.push(v)
	return err
}

func (m *machine) text(n int) (string, error) {
	b, err := m.sized(n)
	return string(b), err
}

// long takes an integer in two's complement.
func (m *machine) long() (int, error) {
	b, err := m.sized(1)
	if err != nil || len(b) > 8 {
		return 0, errBroken
	}
	n := int64(0)
	for i, x := range b {
		n |= int64(x) << (8 * i)
	}
	if bits := 8 * len(b); bits > 0 && bits < 64 {
		n = n << (64 - bits) >> (64 - bits)
	}
	return int(n), nil
}

// lineValue takes a value that is a line of text.
func (m *machine) lineValue(op byte) (any, error) {
	line, err := m.line()
	if err != nil {
		return nil, err
	}
	switch op {
	case 'I':
		if line == "00" || line == "01" {
			return line == "01", nil
		}
		return decimal(line)
	case 'L':
		return decimal(line)
	case 'F':
		f, err := strconv.ParseFloat(line, 64)
		return f, err
	case 'S':
		return strings.Trim(line, `'"`), nil
	}
	return line, nil
}

// stepStack moves values that are there.
func (m *machine) stepStack(op byte) error {
	switch op {
	case '(':
		m.push(mark{})
		return nil
	case '0':
		_, err := m.pop()
		return err
	case '1':
		_, err := m.popMark()
		return err
	case '2':
		v, err := m.pop()
		m.push(v)
		m.push(v)
		return err
	case 0x94: // MEMOIZE
		return m.put(len(m.memo))
	}
	var at int
	var err error
	switch op {
	case 'p', 'g':
		var line string
		if line, err = m.line(); err == nil {
			at, err = decimal(line)
		}
	case 'q', 'h':
		at, err = m.number(1)
	default:
		at, err = m.number(4)
	}
	switch {
	case err != nil:
		return err
	case op == 'g' || op == 'h' || op == 'j':
		return m.get(at)
	}
	return m.put(at)
}

// stepContainer makes tuples, lists and dicts, and fills them.
func (m *machine) stepContainer(op byte) error {
	switch op {
	case ']':
		m.push(&tuple{})
		return nil
	case ')':
		m.push(tuple{})
		return nil
	case '}':
		m.push(&object{})
		return nil
	}
	var values tuple
	var err error
	switch op {
	case 'a':
		values, err = m.popN(1)
	case 's':
		values, err = m.popN(2)
	case 0x85, 0x86, 0x87: // TUPLE1 to TUPLE3
		values, err = m.popN(int(op) - 0x84)
	default:
		values, err = m.popMark()
	}
	if err != nil {
		return err
	}
	switch op {
	case 'l':
		m.push(&values)
		return nil
	case 'a', 'e':
		return m.extend(values)
	case 'd':
		m.push(&object{})
		return m.update(values)
	case 's', 'u':
		return m.update(values)
	}
	m.push(values)
	return nil
}

// extend appends values to the list on top.
func (m *machine) extend(values tuple) error {
	top, err := m.pop()
	list, ok := top.(*tuple)
	if err != nil || !ok {
		return errBroken
	}
	*list = append(*list, values...)
	m.push(top)
	return nil
}

// update sets items of the dict on top: a key and a value, and so on.
func (m *machine) update(values tuple) error {
	top, err := m.pop()
	o, ok := top.(*object)
	if err != nil || !ok || len(values)%2 != 0 {
		return errBroken
	}
	for i := 0; i < len(values); i += 2 {
		o.set(values[i], values[i+1])
	}
	m.push(top)
	return nil
}

// stepObject imports classes, and notes their calls and the states of their objects.
func (m *machine) stepObject(op byte) error {
	switch op {
	case 'c', 0x93: // GLOBAL, STACK_GLOBAL
		return m.global(op)
	case 'i':
		if err := m.global('c'); err != nil {
			return err
		}
		c, err := m.pop()
		if err != nil {
			return err
		}
		args, err := m.popMark()
		return m.made(c, args, err)
	case 'o':
		all, err := m.popMark()
		if err != nil || len(all) == 0 {
			return errBroken
		}
		return m.made(all[0], all[1:], nil)
	case 0x92: // NEWOBJ_EX: class, arguments, arguments by name
		all, err := m.popN(3)
		if err != nil {
			return err
		}
		return m.made(all[0], all[1], nil)
	}
	all, err := m.popN(2)
	if err != nil {
		return err
	}
	if op != 'b' {
		return m.made(all[0], all[1], nil)
	}
	o, ok := all[0].(*object)
	if !ok {
		return errBroken
	}
	o.state = all[1]
	m.push(o)
	return nil
}

func (m *machine) made(callee, args any, err error) error {
	if err != nil {
		return err
	}
	o, err := m.call(callee, args)
	m.push(o)
	return err
}

// global pushes a class whose name is in two lines or on the stack.
func (m *machine) global(op byte) error {
	var module, name string
	if op == 'c' {
		var err error
		if module, err = m.line(); err != nil {
			return err
		}
		if name, err = m.line(); err != nil {
			return err
		}
	} else {
		names, err := m.popN(2)
		if err != nil {
			return err
		}
		module, _ = names[0].(string)
		name, _ = names[1].(string)
	}
	c, err := imported(module, name)
	m.push(c)
	return err
}
