package footer

import (
	"context"
	"sync"
)

// flights let those who want the same thing at the same time have it from the first of them, who
// gets it. The zero value works.
type flights[V any] struct {
	mu       sync.Mutex
	underWay map[string]*flight[V]
}

// A flight is a thing that somebody is getting.
type flight[V any] struct {
	landed chan struct{}
	value  V    // set once landed is closed
	ok     bool // there is a value
}

// claim returns the flight of a key. If mine is true, the caller must get the value and call land,
// before it waits for any other flight.
func (f *flights[V]) claim(key string) (one *flight[V], mine bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if one = f.underWay[key]; one != nil {
		return one, false
	}
	if f.underWay == nil {
		f.underWay = map[string]*flight[V]{}
	}
	one = &flight[V]{landed: make(chan struct{})}
	f.underWay[key] = one
	return one, true
}

// land ends a flight. Those who wait share the value, or, when ok is false, get the thing
// themselves.
func (f *flights[V]) land(key string, one *flight[V], value V, ok bool) {
	f.mu.Lock()
	delete(f.underWay, key)
	f.mu.Unlock()
	one.value, one.ok = value, ok
	close(one.landed)
}

// wait waits for the value that another caller gets, and reports whether it arrived. It returns the
// error of ctx if that ends first.
func (one *flight[V]) wait(ctx context.Context) (value V, ok bool, err error) {
	select {
	case <-one.landed:
		return one.value, one.ok, nil
	case <-ctx.Done():
		return value, false, ctx.Err()
	}
}
