package rule

import (
	"fmt"

	"github.com/shardfeed/shardfeed/column"
)

// A part by key has the rows whose key hashes into its range, so rows of one key are in one part,
// and stay there when shards are added. The hash is hash(key, seed) over the bytes that the package
// documentation lists; a null hashes like an empty string. Its top 20 bits choose the part among
// the cumulated weights, the next 20 the sample.
const keyBits = 20

// CheckKey returns an error if a column cannot be a key: lists, structs and maps cannot.
func CheckKey(f *column.Field) error {
	if f.Kind == column.List || f.Kind == column.Struct || f.Kind == column.Map {
		return wrong("PartKey", nil, "must be a column of single values, got %q, which is %v", f.Name, f)
	}
	return nil
}

// ByKey clears the bits of the rows of a block that are not of the part by the values of their key.
func (m *Marker) ByKey(key Column, rows int, keep []uint64) error {
	if m.part.All() {
		return nil
	}
	if err := checkInput(&key, rows, CheckKey); err != nil {
		return err
	}
	words := wordsFor(rows)
	m.mask, m.present = sized(m.mask, words), sized(m.present, words)
	key.present(m.present, rows)
	if key.allNull() {
		clear(m.mask)
	} else {
		m.keys.resize(rows)
		m.keys.matches(keyMatch{m.part}, &key, m.mask, m.present)
	}
	var nulls uint64
	if m.part.hasHash(hash64(m.part.split.Seed, nil)) {
		nulls--
	}
	for w := range words {
		keep[w] &= m.mask[w]&m.present[w] | nulls&^m.present[w]
	}
	return nil
}

// checkInput returns an error for a column without values for the rows, or of an unusable type.
func checkInput(c *Column, rows int, usable func(f *column.Field) error) error {
	if c.Values == nil {
		return fmt.Errorf("a column has no values")
	}
	if err := usable(c.Values.Field); err != nil {
		return err
	}
	return c.check(&Input{Path: []string{c.Values.Field.Name}, Field: c.Values.Field}, rows)
}

// sized returns words with a length of n and undefined bits.
func sized(words []uint64, n int) []uint64 {
	if cap(words) < n {
		return make([]uint64, n)
	}
	return words[:n]
}

// keyMatch tests whether values are of a part.
type keyMatch struct{ part *Part }

func (m keyMatch) match(dst, mask []uint64, a *column.Array) {
	of := hasher(a, m.part.split.Seed)
	eachRow(dst, mask, a.Len, func(i int) bool { return m.part.hasHash(of(i)) })
}

func (keyMatch) within(_, _ []byte) (none, all bool) { return false, false }
func (keyMatch) members() [][]byte                   { return nil }

// hasHash reports whether the part has the keys of a hash.
func (p *Part) hasHash(h uint64) bool {
	if p.ratio != nil {
		x := int64(h >> (64 - keyBits))
		for _, w := range p.ratio.Weights()[:p.at] {
			x -= w
		}
		if x < 0 || x >= p.ratio.Weights()[p.at] {
			return false
		}
	}
	return p.sample == nil || int64(h>>(64-2*keyBits)&(1<<keyBits-1)) < p.sample.Weights()[0]
}
