package rowgroup

import (
	"errors"
	"fmt"
	"math"

	"github.com/parquet-go/parquet-go/format"
)

// maxSchemaDepth bounds recursion over schemas; real ones are a few levels deep.
const maxSchemaDepth = 100

// physicalGroup is the physical type of an element that is not a leaf.
const physicalGroup = -1

// An element is one SchemaElement of a footer. The schema is the pre-order list of them, the root
// first.
type element struct {
	name             string
	physical         int8 // format.Type, or physicalGroup
	repetition       int8 // format.FieldRepetitionType
	converted        int8 // deprecated.ConvertedType, -1 when there is none
	typeLength       int32
	children         int32
	scale, precision int32
	logical          logical
}

// logical is a LogicalType. Its kind is the field number in the union; 0 means that there is none.
type logical struct {
	kind        uint8
	bits        int8 // INT
	signed, utc bool // INT; TIME, TIMESTAMP
	unit        int8 // TIME, TIMESTAMP: field number in the union of units
}

// Field numbers of LogicalType.
const (
	logicalString    = 1
	logicalMap       = 2
	logicalList      = 3
	logicalEnum      = 4
	logicalDecimal   = 5
	logicalDate      = 6
	logicalTime      = 7
	logicalTimestamp = 8
	logicalInt       = 10
	logicalUnknown   = 11
	logicalJSON      = 12
	logicalBSON      = 13
	logicalUUID      = 14
	logicalFloat16   = 15
)

// Values of ConvertedType.
const (
	convertedNone = iota - 1
	convertedUTF8
	convertedMap
	convertedMapKeyValue
	convertedList
	convertedEnum
	convertedDecimal
	convertedDate
	convertedTimeMillis
	convertedTimeMicros
	convertedTimestampMillis
	convertedTimestampMicros
	convertedUint8
	convertedUint16
	convertedUint32
	convertedUint64
	convertedInt8
	convertedInt16
	convertedInt32
	convertedInt64
	convertedJSON
	convertedBSON
	convertedInterval
)

func (e *element) isGroup() bool    { return e.physical == physicalGroup }
func (e *element) isRepeated() bool { return e.repetition == int8(format.Repeated) }
func (e *element) isOptional() bool { return e.repetition == int8(format.Optional) }

// isList says whether a group is annotated as a list.
func (e *element) isList() bool {
	return e.logical.kind == logicalList || e.logical.kind == 0 && e.converted == convertedList
}

// isMap says whether a group is annotated as a map. Some old writers put MAP_KEY_VALUE on the outer
// group.
func (e *element) isMap() bool {
	return e.logical.kind == logicalMap || e.logical.kind == 0 && (e.converted == convertedMap || e.converted == convertedMapKeyValue)
}

// readElements reads the list of SchemaElement.
func readElements(r *thriftReader) []element {
	typ, n := r.list()
	var all []element
	for i := 0; i < n && r.expect(typ, thriftStruct); i++ {
		e := element{physical: physicalGroup, converted: convertedNone, repetition: int8(format.Required)}
		readStruct(r, func(id int16, typ byte) { e.read(r, id, typ) })
		all = append(all, e)
	}
	if len(all) > 0 && all[0].children > 0 {
		all[0].physical = physicalGroup // some writers give the root a type
	}
	return all
}

func (e *element) read(r *thriftReader, id int16, typ byte) {
	switch {
	case id == 4 && typ == thriftBinary:
		e.name = string(r.bytes())
	case id == 10 && typ == thriftStruct:
		readStruct(r, func(id int16, typ byte) { e.readLogical(r, id, typ) })
	case typ != thriftI32:
		r.skip(typ)
	case id == 1:
		e.physical = int8(min(uint64(r.int()), math.MaxInt8))
	case id == 2:
		e.typeLength = r.int32()
	case id == 3:
		e.repetition = int8(min(uint64(r.int()), math.MaxInt8))
	case id == 5:
		e.children = r.int32()
	case id == 6:
		e.converted = int8(min(uint64(r.int()), math.MaxInt8))
	case id == 7:
		e.scale = r.int32()
	case id == 8:
		e.precision = r.int32()
	default:
		r.skip(typ)
	}
}

func (e *element) readLogical(r *thriftReader, id int16, typ byte) {
	l := &e.logical
	l.kind = uint8(min(uint16(id), math.MaxUint8))
	if typ != thriftStruct {
		r.skip(typ)
		return
	}
	readStruct(r, func(id int16, typ byte) {
		switch {
		case l.kind == logicalDecimal && id == 1 && typ == thriftI32:
			e.scale = r.int32()
		case l.kind == logicalDecimal && id == 2 && typ == thriftI32:
			e.precision = r.int32()
		case l.kind == logicalInt && id == 1 && typ == thriftByte:
			l.bits = int8(r.byte())
		case l.kind == logicalInt && id == 2:
			l.signed = typ == thriftTrue
		case (l.kind == logicalTime || l.kind == logicalTimestamp) && id == 1:
			l.utc = typ == thriftTrue
		case (l.kind == logicalTime || l.kind == logicalTimestamp) && id == 2 && typ == thriftStruct:
			readStruct(r, func(id int16, typ byte) {
				l.unit = int8(min(uint16(id), math.MaxInt8))
				r.skip(typ)
			})
		default:
			r.skip(typ)
		}
	})
}

// An elementLeaf is where a leaf stands in the list of elements.
type elementLeaf struct {
	element  int
	repeated bool // it, or a group around it, is repeated
}

// checkElements makes sure that the list is one tree and returns its leaves in order.
func checkElements(all []element) ([]elementLeaf, error) {
	if len(all) == 0 {
		return nil, errors.New("it has no schema")
	}
	if !all[0].isGroup() {
		return nil, errors.New("the root of its schema is no group")
	}
	c := elementChecker{all: all}
	if err := c.group(0, 0, false); err != nil {
		return nil, err
	}
	if c.next != len(all) {
		return nil, fmt.Errorf("its schema has %d elements, of which %d hang together", len(all), c.next)
	}
	return c.leaves, nil
}

type elementChecker struct {
	all    []element
	next   int
	leaves []elementLeaf
}

// group checks the subtree at element i, which must be the next one.
func (c *elementChecker) group(i, depth int, repeated bool) error {
	e := &c.all[i]
	c.next = i + 1
	if i > 0 {
		repeated = repeated || e.isRepeated()
	}
	if depth > maxSchemaDepth {
		return fmt.Errorf("its schema is nested over %d deep", maxSchemaDepth)
	}
	if err := e.check(); err != nil {
		return fmt.Errorf("schema element %d (%q): %w", i, e.name, err)
	}
	if !e.isGroup() {
		c.leaves = append(c.leaves, elementLeaf{element: i, repeated: repeated})
		return nil
	}
	for range e.children {
		if c.next >= len(c.all) {
			return fmt.Errorf("schema element %d (%q) lacks children", i, e.name)
		}
		if err := c.group(c.next, depth+1, repeated); err != nil {
			return err
		}
	}
	return nil
}

func (e *element) check() error {
	switch {
	case e.children < 0:
		return fmt.Errorf("%d children", e.children)
	case e.repetition < 0 || e.repetition > int8(format.Repeated):
		return fmt.Errorf("repetition %d", e.repetition)
	case e.isGroup():
		return nil
	case e.children > 0:
		return errors.New("a leaf with children")
	case e.physical < 0 || e.physical > int8(format.FixedLenByteArray):
		return fmt.Errorf("physical type %d", e.physical)
	case e.physical == int8(format.FixedLenByteArray) && (e.typeLength <= 0 || e.typeLength > 1<<24):
		return fmt.Errorf("a fixed length of %d bytes", e.typeLength)
	}
	return nil
}
