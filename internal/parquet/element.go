package parquet

import (
	"errors"
	"fmt"
	"math"

	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
)

// MaxSchemaDepth bounds recursion over schemas. Real ones are a few levels deep; a list takes two.
const MaxSchemaDepth = 1000

// physicalGroup is the physical type of an element that is not a leaf.
const physicalGroup = -1

// An Element is one SchemaElement of a footer. The schema is the pre-order list of them, the root
// first.
type Element struct {
	Name             string
	Physical         int8                     // format.Type, or physicalGroup
	repetition       int8                     // format.FieldRepetitionType
	Converted        deprecated.ConvertedType // or -1
	TypeLength       int32
	Children         int32
	Scale, Precision int32
	Logical          logical
	FieldID          int32 // or 0
}

// logical is a LogicalType. Its kind is the field number in the union, or 0.
type logical struct {
	Kind        uint8
	Bits        int8 // INT
	Signed, UTC bool // INT; TIME, TIMESTAMP
	Unit        int8 // TIME, TIMESTAMP: field number in the union of units
}

// Field numbers of LogicalType.
const (
	LogicalString    = 1
	logicalMap       = 2
	logicalList      = 3
	LogicalEnum      = 4
	LogicalDecimal   = 5
	LogicalDate      = 6
	LogicalTime      = 7
	LogicalTimestamp = 8
	LogicalInt       = 10
	LogicalUnknown   = 11
	LogicalJSON      = 12
	LogicalBSON      = 13
	LogicalUUID      = 14
	LogicalFloat16   = 15
)

// IsGroup reports whether the element has children instead of values.
func (e *Element) IsGroup() bool { return e.Physical == physicalGroup }

// IsRepeated reports whether the element is repeated.
func (e *Element) IsRepeated() bool { return e.repetition == int8(format.Repeated) }

// IsOptional reports whether the element may be null.
func (e *Element) IsOptional() bool { return e.repetition == int8(format.Optional) }

// Has reports whether an element has a logical type or, in older files, the converted type.
func (e *Element) Has(kind uint8, converted deprecated.ConvertedType) bool {
	return e.Logical.Kind == kind || e.Logical.Kind == 0 && e.Converted == converted
}

// IsList reports whether a group is annotated as a list.
func (e *Element) IsList() bool { return e.Has(logicalList, deprecated.List) }

// IsMap reports whether a group is annotated as a map. Some old writers put MAP_KEY_VALUE on the
// outer group.
func (e *Element) IsMap() bool {
	return e.Has(logicalMap, deprecated.Map) || e.Has(logicalMap, deprecated.MapKeyValue)
}

// IsDecimal reports whether a leaf holds decimals.
func (e *Element) IsDecimal() bool {
	switch format.Type(e.Physical) {
	case format.Int32, format.Int64, format.ByteArray, format.FixedLenByteArray:
		return e.Has(LogicalDecimal, deprecated.Decimal)
	}
	return false
}

// IsUTC: the converted types of times and timestamps are adjusted to UTC, by the format's document.
func (e *Element) IsUTC() bool { return e.Logical.Kind == 0 || e.Logical.UTC }

// IntBits returns the width of an annotated integer, or 0.
func (e *Element) IntBits() (bits int, signed bool) {
	switch {
	case e.Logical.Kind == LogicalInt:
		return int(e.Logical.Bits), e.Logical.Signed
	case e.Logical.Kind != 0:
		return 0, true
	case e.Converted >= deprecated.Uint8 && e.Converted <= deprecated.Uint64:
		return 8 << (e.Converted - deprecated.Uint8), false
	case e.Converted >= deprecated.Int8 && e.Converted <= deprecated.Int64:
		return 8 << (e.Converted - deprecated.Int8), true
	}
	return 0, true
}

// ParseElements reads the footer's list of SchemaElement, and how many of them are leaves.
func ParseElements(b []byte) (all []Element, leaves int, err error) {
	r := &thriftReader{b: b}
	all, err = readElements(r, &allowance{left: math.MaxInt64}) // ParseFooter has charged them
	if r.err != nil {
		err = fmt.Errorf("its schema is %w", r.err)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("%w: %w", ErrFooter, err)
	}
	found, err := checkElements(all)
	if err != nil {
		return nil, 0, fmt.Errorf("%w: %w", ErrFooter, err)
	}
	return all, len(found), nil
}

// readElements reads the list of elements up to the first that is not part of the root's tree.
func readElements(r *thriftReader, a *allowance) ([]Element, error) {
	typ, n := r.list()
	all := make([]Element, 0, min(a.atMost(n, elementCost), leastColumns)) // its tree may use few
	expected := int64(1)                                                   // elements to come of the tree
	for i := 0; i < n && r.expect(typ, thriftStruct); i++ {
		if expected == 0 {
			return nil, fmt.Errorf("its schema lists %d elements but its tree uses only %d", n, i)
		}
		e := Element{Physical: physicalGroup, Converted: -1, repetition: int8(format.Required)}
		r.fields(func(id int16, typ byte) { e.read(r, id, typ) })
		if err := a.take(elementCost+int64(len(e.Name)), "schema elements", len(all)); err != nil {
			return nil, err
		}
		if e.Children < 0 {
			return nil, fmt.Errorf("schema element %d (%q): %d children", i, e.Name, e.Children)
		}
		all = append(all, e)
		expected += int64(e.Children) - 1
	}
	if len(all) > 0 && all[0].Children > 0 {
		all[0].Physical = physicalGroup // some writers give the root a type
	}
	return all, nil
}

func (e *Element) read(r *thriftReader, id int16, typ byte) {
	switch {
	case id == 4 && typ == thriftBinary:
		e.Name = string(r.bytes())
	case id == 10 && typ == thriftStruct:
		r.fields(func(id int16, typ byte) { e.readLogical(r, id, typ) })
	case typ != thriftI32:
	case id == 1:
		e.Physical = int8(min(uint64(r.int()), math.MaxInt8))
	case id == 2:
		e.TypeLength = r.int32()
	case id == 3:
		e.repetition = int8(min(uint64(r.int()), math.MaxInt8))
	case id == 5:
		e.Children = r.int32()
	case id == 6:
		e.Converted = deprecated.ConvertedType(min(uint64(r.int()), math.MaxInt8))
	case id == 7:
		e.Scale = r.int32()
	case id == 8:
		e.Precision = r.int32()
	case id == 9:
		e.FieldID = r.int32()
	}
}

func (e *Element) readLogical(r *thriftReader, id int16, typ byte) {
	l := &e.Logical
	l.Kind = uint8(min(uint16(id), math.MaxUint8))
	if typ != thriftStruct {
		return
	}
	r.fields(func(id int16, typ byte) {
		switch {
		case l.Kind == LogicalDecimal && id == 1 && typ == thriftI32:
			e.Scale = r.int32()
		case l.Kind == LogicalDecimal && id == 2 && typ == thriftI32:
			e.Precision = r.int32()
		case l.Kind == LogicalInt && id == 1 && typ == thriftByte:
			l.Bits = int8(r.byte())
		case l.Kind == LogicalInt && id == 2:
			l.Signed = typ == thriftTrue
		case (l.Kind == LogicalTime || l.Kind == LogicalTimestamp) && id == 1:
			l.UTC = typ == thriftTrue
		case (l.Kind == LogicalTime || l.Kind == LogicalTimestamp) && id == 2 && typ == thriftStruct:
			r.fields(func(id int16, _ byte) { l.Unit = int8(min(uint16(id), math.MaxInt8)) })
		}
	})
}

// An elementLeaf is the position of a leaf in the list of elements.
type elementLeaf struct {
	element  int
	repeated bool // it, or a group around it, is repeated
}

// checkElements makes sure that the list is one tree and returns its leaves in order.
func checkElements(all []Element) ([]elementLeaf, error) {
	if len(all) == 0 {
		return nil, errors.New("it has no schema")
	}
	if !all[0].IsGroup() {
		return nil, errors.New("the root of its schema is no group")
	}
	c := elementChecker{all: all}
	if err := c.group(0, 0, false); err != nil {
		return nil, err
	}
	if c.next != len(all) {
		return nil, fmt.Errorf("its schema lists %d elements but its tree uses only %d", len(all), c.next)
	}
	return c.leaves, nil
}

type elementChecker struct {
	all    []Element
	next   int
	leaves []elementLeaf
}

// group checks the subtree at element i, which must be the next one.
func (c *elementChecker) group(i, depth int, repeated bool) error {
	e := &c.all[i]
	c.next = i + 1
	if i > 0 {
		repeated = repeated || e.IsRepeated()
	}
	if depth > MaxSchemaDepth {
		return fmt.Errorf("its schema is nested over %d deep", MaxSchemaDepth)
	}
	if err := e.check(); err != nil {
		return fmt.Errorf("schema element %d (%q): %w", i, e.Name, err)
	}
	if !e.IsGroup() {
		c.leaves = append(c.leaves, elementLeaf{element: i, repeated: repeated})
		return nil
	}
	for range e.Children {
		if c.next >= len(c.all) {
			return fmt.Errorf("schema element %d (%q) lacks children", i, e.Name)
		}
		if err := c.group(c.next, depth+1, repeated); err != nil {
			return err
		}
	}
	return nil
}

func (e *Element) check() error {
	switch {
	case e.repetition < 0 || e.repetition > int8(format.Repeated):
		return fmt.Errorf("repetition %d", e.repetition)
	case e.IsGroup():
		return nil
	case e.Children > 0:
		return errors.New("a leaf with children")
	case e.Physical < 0 || e.Physical > int8(format.FixedLenByteArray):
		return fmt.Errorf("physical type %d", e.Physical)
	case e.Physical == int8(format.FixedLenByteArray) && (e.TypeLength <= 0 || e.TypeLength > 1<<24):
		return fmt.Errorf("a fixed length of %d bytes", e.TypeLength)
	}
	return nil
}
