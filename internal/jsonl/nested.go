package jsonl

import (
	"fmt"

	"github.com/shardfeed/shardfeed/column"
)

func (o forms) list(f *column.Field) appender {
	item := o.nullable(f.Children[0])
	return func(dst []byte, a *column.Array, i int) []byte {
		items := a.Children[0]
		dst = append(dst, '[')
		lo, hi := a.Items(i)
		for k := lo; k < o.end(lo, hi); k++ {
			if k > lo {
				dst = append(dst, ',')
			}
			dst = item(dst, items, k)
		}
		return append(o.cut(dst, lo, hi), ']')
	}
}

// end is the end of the items from lo to hi that are written.
func (o forms) end(lo, hi int) int { return lo + min(hi-lo, o.items) }

// cut appends the number of items where not all of them are written.
func (o forms) cut(dst []byte, lo, hi int) []byte {
	if hi-lo <= o.items {
		return dst
	}
	return fmt.Appendf(dst, `,"... (%d items)"`, hi-lo)
}

// pairs writes a map. Keys may repeat and need not be strings, so an object could not hold them. A
// map without values has null for each.
func (o forms) pairs(f *column.Field) appender {
	entry := f.Children[0]
	key := o.nullable(entry.Children[0])
	value := func(dst []byte, _ *column.Array, _ int) []byte { return append(dst, "null"...) }
	if len(entry.Children) > 1 {
		present := o.nullable(entry.Children[1])
		value = func(dst []byte, a *column.Array, i int) []byte { return present(dst, a.Children[1], i) }
	}
	return func(dst []byte, a *column.Array, i int) []byte {
		entries := a.Children[0]
		dst = append(dst, '[')
		lo, hi := a.Items(i)
		for k := lo; k < o.end(lo, hi); k++ {
			if k > lo {
				dst = append(dst, ',')
			}
			dst = append(dst, '[')
			dst = key(dst, entries.Children[0], k)
			dst = append(dst, ',')
			dst = value(dst, entries, k)
			dst = append(dst, ']')
		}
		return append(o.cut(dst, lo, hi), ']')
	}
}

func (o forms) object(f *column.Field) appender {
	list := o.members(f.Children)
	return func(dst []byte, a *column.Array, i int) []byte {
		dst = append(dst, '{')
		for m := range list {
			dst = append(dst, list[m].key...)
			dst = list[m].append(dst, a.Children[m], i)
		}
		return append(dst, '}')
	}
}
