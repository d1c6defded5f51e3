package wait_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/wait"
)

// A probe adds Storage while any request is under way, and the idle cause else.
func TestProbe(t *testing.T) {
	var trail wait.Trail
	p := wait.NewProbe(&trail, wait.Storage)
	tick := func() { time.Sleep(2 * time.Millisecond) }
	tick()
	if before := p.Idle(wait.Cache); before != wait.Storage {
		t.Errorf("idle was %v", before)
	}
	tick()
	p.Start()
	tick()
	p.Start()
	p.End()
	p.Idle(wait.Decode) // changes nothing before the request ends
	tick()
	p.End()
	tick()
	p.Start()
	tick()
	p.Stop()
	p.End()
	want := []wait.Cause{wait.Storage, wait.Cache, wait.Storage, wait.Decode, wait.Storage}
	marks := trail.Marks()
	if len(marks) != len(want) {
		t.Fatalf("%v, want %v", marks, want)
	}
	for i, m := range marks {
		if m.Cause != want[i] {
			t.Errorf("piece %d is %v, want %v", i, m.Cause, want[i])
		}
	}
}

// Without a probe nothing is done, allocated or locked.
func TestProbeOfNone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if n := testing.AllocsPerRun(100, func() {
		p := wait.ProbeOf(ctx)
		p.Start()
		p.Idle(wait.Cache)
		p.End()
		p.Stop()
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
	var trail wait.Trail
	p := wait.NewProbe(&trail, wait.Cache)
	if wait.ProbeOf(wait.With(ctx, p)) != p {
		t.Error("the context does not carry the probe")
	}
}

// Requests of many goroutines leave a trail whose times ascend.
func TestProbeConcurrent(t *testing.T) {
	var trail wait.Trail
	p := wait.NewProbe(&trail, wait.Cache)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				p.Start()
				p.End()
			}
		})
	}
	wg.Wait()
	p.Stop()
	last := int64(0)
	for _, m := range trail.Marks() {
		if m.End <= last {
			t.Errorf("%v ends at or before %d", m, last)
		}
		last = m.End
	}
}
