package schema

import (
	"encoding/binary"
	"maps"
	"slices"

	"github.com/shardfeed/shardfeed/column"
)

// A listSize is a writer's declaration of lists: the length of all, and the shape of the tensors
// that they hold.
type listSize struct {
	size   int
	tensor *column.Tensor // nil: they are lists
}

// maxListSize bounds the declared length of a list; longer ones are read as ragged.
const maxListSize = 1 << 30

// maxDims bounds the dimensions of a tensor; one of more is a list.
const maxDims = 64

// Declared lengths of fixed-size lists travel as bytes, so that they can be hashed and stored
// beside a schema. For each list, sorted by path, there are
//
//	uvarint  length of the path, and the path
//	uvarint  length of the lists
//	uvarint  dimensions D of the tensors; 0: they are lists
//	uvarint  length of each dimension, D times
//	uvarint  1 if the dimensions are stored in another order, else 0
//	uvarint  stored dimension of each dimension, D times, only after a 1

func formatListSizes(sizes map[string]listSize) []byte {
	var b []byte
	for _, p := range slices.Sorted(maps.Keys(sizes)) {
		b = binary.AppendUvarint(b, uint64(len(p)))
		b = append(b, p...)
		b = binary.AppendUvarint(b, uint64(sizes[p].size))
		b = appendTensor(b, sizes[p].tensor)
	}
	return b
}

func appendTensor(b []byte, t *column.Tensor) []byte {
	if t == nil {
		return append(b, 0)
	}
	b = appendInts(binary.AppendUvarint(b, uint64(len(t.Shape))), t.Shape)
	if t.Order == nil {
		return append(b, 0)
	}
	return appendInts(append(b, 1), t.Order)
}

func appendInts(b []byte, all []int) []byte {
	for _, n := range all {
		b = binary.AppendUvarint(b, uint64(n))
	}
	return b
}

// parseListSizes returns nil when the bytes are malformed: lists are ragged then, which is always
// right.
func parseListSizes(b []byte) map[string]listSize {
	r := sizeReader{b: b}
	sizes := map[string]listSize{}
	for len(r.b) > 0 {
		path := r.text()
		s := listSize{size: r.number(maxListSize)}
		s.tensor = r.tensor(s.size)
		if r.bad {
			return nil
		}
		sizes[path] = s
	}
	return sizes
}

// A sizeReader reads what formatListSizes wrote.
type sizeReader struct {
	b   []byte
	bad bool
}

func (r *sizeReader) number(most int) int {
	n, k := binary.Uvarint(r.b)
	if k <= 0 || n > uint64(most) {
		r.b, r.bad = nil, true
		return 0
	}
	r.b = r.b[k:]
	return int(n)
}

func (r *sizeReader) numbers(n, most int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = r.number(most)
	}
	return all
}

func (r *sizeReader) text() string {
	n := r.number(len(r.b))
	if n > len(r.b) {
		r.b, r.bad = nil, true
		return ""
	}
	s := string(r.b[:n])
	r.b = r.b[n:]
	return s
}

func (r *sizeReader) tensor(size int) *column.Tensor {
	dims := r.number(maxDims)
	if dims == 0 {
		return nil
	}
	t := newTensor(r.numbers(dims, maxListSize))
	if r.number(1) == 0 {
		r.bad = r.bad || t == nil || t.Shape[0] != size && itemsOf(t.Shape) != size
		return t
	}
	order := r.numbers(dims, dims-1)
	if t == nil || !isOrder(order, dims) || itemsOf(t.Shape) != size {
		r.bad = true
		return nil
	}
	t.Order = order
	return t
}
