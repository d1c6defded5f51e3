package iterable

import (
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/mem"
)

// A stream begins as from a disk, goes wide at the first load that was read, and back when what
// comes is lent again.
func TestThrottleFollowsTheStore(t *testing.T) {
	var f, few throttle
	f.begin(64, 2)
	var loads []*load
	start := func() (n int) {
		for f.room() {
			l := &load{}
			f.start(l)
			loads = append(loads, l)
			n++
		}
		return n
	}
	if n := start(); n != localFetchers+2 {
		t.Errorf("%d loads at first", n)
	}
	f.learn(false)
	if n := start(); len(loads) != 66 {
		t.Errorf("%d loads more, %d in all, of a network", n, len(loads))
	}
	for range lentInRow {
		f.learn(true)
	}
	for _, l := range loads {
		if f.room() && f.loads.Load() >= localFetchers+2 {
			t.Fatalf("room beside %d loads that are lent", f.loads.Load())
		}
		f.land(l)
		f.land(l) // counts once
	}
	if n := f.loads.Load(); n != 0 {
		t.Errorf("%d loads are left", n)
	}
	if n := start(); n != localFetchers+2 {
		t.Errorf("%d loads that are lent", n)
	}
	few.begin(1, 1)
	if few.narrow != 2 || few.wide != 2 {
		t.Errorf("one fetcher, one decoder: %d and %d loads", few.narrow, few.wide)
	}
}

// Bytes are fetched far ahead of the memory for their blocks; what is needed gets that memory at
// once.
func TestFetchedAheadOfBlocks(t *testing.T) {
	d := sameGroups(t)
	var all []*load
	for g := range d.sources[0].manifest.Groups() {
		l := wholeGroup(d, g)
		l.wanted = []wanted{{key: key{span: int32(g)}, rows: 20}}
		all = append(all, l)
	}
	a, err := mem.NewBudget(0).Reserve(0, mem.Amounts{mem.Fetch: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	r := &readahead{manifest: d.sources[0].manifest, account: a, schedule: &listed{loads: all}}
	r.start(t.Context(), len(all), 2)
	defer r.close()
	waitFor(t, func() bool { return len(r.fetch) == 0 && a.Used()[mem.Fetch] > 0 && len(r.loads) >= 6 })
	for n := range len(all) {
		l := <-r.loads
		select {
		case <-l.ready:
			t.Fatalf("load %d has a block without memory for it", n)
		case <-time.After(5 * time.Millisecond):
		}
		r.want(l.number)
		<-l.ready
		if l.err != nil {
			t.Fatal(l.err)
		}
		r.releaseBlocks(l.blocks, l.sharedRows(), l.shared)
		r.discharge(l)
	}
	if used := a.Used(); used != (mem.Amounts{}) {
		t.Errorf("still taken: %v", used)
	}
}
