package mem

import (
	"testing"
	"time"
)

// Huge pages that are slow to come are left out, for longer each time, until one is quick.
func TestPagesLeaveOutSlowOnes(t *testing.T) {
	const region = 4 << 20
	var p pages
	try := func(took time.Duration) { // maps until a huge page is tried, and times it
		t.Helper()
		for range mostPause / region {
			if p.huge(region) {
				p.took(took)
				return
			}
		}
		t.Fatal("huge pages are never tried again")
	}
	smalls := func() (n int64) { // bytes with small pages before the next try
		for !p.huge(region) {
			n += region
		}
		p.took(slowPage)
		return n
	}
	for range slowRun - 1 {
		try(slowPage)
	}
	try(slowPage / 4) // one that is quick: the ones before were chance
	for i := range slowRun {
		if p.pause > 0 {
			t.Fatalf("small pages after %d slow ones", i)
		}
		try(slowPage)
	}
	for _, want := range []int64{leastPause, 2 * leastPause, 4 * leastPause} {
		if got := smalls(); got != want {
			t.Errorf("%d MiB with small pages, want %d", got>>20, want>>20)
		}
	}
	try(slowPage / 4)
	if p != (pages{}) {
		t.Errorf("a quick page leaves %+v", p)
	}
}

// Without huge pages the pool hands out the same memory, and asks for huge ones when it comes back.
func TestPoolWithSmallPages(t *testing.T) {
	p := Pool{pages: pages{pause: 1 << 40}}
	for _, n := range []int{100 << 10, 3 << 20} {
		b := p.Get(n)
		for i := range b {
			b[i] = byte(i)
		}
		for i := range b {
			if b[i] != byte(i) {
				t.Fatalf("byte %d of %d changed", i, n)
			}
		}
		p.Put(b)
	}
	for _, m := range p.mapped {
		if m.small {
			t.Error("a buffer that came back was not advised")
		}
	}
	for _, s := range p.slabs.at {
		if s.small {
			t.Error("a slab that came back was not advised")
		}
	}
	p.Trim(0)
}
