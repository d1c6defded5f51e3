package mem

import (
	"fmt"
	"math/bits"
	"sync"
	"time"
)

const (
	minClass  = 32 << 10 // smallest buffer
	hugePage  = 2 << 20
	idleFloor = 32 << 20 // idle bytes that are always kept where Pool.Keep does not say
	idleShare = 8        // beyond the floor, idle bytes are kept up to 1/idleShare of those in use
)

// A Pool keeps buffers for reuse, in classes of four sizes to a doubling. It is safe for concurrent
// use. The zero value works.
type Pool struct {
	// Keep is the idle bytes that are always kept for reuse; 0 means 32 MiB. It is set before the
	// first use.
	Keep int64

	// Limit bounds the bytes in use, if it is not 0: Get panics with an [Exceeded] beyond it. It is
	// set before the first use.
	Limit int64

	budget *Budget // see NewPool; may be nil

	mu     sync.Mutex
	free   map[int][][]byte   // by class size, from hugePage on
	mapped map[*byte]*mapping // of each buffer of hugePage or more
	slabs  slabs              // of the smaller ones
	pages  pages
	inUse  int64
	idle   int64 // of buffers and slabs that can be unmapped
	peak   int64 // in use since giveUp
}

// Stats reports the bytes that a pool holds.
type Stats struct {
	InUse, Idle, Peak int64
}

// Stats returns what the pool holds now. Peak is the most that was in use.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Stats{InUse: p.inUse, Idle: p.idle, Peak: p.peak}
}

// Get returns a buffer of at least n bytes, page-aligned, of any content. Its capacity is the size
// of its class.
func (p *Pool) Get(n int) []byte {
	c := classOf(n)
	b, huge := p.take(c)
	if huge {
		began := time.Now()
		b[0] = 0
		p.touched(time.Since(began))
	}
	return b[:n]
}

// take returns a buffer of class c. huge reports whether it starts a new huge page.
func (p *Pool) take(c int) (b []byte, huge bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.free == nil {
		p.free, p.mapped = map[int][][]byte{}, map[*byte]*mapping{}
	}
	if p.Limit > 0 && p.inUse+int64(c) > p.Limit {
		panic(Exceeded{Need: p.inUse + int64(c), Limit: p.Limit})
	}
	b = p.idleLocked(c)
	if b == nil {
		b, huge = p.freshLocked(c)
	}
	p.inUse += int64(cap(b))
	p.peak = max(p.peak, p.inUse)
	return b, huge
}

func (p *Pool) touched(took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pages.took(took)
}

// An Exceeded is the panic of a pool, or of a meter's arena, that would exceed its limit.
type Exceeded struct {
	Need, Limit int64
	Err         error // why a meter refused them
}

func (e Exceeded) Unwrap() error { return e.Err }

func (e Exceeded) Error() string {
	return fmt.Sprintf("%s of memory are needed, the limit is %s", Bytes(e.Need), Bytes(e.Limit))
}

// Put gives a buffer of Get back. It must have kept its capacity.
func (p *Pool) Put(b []byte) {
	b = b[:cap(b)]
	p.mu.Lock()
	defer p.mu.Unlock()
	p.inUse -= int64(len(b))
	switch {
	case len(b) >= hugePage:
		p.mapped[&b[0]].advise()
		p.free[len(b)] = append(p.free[len(b)], b)
		p.idle += int64(len(b))
	case p.slabs.put(b):
		p.idle += slabBytes
	default:
		return
	}
	p.trimLocked(p.keepLocked())
}

// keepLocked is how many idle bytes are kept. New memory is cleared by the kernel, which takes as
// long as to copy it: so the next load gets what the last one gave back, and the next epoch what
// the last one had. The pool never becomes larger than it was. Without a budget, which could ask
// for the memory, most of it must be in use.
func (p *Pool) keepLocked() int64 {
	keep := p.Keep
	if keep == 0 {
		keep = idleFloor
	}
	again := p.peak - p.inUse + keep
	if p.budget == nil {
		again = min(p.inUse, again)
	}
	return max(keep, p.inUse/idleShare, again)
}

// Trim unmaps idle buffers until at most keep bytes of them are left.
func (p *Pool) Trim(keep int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.trimLocked(keep)
}

// giveUp unmaps the idle buffers and forgets how much was in use.
func (p *Pool) giveUp() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.peak = p.inUse
	p.trimLocked(0)
}

// Close unmaps the idle buffers and takes the pool from its budget. What comes back later is kept
// as in any other pool.
func (p *Pool) Close() {
	p.mu.Lock()
	budget := p.budget
	p.budget = nil
	p.trimLocked(0)
	p.mu.Unlock()
	if budget != nil {
		budget.leave(p)
	}
}

// idleLocked finds an idle buffer of class c or of the next two, or returns nil.
func (p *Pool) idleLocked(c int) []byte {
	for try, k := 0, c; try < 3; try, k = try+1, classOf(k+1) {
		if l := p.free[k]; len(l) > 0 {
			b := l[len(l)-1]
			p.free[k] = l[:len(l)-1]
			p.idle -= int64(k)
			return b
		}
		if b := p.slabs.take(k); b != nil {
			return b
		}
	}
	if c >= hugePage || len(p.slabs.spare) == 0 {
		return nil
	}
	p.idle -= slabBytes
	return p.slabs.begin(c)
}

// freshLocked maps a buffer of class c. huge reports whether it starts with a huge page.
func (p *Pool) freshLocked(c int) (b []byte, huge bool) {
	if c < hugePage {
		huge = p.slabs.add(&p.pages)
		return p.slabs.begin(c), huge
	}
	m := p.pages.newMapping(c, hugePage)
	p.mapped[&m.b[0]] = &m
	return m.b, !m.small
}

// trimLocked unmaps the largest idle buffers and slabs first.
func (p *Pool) trimLocked(keep int64) {
	for p.idle > keep {
		largest := 0
		for c, l := range p.free {
			if len(l) > 0 {
				largest = max(largest, c)
			}
		}
		if largest < slabBytes && len(p.slabs.spare) > 0 {
			p.slabs.unmapSpare()
			p.idle -= slabBytes
			continue
		}
		l := p.free[largest]
		b := l[len(l)-1]
		p.free[largest] = l[:len(l)-1]
		p.idle -= int64(largest)
		unmap(p.mapped[&b[0]].whole)
		delete(p.mapped, &b[0])
	}
}

// Map returns n zeroed bytes outside of Go's heap, page-aligned, for a single large buffer. free
// gives them back.
func Map(n int) (b []byte, free func(), err error) {
	whole, b, err := mapAligned(n, 4<<10)
	if err == nil {
		adviseHuge(b)
	}
	return b, func() { unmap(whole) }, err
}

// ClassBytes is the capacity of a new buffer of n bytes, for those who plan ahead.
func ClassBytes(n int64) int64 { return int64(classOf(int(n))) }

// HeldBytes returns the part of the pool's mappings that a new buffer of n bytes uses: its class,
// or its share of a slab.
func HeldBytes(n int64) int64 {
	c := int64(classOf(int(n)))
	if c >= hugePage {
		return c
	}
	return slabBytes / (slabBytes / c)
}

// classOf rounds n up to a multiple of a quarter of the power of two below it.
func classOf(n int) int {
	if n <= minClass {
		return minClass
	}
	step := 1 << (bits.Len(uint(n-1)) - 3)
	return (n + step - 1) &^ (step - 1)
}
