package wait

import (
	"context"
	"sync"
)

// A Probe records why a load has no bytes yet: Storage while it waits for a request to a store,
// else another cause. It travels in the load's context to the stores, and adds pieces to
// the load's trail. Its methods are safe for concurrent use, and do nothing for a nil Probe.
type Probe struct {
	mu       sync.Mutex
	trail    *Trail // nil after Stop
	requests int    // under way
	idle     Cause  // without one
}

// NewProbe returns a probe that adds to a trail until Stop. Time without a request counts for idle.
func NewProbe(trail *Trail, idle Cause) *Probe {
	trail.Next(idle)
	return &Probe{trail: trail, idle: idle}
}

type probeKey struct{}

// With returns a context that carries a probe.
func With(ctx context.Context, p *Probe) context.Context {
	return context.WithValue(ctx, probeKey{}, p)
}

// ProbeOf returns the probe of a context, or nil.
func ProbeOf(ctx context.Context) *Probe {
	p, _ := ctx.Value(probeKey{}).(*Probe)
	return p
}

// Start reports that a request starts, or a wait for the request of another load.
func (p *Probe) Start() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.requests == 0 {
		p.markLocked(p.idle, Storage)
	}
	p.requests++
}

// End reports that a request ended.
func (p *Probe) End() { p.EndAt(0) }

// EndAt reports that a request ended at a time of Now; 0 is now.
func (p *Probe) EndAt(t int64) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.requests--; p.requests > 0 || p.trail == nil {
		return
	}
	if t == 0 {
		t = Now()
	}
	p.trail.Until(t, Storage)
	p.trail.Next(p.idle)
}

// Idle sets the cause of time without a request from now on, and returns the one before.
func (p *Probe) Idle(c Cause) (before Cause) {
	if p == nil {
		return c
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.requests == 0 && c != p.idle {
		p.markLocked(p.idle, c)
	}
	before, p.idle = p.idle, c
	return before
}

// Stop ends the last piece. The trail is the caller's from then on.
func (p *Probe) Stop() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.idle
	if p.requests > 0 {
		c = Storage
	}
	p.markLocked(c, c)
	p.trail = nil
}

// markLocked ends a piece with a cause, and gives the next one its cause.
func (p *Probe) markLocked(c, next Cause) {
	if p.trail != nil {
		p.trail.Until(Now(), c)
		p.trail.Next(next)
	}
}
