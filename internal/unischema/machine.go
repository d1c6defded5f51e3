package unischema

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// A class is a name that a pickle imports: "petastorm.unischema.Unischema".
type class string

// A tuple is a tuple or a list. A list is a *tuple, because instructions append to it.
type tuple []any

// An object is a call of a class, or a dict, whose class is "".
type object struct {
	class class
	args  tuple
	items map[string]any // by keys that are strings
	order []string       // of the keys
	state any            // what its __setstate__ would get
}

// mark is on the stack where a run of values starts.
type mark struct{}

// A machine is the state of a pickle that is read.
type machine struct {
	b     []byte
	stack []any
	memo  map[int]any
	pairs int // that calls may still take: many calls may share an argument
}

var (
	errCut    = errors.New("it is cut")
	errBroken = errors.New("it is damaged")
)

// load runs a pickle and returns its value.
func load(b []byte) (any, error) {
	m := &machine{b: b, memo: map[int]any{}, pairs: len(b)}
	for {
		op, err := m.take(1)
		if err != nil {
			return nil, err
		}
		if op[0] == '.' {
			return m.pop()
		}
		if err := m.step(op[0]); err != nil {
			return nil, err
		}
	}
}

func (m *machine) take(n int) ([]byte, error) {
	if n < 0 || n > len(m.b) {
		return nil, errCut
	}
	taken := m.b[:n]
	m.b = m.b[n:]
	return taken, nil
}

// line takes the text up to the end of a line.
func (m *machine) line() (string, error) {
	text, rest, found := bytes.Cut(m.b, []byte("\n"))
	if !found {
		return "", errCut
	}
	m.b = rest
	return string(text), nil
}

// number takes a little-endian number of n bytes.
func (m *machine) number(n int) (int, error) {
	taken, err := m.take(n)
	if err != nil {
		return 0, err
	}
	var wide [8]byte
	copy(wide[:], taken)
	return int(binary.LittleEndian.Uint64(wide[:])), nil
}

// sized takes bytes whose number takes n bytes.
func (m *machine) sized(n int) ([]byte, error) {
	size, err := m.number(n)
	if err != nil {
		return nil, err
	}
	return m.take(size)
}

func (m *machine) push(v any) { m.stack = append(m.stack, v) }

func (m *machine) pop() (any, error) {
	last := len(m.stack) - 1
	if last < 0 || m.stack[last] == any(mark{}) {
		return nil, errBroken
	}
	v := m.stack[last]
	m.stack = m.stack[:last]
	return v, nil
}

// popN pops values, the last of which is on top.
func (m *machine) popN(n int) (tuple, error) {
	all := make(tuple, n)
	for i := range all {
		var err error
		if all[n-1-i], err = m.pop(); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// popMark pops the values above the last mark, and the mark.
func (m *machine) popMark() (tuple, error) {
	for i := len(m.stack) - 1; i >= 0; i-- {
		if m.stack[i] == any(mark{}) {
			all := append(tuple(nil), m.stack[i+1:]...)
			m.stack = m.stack[:i]
			return all, nil
		}
	}
	return nil, errBroken
}

func (m *machine) get(at int) error {
	v, ok := m.memo[at]
	if !ok {
		return errBroken
	}
	m.push(v)
	return nil
}

func (m *machine) put(at int) error {
	if len(m.stack) == 0 {
		return errBroken
	}
	m.memo[at] = m.stack[len(m.stack)-1]
	return nil
}

// decimal is the number of a line.
func decimal(line string) (int, error) {
	n, err := strconv.Atoi(strings.TrimSuffix(line, "L"))
	if err != nil {
		return 0, errBroken
	}
	return n, nil
}

// call makes the object of a call.
func (m *machine) call(callee any, args any) (any, error) {
	c, ok := callee.(class)
	given, isTuple := args.(tuple)
	if !ok || !isTuple {
		return nil, errBroken
	}
	switch c {
	case "copy_reg._reconstructor", "copyreg._reconstructor": // class, base, value of the base
		if len(given) != 3 {
			return nil, errBroken
		}
		c, ok = given[0].(class)
		values, _ := given[2].(tuple)
		if !ok {
			return nil, errBroken
		}
		given = values
	case "pyspark.serializers._restore", "pyspark.cloudpickle._restore": // a named tuple: name, names of members, values
		if len(given) != 3 {
			return nil, errBroken
		}
		name, _ := given[0].(string)
		values, isTuple := given[2].(tuple)
		if !isTuple {
			return nil, errBroken
		}
		c, given = class("pyspark."+name), values
	}
	o := &object{class: c, args: given}
	return o, m.setPairs(o, given)
}

// setPairs takes the items of an OrderedDict that its call is given.
func (m *machine) setPairs(o *object, args tuple) error {
	if o.class.name() != "OrderedDict" || len(args) == 0 {
		return nil
	}
	pairs, ok := args[0].(*tuple)
	if !ok || len(*pairs) > m.pairs {
		return errBroken
	}
	m.pairs -= len(*pairs)
	for _, p := range *pairs {
		var pair tuple
		switch p := p.(type) {
		case tuple:
			pair = p
		case *tuple:
			pair = *p
		}
		if len(pair) != 2 {
			return errBroken
		}
		o.set(pair[0], pair[1])
	}
	return nil
}

// set sets an item whose key is a string.
func (o *object) set(key, value any) {
	name, ok := key.(string)
	if !ok {
		return
	}
	if o.items == nil {
		o.items = map[string]any{}
	}
	if _, again := o.items[name]; !again {
		o.order = append(o.order, name)
	}
	o.items[name] = value
}

// name is the last part of a class's name.
func (c class) name() string { return string(c)[strings.LastIndexByte(string(c), '.')+1:] }

// modules lists the modules of a Unischema's classes. The first two are petastorm's old names.
var modules = []string{
	"av.experimental.deepdrive.dataset_toolkit.", "av.ml.dataset_toolkit.", "petastorm.unischema.", "petastorm.codecs.",
	"numpy.", "pyspark.sql.types.", "pyspark.serializers._restore.", "collections.OrderedDict.", "decimal.Decimal.",
	"copy_reg._reconstructor.", "copyreg._reconstructor.", "builtins.", "__builtin__.", "pyspark.cloudpickle._restore.",
}

// imported is the class of a module and a name.
func imported(module, name string) (class, error) {
	c := module + "." + name
	for _, m := range modules {
		if strings.HasPrefix(c+".", m) {
			return class(c), nil
		}
	}
	return "", fmt.Errorf("it has the class %.100q, which is not petastorm's", c)
}
