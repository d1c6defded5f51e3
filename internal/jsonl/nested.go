package jsonl

import (
	"github.com/shardfeed/shardfeed/column"
)

func list(f *column.Field) appender {
	item := nullable(f.Children[0])
	return func(dst []byte, a *column.Array, i int) []byte {
		items := a.Children[0]
		dst = append(dst, '[')
		lo, hi := a.Items(i)
		for k := lo; k < hi; k++ {
			if k > lo {
				dst = append(dst, ',')
			}
			dst = item(dst, items, k)
		}
		return append(dst, ']')
	}
}

// pairs writes a map. Keys may repeat and need not be strings, so an object could not hold them. A
// map without values has null for each.
func pairs(f *column.Field) appender {
	entry := f.Children[0]
	key := nullable(entry.Children[0])
	value := func(dst []byte, _ *column.Array, _ int) []byte { return append(dst, "null"...) }
	if len(entry.Children) > 1 {
		present := nullable(entry.Children[1])
		value = func(dst []byte, a *column.Array, i int) []byte { return present(dst, a.Children[1], i) }
	}
	return func(dst []byte, a *column.Array, i int) []byte {
		entries := a.Children[0]
		dst = append(dst, '[')
		lo, hi := a.Items(i)
		for k := lo; k < hi; k++ {
			if k > lo {
				dst = append(dst, ',')
			}
			dst = append(dst, '[')
			dst = key(dst, entries.Children[0], k)
			dst = append(dst, ',')
			dst = value(dst, entries, k)
			dst = append(dst, ']')
		}
		return append(dst, ']')
	}
}

func object(f *column.Field) appender {
	list := members(f.Children)
	return func(dst []byte, a *column.Array, i int) []byte {
		dst = append(dst, '{')
		for m := range list {
			dst = append(dst, list[m].key...)
			dst = list[m].append(dst, a.Children[m], i)
		}
		return append(dst, '}')
	}
}
