package gpu

import (
	"fmt"
	"unsafe"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/loader"
)

// A node is the memory of one node of a batch's columns, without its children's.
type node struct{ valid, offsets, data []byte }

// nodeOf finds a node's memory, or what does not fit together in it.
func nodeOf(a *column.Array) (n node, err error) {
	take := func(what string, b []byte, want int) []byte {
		if len(b) < want && err == nil {
			err = fmt.Errorf("%d bytes of %s where %d values take %d", len(b), what, a.Len, want)
		}
		return b[:min(want, len(b))]
	}
	if a.Len < 0 {
		return n, fmt.Errorf("a length of %d", a.Len)
	}
	if a.Valid != nil {
		n.valid = take("validity", a.Valid, (a.Len+7)/8)
	}
	switch a.Field.Kind {
	case column.Fixed:
		n.data = take("data", a.Data, a.Len*a.Field.Width)
	case column.Binary, column.List, column.Map:
		if dense(a) {
			break
		}
		offsets := a.Offsets
		if a.Len == 0 && len(offsets) == 0 {
			offsets = []int32{0} // whose maker left them out
		}
		n.offsets = take("offsets", unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(offsets))), 4*len(offsets)), 4*(a.Len+1))
		if a.Field.Kind == column.Binary && err == nil {
			if offsets[a.Len] < 0 {
				return n, fmt.Errorf("the last of its offsets is %d", offsets[a.Len])
			}
			n.data = take("data", a.Data, int(offsets[a.Len]))
		}
	}
	return n, err
}

// dense reports whether an array is fixed-size lists, which have no offsets.
func dense(a *column.Array) bool {
	return a.Field.Kind == column.List && a.Field.ListSize > 0 && a.Offsets == nil
}

// A columnLayout has the positions of a batch's columns in its slot. Its memory is reused for the
// next batch.
type columnLayout struct {
	slot  *slot
	nodes []node // in pre-order
	next  int
}

// settle finds the memory of all columns of a batch, and copies columns outside the batch's memory
// into it. It returns the number of copied bytes.
func (l *columnLayout) settle(b *loader.Batch, s *slot) (copied int, err error) {
	l.slot, l.nodes, l.next = s, l.nodes[:0], 0
	for _, a := range b.Columns {
		if err := l.collect(a); err != nil {
			return 0, fmt.Errorf("column %q: %w", a.Field.Name, err)
		}
	}
	for i := range l.nodes {
		n := &l.nodes[i]
		for _, p := range [...]*[]byte{&n.valid, &n.offsets, &n.data} {
			if len(*p) == 0 || s.offset(*p) >= 0 {
				continue
			}
			own, err := b.Alloc(len(*p))
			if err != nil {
				return copied, err
			}
			copied += copy(own, *p)
			*p = own
		}
	}
	return copied, nil
}

func (l *columnLayout) collect(a *column.Array) error {
	n, err := nodeOf(a)
	if err != nil {
		return err
	}
	l.nodes = append(l.nodes, n)
	for _, c := range a.Children {
		if err := l.collect(c); err != nil {
			return fmt.Errorf("%q: %w", c.Field.Name, err)
		}
	}
	return nil
}

// onDevice returns the columns on the device: the slot's pieces are concatenated from base on.
func (l *columnLayout) onDevice(b *Batch, arrays []*column.Array, base uintptr) []*Column {
	all, places := make([]Column, len(l.nodes)), make([]*Column, len(l.nodes))
	var add func(arrays []*column.Array) []*Column
	add = func(arrays []*column.Array) []*Column {
		own := places[:len(arrays):len(arrays)]
		places = places[len(arrays):]
		for i, a := range arrays {
			n, c := l.nodes[l.next], &all[l.next]
			l.next++
			*c = Column{
				Field: a.Field, Len: a.Len, Nulls: a.Nulls, batch: b,
				Valid: l.span(n.valid, base), Offsets: l.span(n.offsets, base), Data: l.span(n.data, base),
			}
			c.Children = add(a.Children)
			own[i] = c
		}
		return own
	}
	return add(arrays)
}

func (l *columnLayout) span(b []byte, base uintptr) Span {
	if len(b) == 0 {
		return Span{}
	}
	return Span{Pointer: base + uintptr(l.slot.offset(b)), Bytes: len(b)}
}
