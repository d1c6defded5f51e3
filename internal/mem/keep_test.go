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

// While most of its peak is in use, a pool unmaps nothing: the next load needs what the last one
// gave back. It never holds more than the peak and what it always keeps.
func TestPoolKeepsWhatLoadsTakeInTurn(t *testing.T) {
	p := &Pool{Keep: 4 << 20}
	bufs := make([][]byte, 40)
	for i := range bufs {
		bufs[i] = p.Get(hugePage)
	}
	peak := p.Stats().Peak
	for range 3 {
		for _, some := range [][][]byte{bufs[:20], bufs[10:30]} { // half of it comes back, and is taken again
			for _, b := range some {
				p.Put(b)
			}
			if s := p.Stats(); s.Idle != 20*hugePage || s.InUse+s.Idle > peak+p.Keep {
				t.Fatalf("%d bytes in use and %d idle after a peak of %d, want %d idle", s.InUse, s.Idle, peak, 20*hugePage)
			}
			for i := range some {
				some[i] = p.Get(hugePage)
			}
		}
	}
	for _, b := range bufs {
		p.Put(b)
	}
	if s := p.Stats(); s.InUse != 0 || s.Idle != p.Keep {
		t.Errorf("%d bytes in use and %d idle at the end, want %d idle", s.InUse, s.Idle, p.Keep)
	}
}

// With a budget a pool keeps what an epoch had for the next one, and no more than that: until a
// reservation needs the room, or Close.
func TestPoolKeepsEpochsForItsBudget(t *testing.T) {
	const epoch = 100 << 20
	budget := NewBudget(4 * epoch)
	p := budget.NewPool(0)
	fill := func() {
		var bufs [][]byte
		for sum := 0; sum < epoch; sum += hugePage {
			bufs = append(bufs, p.Get(hugePage))
		}
		for _, b := range bufs {
			p.Put(b)
		}
	}
	reserve := func(n int64) *Account {
		a, err := budget.Reserve(0, Amounts{Shuffle: n})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	first := reserve(epoch)
	fill()
	first.Close()
	for range 3 { // the next epochs
		a := reserve(epoch)
		fill()
		a.Close()
		if s := p.Stats(); s.InUse != 0 || s.Idle != epoch {
			t.Fatalf("between epochs: %+v, want %d idle", s, epoch)
		}
	}
	other := reserve(3 * epoch) // fits beside it
	if s := p.Stats(); s.Idle != epoch {
		t.Errorf("%d bytes idle, though there is room for them", s.Idle)
	}
	more := reserve(1)
	if s := p.Stats(); s.Idle != 0 {
		t.Errorf("%d bytes idle, though another stream has reserved their room", s.Idle)
	}
	p.Put(p.Get(hugePage))
	if s := p.Stats(); s.Idle != hugePage {
		t.Errorf("%d bytes idle after the pool gave up its peak", s.Idle)
	}
	other.Close()
	more.Close()
	fill()
	late := p.Get(hugePage)
	p.Close()
	if s := p.Stats(); s.Idle != 0 || len(budget.pools) != 0 {
		t.Errorf("%d bytes idle after Close, %d pools known", s.Idle, len(budget.pools))
	}
	p.Put(late)
	fill()
	if s := p.Stats(); s.Idle > idleFloor {
		t.Errorf("%d bytes idle in a pool that is closed", s.Idle)
	}
}
