package mem

import (
	"errors"
	"testing"
)

// A meter asks for what its arenas take beyond the allowance, before they take it.
func TestMeter(t *testing.T) {
	p := &Pool{}
	var m Meter
	asked, refuse := int64(0), error(nil)
	m.Allow(100<<10, func(n int64) error {
		if refuse == nil {
			asked += n
		}
		return refuse
	})
	a, b := m.NewArena(p), m.NewArena(p)
	a.Alloc(48 << 10)
	first := b.Alloc(36 << 10)
	if asked != 0 {
		t.Fatalf("asked for %d within the allowance", asked)
	}
	b.Grow(first, 200<<10)
	if held := a.Bytes() + b.Bytes(); asked < held-100<<10 || asked > 256<<10 {
		t.Errorf("asked for %d, held are %d", asked, held)
	}
	a.Leave()
	if before := asked; b.Alloc(64<<10) == nil || asked-before < 64<<10 {
		t.Errorf("asked for %d more: what has left still is of the allowance", asked-before)
	}
	refuse = errors.New("no")
	func() {
		defer func() {
			if e, ok := recover().(Exceeded); !ok || !errors.Is(e, refuse) {
				t.Errorf("recovered %v", e)
			}
		}()
		b.Alloc(10 << 20)
	}()
	a.Free()
	b.Free()
	if m.held != 0 || p.Stats().InUse != 0 {
		t.Errorf("%d bytes counted, %d in use", m.held, p.Stats().InUse)
	}
}
