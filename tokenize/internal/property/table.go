package property

import (
	_ "embed"
	"encoding/binary"
	"sync"
)

//go:embed classes.bin
var classes []byte

const (
	pageBits = 7
	pageSize = 1 << pageBits
	points   = 0x110000
)

// A Table maps code points to their sets. Pages that are equal are kept once.
type Table struct {
	pageOf [points / pageSize]uint16
	pages  [][pageSize]uint8 // numbers of sets
	sets   []Set
}

// Load returns the table. All callers share it.
var Load = sync.OnceValue(func() *Table { return read(classes) })

// Of returns the properties of r, and no property if r is not a code point.
func Of(r rune) Set { return Load().Of(r) }

// Of returns the properties of r, and no property if r is not a code point.
func (t *Table) Of(r rune) Set {
	if uint32(r) >= points {
		return 0
	}
	return t.sets[t.pages[t.pageOf[r>>pageBits]][r&(pageSize-1)]]
}

// Classes maps every code point to class of its set: one byte a code point, as scanners want it.
func (t *Table) Classes(class func(Set) uint8) *Classes {
	c := &Classes{pageOf: t.pageOf, pages: make([][pageSize]uint8, len(t.pages))}
	of := make([]uint8, len(t.sets))
	for i, s := range t.sets {
		of[i] = class(s)
	}
	for i, page := range t.pages {
		for j, set := range page {
			c.pages[i][j] = of[set]
		}
	}
	return c
}

// Classes are code points in classes of a caller.
type Classes struct {
	pageOf [points / pageSize]uint16
	pages  [][pageSize]uint8
}

// Of returns the class of r, which must be a code point.
func (c *Classes) Of(r rune) uint8 { return c.pages[c.pageOf[r>>pageBits]][r&(pageSize-1)] }

func read(data []byte) *Table {
	next := func() int {
		v, n := binary.Uvarint(data)
		data = data[n:]
		return int(v)
	}
	t := &Table{sets: make([]Set, next())}
	for i := range t.sets {
		t.sets[i] = Set(next())
	}
	known := map[[pageSize]uint8]uint16{}
	var page [pageSize]uint8
	for r := 0; r < points; {
		length, set := next(), uint8(next())
		for end := r + length; r < end; r++ {
			page[r%pageSize] = set
			if r%pageSize != pageSize-1 {
				continue
			}
			at, ok := known[page]
			if !ok {
				at = uint16(len(t.pages))
				known[page] = at
				t.pages = append(t.pages, page)
			}
			t.pageOf[r/pageSize] = at
		}
	}
	return t
}
