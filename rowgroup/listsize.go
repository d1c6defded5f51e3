package rowgroup

import (
	"encoding/binary"
	"maps"
	"slices"
)

// maxListSize bounds the declared length of a list; longer ones are read as ragged.
const maxListSize = 1 << 30

// Declared lengths of fixed-size lists travel as bytes, so that they can be hashed and stored
// beside a schema: for each list, sorted by path, a uvarint length of the path, the path, and a
// uvarint list length.

func formatListSizes(sizes map[string]int) []byte {
	var b []byte
	for _, p := range slices.Sorted(maps.Keys(sizes)) {
		b = binary.AppendUvarint(b, uint64(len(p)))
		b = append(b, p...)
		b = binary.AppendUvarint(b, uint64(sizes[p]))
	}
	return b
}

// parseListSizes returns nil when the bytes are malformed: lists are ragged then, which is always
// right.
func parseListSizes(b []byte) map[string]int {
	sizes := map[string]int{}
	for len(b) > 0 {
		n, k := binary.Uvarint(b)
		if k <= 0 || n > uint64(len(b)-k) {
			return nil
		}
		path := string(b[k : k+int(n)])
		b = b[k+int(n):]
		size, k := binary.Uvarint(b)
		if k <= 0 || size > maxListSize {
			return nil
		}
		b = b[k:]
		sizes[path] = int(size)
	}
	return sizes
}
