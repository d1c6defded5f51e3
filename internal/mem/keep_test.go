package mem

import (
	"fmt"
	"testing"
)

// A pool keeps idle buffers up to Keep, and unmaps what is beyond.
func TestPoolKeep(t *testing.T) {
	for _, c := range []struct{ keep, idle int64 }{{0, idleFloor}, {8 << 20, 8 << 20}, {64 << 20, 64 << 20}} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			p := &Pool{Keep: c.keep}
			var bufs [][]byte
			for range 40 {
				bufs = append(bufs, p.Get(hugePage))
			}
			for _, b := range bufs {
				p.Put(b)
			}
			if got := p.Stats().Idle; got != c.idle {
				t.Errorf("Keep %d: %d idle bytes, want %d", c.keep, got, c.idle)
			}
		})
	}
}
