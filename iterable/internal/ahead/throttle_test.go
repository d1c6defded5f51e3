package ahead

import "testing"

// A stream begins as from a disk, goes wide at the first load that was read, and back when what
// comes is lent again.
func TestThrottleFollowsTheStore(t *testing.T) {
	var f, few throttle
	f.setLimits(64, 2)
	var loads []*Load
	start := func() (n int) {
		for f.room() {
			l := &Load{}
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
	few.setLimits(1, 1)
	if few.narrow != 2 || few.wide != 2 {
		t.Errorf("one fetcher, one decoder: %d and %d loads", few.narrow, few.wide)
	}
}
