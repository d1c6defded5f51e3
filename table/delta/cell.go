package delta

import (
	"encoding/binary"

	"github.com/shardfeed/shardfeed/column"
)

// bytesAt returns value i of a Binary array; nil if it is null.
func bytesAt(a *column.Array, i int) []byte {
	if a == nil || a.Field.Kind != column.Binary || a.IsNull(i) {
		return nil
	}
	return a.Data[a.Offsets[i]:a.Offsets[i+1]]
}

func text(a *column.Array, i int) string { return string(bytesAt(a, i)) }

// integer returns value i of an array of integers.
func integer(a *column.Array, i int) (n int64, ok bool) {
	if a == nil || a.Field.Kind != column.Fixed || a.IsNull(i) {
		return 0, false
	}
	switch a.Field.Type {
	case column.TypeInt32:
		return int64(int32(binary.LittleEndian.Uint32(a.Data[4*i:]))), true
	case column.TypeInt64:
		return int64(binary.LittleEndian.Uint64(a.Data[8*i:])), true
	}
	return 0, false
}

// textList returns list i of an array of lists of texts.
func textList(a *column.Array, i int) (all []string) {
	if a == nil || a.Field.Kind != column.List || a.IsNull(i) {
		return nil
	}
	for lo, hi := a.Items(i); lo < hi; lo++ {
		all = append(all, text(a.Children[0], lo))
	}
	return all
}

// textMap returns map i of an array of maps of texts.
func textMap(a *column.Array, i int) map[string]string {
	if a == nil || a.Field.Kind != column.Map || a.IsNull(i) {
		return nil
	}
	all := map[string]string{}
	for lo, hi := a.Items(i); lo < hi; lo++ {
		pair := a.Children[0]
		all[text(pair.Children[0], lo)] = text(pair.Children[1], lo)
	}
	return all
}
