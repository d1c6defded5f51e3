package parquet

import (
	"bytes"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// A footer is refused before it takes many times its bytes.
func TestFootersOfTinyStructs(t *testing.T) {
	const n = 4 << 20
	list := func(typ byte) []byte { return []byte{0xf0 | typ, 0x80, 0x80, 0x80, 0x02} } // of n
	empty := bytes.Repeat([]byte{0}, n)
	schema := []byte{0x15, 0x02, 0x19, 0x2c, 0x48, 0x01, 'r', 0x15, 0x02, 0x00, 0x15, 0x02, 0x48, 0x01, 'x', 0x00} // version; a root, an int32
	root := []byte{0x48, 0x00, 0x15, 0x80, 0x80, 0x80, 0x04, 0x00}                                                 // of n children
	rows := []byte{0x16, 0x00}
	columns := bytes.Repeat([]byte{0x15, 0x02, 0x38, 0x01, 'x', 0x00}, 70_000) // int32
	many := []byte{0xfc, 0xf1, 0xa2, 0x04}                                     // a list of 70,001 structs
	wide := []byte{0x48, 0x00, 0x15, 0xe0, 0xc5, 0x08, 0x00}                   // a root of 70,000 children
	for name, x := range map[string]struct {
		footer []byte
		want   string
	}{
		"elements beside the tree": {slices.Concat([]byte{0x15, 0x02, 0x19}, list(thriftStruct), empty), "its tree uses only 1"},
		"elements of the tree":     {slices.Concat([]byte{0x15, 0x02, 0x19}, list(thriftStruct), root, empty), "schema elements in"},
		"row groups":               {slices.Concat(schema, rows, []byte{0x19}, list(thriftStruct), empty), "row groups in"},
		"column chunks":            {slices.Concat(schema, rows, []byte{0x19, 0x1c, 0x19}, list(thriftStruct), empty), "column chunks in"},
		"key values":               {slices.Concat(schema, rows, []byte{0x19, 0x0c, 0x19}, list(thriftStruct), empty), "key-value entries in"},
		"columns":                  {slices.Concat([]byte{0x15, 0x02, 0x19}, many, wide, columns, rows), "70000 columns in"},
	} {
		t.Run(name, func(t *testing.T) {
			allocated := testing.AllocsPerRun(1, func() {
				_, err := ParseFooter(append(x.footer, 0, 0), 1<<30)
				if !errors.Is(err, ErrFooter) || !strings.Contains(err.Error(), x.want) {
					t.Errorf("%v, want %q", err, x.want)
				}
			})
			if allocated > 100 && name != "columns" { // whose names are strings
				t.Errorf("%v allocations", allocated)
			}
		})
	}
}

// Elements that are claimed take no memory before the tree uses them.
func TestElementsBesideTheTree(t *testing.T) {
	const n = 4 << 20
	footer := append([]byte{0x15, 0x02, 0x19, 0xf0 | thriftStruct, 0x80, 0x80, 0x80, 0x02}, make([]byte, n+2)...) // version; n empty structs
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := ParseFooter(footer, 1<<30)
	runtime.ReadMemStats(&after)
	if allocated := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, ErrFooter) || allocated > 8<<20 {
		t.Errorf("%d bytes were allocated, %v", allocated, err)
	}
}
