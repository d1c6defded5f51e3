package bpe

import "math/bits"

const (
	idBits    = 20
	valueBits = 64 - 2*idBits
	maxID     = 1<<idBits - 2 // all bits set mark an empty slot
	noValue   = 1<<valueBits - 1
)

// pairs maps pairs of tokens to values, which are ranks or tokens. Values are less than noValue.
type pairs struct {
	slots []uint64 // left, right and value
	shift uint8
}

func newPairs(n int) pairs {
	k := bits.Len(uint(n)*5/3 | 63)
	p := pairs{slots: make([]uint64, 1<<k), shift: uint8(64 - k)}
	for i := range p.slots {
		p.slots[i] = ^uint64(0)
	}
	return p
}

func (p *pairs) hash(key uint64) uint64 { return key * 0x9e3779b97f4a7c15 >> (p.shift & 63) }

// set stores the value of a pair, in place of an older one.
func (p *pairs) set(left, right, value uint32) {
	key := uint64(left)<<idBits | uint64(right)
	i := p.hash(key)
	for p.slots[i] != ^uint64(0) && p.slots[i]>>valueBits != key {
		i = (i + 1) & uint64(len(p.slots)-1)
	}
	p.slots[i] = key<<valueBits | uint64(value)
}

// value returns the value of a pair, or noValue.
func (p *pairs) value(left, right uint32) uint32 {
	key := uint64(left)<<idBits | uint64(right)
	for i := p.hash(key); ; i++ {
		switch s := p.slots[i&uint64(len(p.slots)-1)]; {
		case s>>valueBits == key:
			return uint32(s & noValue)
		case s == ^uint64(0):
			return noValue
		}
	}
}
