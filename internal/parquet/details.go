package parquet

import "fmt"

// Details has the parts of a footer for people and about values, which reading rows does not need.
type Details struct {
	KeyValues []KeyValue

	// Leaves is the number of chunks of each row group, -1 where row groups differ.
	Leaves int

	// Ordered says of each leaf that Min and Max are in the order that its type defines. Without
	// it, the format says, they mean nothing.
	Ordered []bool

	b      []byte
	groups []uint32     // the start of each in b: parsed, they take several times their bytes
	last   GroupDetails // of the row group at
	at     int
}

// A Place is a range of the file. Bytes is 0 for an empty range, and where the writer does not
// record its length.
type Place struct{ Off, Bytes int64 }

// A KeyValue is an entry of the metadata that a writer adds.
type KeyValue struct{ Key, Value string }

// GroupDetails are the details of a row group.
type GroupDetails struct {
	Sorted []SortedBy
	Chunks []Statistics // of the leaves, in order
}

// SortedBy is a column that rows are sorted by, after the columns before it.
type SortedBy struct {
	Column     int // among the leaves
	Descending bool
}

// Statistics are a footer's statistics of the values of a column chunk. Min and Max are
// plain-encoded bounds, or nil.
type Statistics struct {
	Values int64
	Nulls  int64 // -1 when it is not stated
	Min    []byte
	Max    []byte

	// OldMin and OldMax have the old form, which is right only for signed numbers.
	OldMin, OldMax []byte

	ColumnIndex, Bloom Place
}

// Groups is the number of row groups.
func (d *Details) Groups() int { return len(d.groups) }

// Group parses the details of row group g. They are valid until Group is called for another one;
// one goroutine at a time may call it.
func (d *Details) Group(g int) *GroupDetails {
	if g != d.at {
		d.at = g
		d.last.read(&thriftReader{b: d.b, pos: int(d.groups[g])}) // read before, without an error
	}
	return &d.last
}

// ParseDetails parses the details of FileMetaData. They alias b.
func ParseDetails(b []byte) (*Details, error) {
	d := &Details{b: b, at: -1}
	r := &thriftReader{b: b}
	r.fields(func(id int16, typ byte) {
		switch {
		case id == 4 && typ == thriftList:
			d.readGroups(r)
		case id == 5 && typ == thriftList:
			d.readKeyValues(r)
		case id == 7 && typ == thriftList:
			d.readOrders(r)
		}
	})
	if r.err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFooter, r.err)
	}
	return d, nil
}

// leastKeyValue is the bytes of an entry with a key and a value of a byte each.
const leastKeyValue = 7

func (d *Details) readKeyValues(r *thriftReader) {
	typ, n := r.list()
	d.KeyValues = make([]KeyValue, 0, min(n, (len(r.b)-r.pos)/leastKeyValue))
	for i := 0; i < n && r.expect(typ, thriftStruct); i++ {
		var e KeyValue
		r.fields(func(id int16, typ byte) {
			switch {
			case id == 1 && typ == thriftBinary:
				e.Key = string(r.bytes())
			case id == 2 && typ == thriftBinary:
				e.Value = string(r.bytes())
			}
		})
		d.KeyValues = append(d.KeyValues, e)
	}
}

func (d *Details) readOrders(r *thriftReader) {
	typ, n := r.list()
	for i := 0; i < n && r.expect(typ, thriftStruct); i++ {
		ordered := false
		r.fields(func(id int16, _ byte) { ordered = id == 1 })
		d.Ordered = append(d.Ordered, ordered)
	}
}

// leastGroup is the bytes of a row group with a chunk and a number of rows.
const leastGroup = 8

func (d *Details) readGroups(r *thriftReader) {
	typ, n := r.list()
	d.groups = make([]uint32, 0, min(n, (len(r.b)-r.pos)/leastGroup))
	for i := 0; i < n && r.expect(typ, thriftStruct); i++ {
		d.groups = append(d.groups, uint32(r.pos))
		d.last.read(r)
		if i == 0 {
			d.Leaves = len(d.last.Chunks)
		} else if d.Leaves != len(d.last.Chunks) {
			d.Leaves = -1
		}
	}
	d.at = len(d.groups) - 1
}

// read replaces the details by those at r.
func (g *GroupDetails) read(r *thriftReader) {
	g.Sorted, g.Chunks = g.Sorted[:0], g.Chunks[:0]
	r.fields(func(id int16, typ byte) {
		switch {
		case id == 1 && typ == thriftList:
			g.readChunks(r)
		case id == 4 && typ == thriftList:
			g.readSorted(r)
		}
	})
}

func (g *GroupDetails) readSorted(r *thriftReader) {
	typ, n := r.list()
	for i := 0; i < n && r.expect(typ, thriftStruct); i++ {
		var s SortedBy
		r.fields(func(id int16, typ byte) {
			switch {
			case id == 1 && typ == thriftI32:
				s.Column = int(r.int32())
			case id == 2:
				s.Descending = typ == thriftTrue
			}
		})
		g.Sorted = append(g.Sorted, s)
	}
}

func (g *GroupDetails) readChunks(r *thriftReader) {
	typ, n := r.list()
	for i := 0; i < n && r.expect(typ, thriftStruct); i++ {
		s := Statistics{Nulls: -1}
		r.fields(func(id int16, typ byte) {
			switch {
			case id == 3 && typ == thriftStruct:
				r.fields(func(id int16, typ byte) { s.readMeta(r, id, typ) })
			case id == 6 && typ == thriftI64:
				s.ColumnIndex.Off = r.int()
			case id == 7 && typ == thriftI32:
				s.ColumnIndex.Bytes = r.int()
			}
		})
		g.Chunks = append(g.Chunks, s)
	}
}

// readMeta reads a field of ColumnMetaData.
func (s *Statistics) readMeta(r *thriftReader, id int16, typ byte) {
	switch {
	case id == 5 && typ == thriftI64:
		s.Values = r.int()
	case id == 12 && typ == thriftStruct:
		r.fields(func(id int16, typ byte) { s.read(r, id, typ) })
	case id == 14 && typ == thriftI64:
		s.Bloom.Off = r.int()
	case id == 15 && typ == thriftI32:
		s.Bloom.Bytes = r.int()
	}
}

func (s *Statistics) read(r *thriftReader, id int16, typ byte) {
	switch {
	case id == 1 && typ == thriftBinary:
		s.OldMax = r.bytes()
	case id == 2 && typ == thriftBinary:
		s.OldMin = r.bytes()
	case id == 3 && typ == thriftI64:
		s.Nulls = max(-1, r.int())
	case id == 5 && typ == thriftBinary:
		s.Max = r.bytes()
	case id == 6 && typ == thriftBinary:
		s.Min = r.bytes()
	}
}
