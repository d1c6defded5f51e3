package trie

import (
	"errors"
	"fmt"
)

// None is the value of a text that is not a key.
const None = -1

// A Trie maps texts to numbers.
type Trie struct{ units []unit }

// A unit is a node. head has the node's base in its upper 23 bits, then whether it is used, and the
// last byte of the node's text.
type unit struct {
	head  uint32
	value int32
}

const (
	labelBits = 8
	used      = 1 << labelBits
	baseShift = labelBits + 1
	labels    = 1 << labelBits
	maxUnits  = 1 << (32 - baseShift)
	childMask = 1<<baseShift - 1
)

// A Node is a text that some key starts with.
type Node struct{ base uint32 }

// Root returns the node of the empty text.
func (t *Trie) Root() Node { return Node{t.units[0].head >> baseShift} }

// Step returns the node of n's text and b, and the value of that text. ok is false if no key starts
// with it.
func (t *Trie) Step(n Node, b byte) (next Node, value int32, ok bool) {
	u := t.units[n.base^uint32(b)]
	return Node{u.head >> baseShift}, u.value, u.head&childMask == used|uint32(b)
}

// Walk returns the node of a text. ok is false if no key starts with it.
func (t *Trie) Walk(text string) (n Node, ok bool) {
	n, ok = t.Root(), true
	for i := 0; i < len(text) && ok; i++ {
		n, _, ok = t.Step(n, text[i])
	}
	return n, ok
}

// Memory returns the bytes that the trie takes.
func (t *Trie) Memory() int64 { return 8 * int64(len(t.units)) }

var errSize = errors.New("the vocabulary is too long: its trie would have more than 8,388,608 nodes")

// New returns the trie of keys and their values, which are not negative. Of equal keys the last one
// counts; an empty key is left out.
func New(keys []string, values []int32) (*Trie, error) {
	if len(keys) != len(values) {
		return nil, fmt.Errorf("%d keys have %d values", len(keys), len(values))
	}
	b := newBuilder(keys, values)
	if !b.build() {
		return nil, errSize
	}
	return &Trie{b.units}, nil
}
