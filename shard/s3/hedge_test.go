package s3

import (
	"bytes"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/servertest"
)

// TestServerOneWriter: of two requests for the same bytes, the one that lost never writes, not even
// when its answer comes in the end.
func TestServerOneWriter(t *testing.T) {
	r := newRig(t, 256<<10, Options{HedgeAfter: 100 * time.Millisecond})
	r.proxy.Use(&servertest.Rule{Times: 1, Delay: 3 * time.Second, Body: func(b []byte) []byte { return make([]byte, len(b)) }})
	p := make([]byte, len(r.content))
	if err := r.object.ReadAt(t.Context(), p, 0); err != nil {
		t.Fatal(err)
	}
	for r.proxy.InFlight() > 0 { // until the late answer has come, or is not awaited any more
		time.Sleep(time.Millisecond)
	}
	time.Sleep(50 * time.Millisecond) // in which a late writer would write
	if tr := r.store.Traffic(); !bytes.Equal(p, r.content) || tr.Hedges != 1 {
		t.Errorf("wrong bytes, or %+v", tr)
	}
}

// TestServerLoserGivesWay: of two requests for the same bytes, the one that lost leaves its place
// to others while the winner's body comes.
func TestServerLoserGivesWay(t *testing.T) {
	r := newRig(t, 256<<10, Options{HedgeAfter: 100 * time.Millisecond, MaxRequests: 2})
	late, slow := servertest.SlowFirstByte(time.Minute), servertest.StallBody(64<<10, 4*time.Second)
	late.Times, slow.Times = 1, 1
	r.proxy.Use(late, slow)
	var wg sync.WaitGroup
	defer wg.Wait()
	var whole atomic.Bool
	wg.Go(func() {
		if err := r.readAll(t, 1); err != nil {
			t.Error(err)
		}
		whole.Store(true)
	})
	for r.store.Traffic().ReadBytes < 64<<10 {
		time.Sleep(time.Millisecond)
	}
	if err := r.object.ReadAt(t.Context(), make([]byte, 10), 0); err != nil || whole.Load() {
		t.Errorf("%v; the winner's body had come: %t", err, whole.Load())
	}
	if tr := r.store.Traffic(); tr.Hedges < 1 || late.Struck() != 1 || slow.Struck() != 1 {
		t.Errorf("%+v; the first was late %d times, the second slow %d times", tr, late.Struck(), slow.Struck())
	}
}
