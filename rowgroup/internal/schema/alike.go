package schema

import (
	"fmt"
)

// AlikeSchemas groups schemas by their columns: writers name the root and number the fields in
// different ways. kindOf has the group of each schema.
func AlikeSchemas(schemas []*File) (alike [][]int, kindOf []int) {
	groups := map[string]int{}
	for k, s := range schemas {
		text := columnsKey(nil, s.Columns)
		g, ok := groups[string(text)]
		if !ok {
			g = len(alike)
			groups[string(text)] = g
			alike = append(alike, nil)
		}
		alike[g], kindOf = append(alike[g], k), append(kindOf, g)
	}
	return alike, kindOf
}

// columnsKey appends what a union of schemas takes from columns.
func columnsKey(b []byte, columns []*Node) []byte {
	for _, n := range columns {
		f := *n.Field
		f.Children, f.Tensor, f.Encoding = nil, nil, nil
		b = fmt.Appendf(b, "%q %+v", n.path, f)
		if e := n.Field.Encoding; e != nil {
			b = fmt.Appendf(b, "%v", e)
		}
		if t := n.Field.Tensor; t != nil {
			b = fmt.Appendf(b, "%v %v %t", t.Shape, t.Order, t.Flat != nil)
		}
		b = append(b, '(')
		b = append(columnsKey(b, n.Children), ')')
	}
	return b
}
