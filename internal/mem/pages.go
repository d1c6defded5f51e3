package mem

import "time"

const (
	slowPage   = time.Millisecond // for a huge page; one that is free takes a third of it, small pages of as many bytes two thirds
	slowRun    = 3                // huge pages in a row that are slow before small ones are used
	leastPause = 64 << 20         // bytes with small pages, before huge ones are tried again
	mostPause  = 4 << 30
)

// pages chooses the size of the pages of new mappings. Huge pages make reads faster. But a system
// without free ones compacts memory first, and the host of a virtual machine may have to find the
// memory; both take longer than small pages. So the first page of each mapping is timed.
type pages struct {
	slow  int   // huge pages in a row
	pause int64 // bytes that still get small pages
	last  int64 // the length of the last pause
}

// huge reports whether a mapping of n bytes should get huge pages.
func (p *pages) huge(n int) bool {
	if p.pause > 0 {
		p.pause -= int64(n)
		return false
	}
	return true
}

// took notes how long the first touch of a huge page took.
func (p *pages) took(d time.Duration) {
	if d < slowPage {
		*p = pages{}
		return
	}
	if p.slow++; p.slow >= slowRun {
		p.slow = slowRun - 1 // one more ends the next try
		p.last = min(max(leastPause, 2*p.last), mostPause)
		p.pause = p.last
	}
}

// A mapping is memory of a pool that is unmapped as a whole.
type mapping struct {
	whole []byte // what unmap takes
	b     []byte
	small bool // has small pages
}

// newMapping maps n bytes for a pool, whose callers have asked the account first.
func (p *pages) newMapping(n, align int) mapping {
	whole, b, err := mapAligned(n, align)
	if err != nil {
		panic("mem: out of address space: " + err.Error())
	}
	m := mapping{whole: whole, b: b, small: true}
	if p.huge(n) {
		m.advise()
	}
	return m
}

// advise asks for huge pages. Small pages that are there become huge ones in the background, where
// the system does so.
func (m *mapping) advise() {
	if m.small {
		m.small = false
		adviseHuge(m.b)
	}
}
