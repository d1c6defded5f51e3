package mem

import (
	"context"
	"slices"
	"time"
)

// A Turn is one batch's place in the line for memory beyond its share of the reservation. Turns are
// served in the order in which they were taken, so that a batch never waits for memory that a later
// one holds. It is safe for concurrent use.
type Turn struct {
	account *Account
	late    bool // joins the line with its first Grow
	made    bool // takes nothing more
	over    bool // holds nothing more
}

// Turn takes the next place in the line.
func (a *Account) Turn() *Turn {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := &Turn{account: a, late: a.unordered}
	if !t.late {
		a.turns = append(a.turns, t)
	}
	return t
}

// Unordered makes turns take their place with their first Grow: for batches that may wait for later
// ones before that.
func (a *Account) Unordered() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.unordered = true
}

// stuckAfter is how often stuck must be true in a row before a wait ends, and stuckEvery how often
// it is asked.
const (
	stuckAfter = 100
	stuckEvery = 50 * time.Millisecond
)

// Grow takes n bytes of a purpose beyond the batch's share of the reservation. While little memory
// is left it waits for earlier batches: until they are made, and until at most one of them has
// memory, since a consumer keeps one batch until it gets the next. If there is no room then, it
// evicts what is held for later, and returns a [FullError] if that is not enough. stuck reports
// whether the consumer waits and frees nothing; nil is never.
func (t *Turn) Grow(ctx context.Context, p Purpose, n int64, stuck func() bool) error {
	ticks := 0
	for {
		changed, err := t.try(p, n, ticks >= stuckAfter)
		if err != nil && t.account.stretch(p, n) {
			continue
		}
		if changed == nil && err != nil {
			return t.evict(ctx, p, n, err)
		}
		if changed == nil {
			return err
		}
		select {
		case <-changed:
		case <-time.After(stuckEvery):
			if ticks++; stuck == nil || !stuck() {
				ticks = 0
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// evict takes the bytes after what is held for later, or returns why they do not fit.
func (t *Turn) evict(ctx context.Context, p Purpose, n int64, err error) error {
	a := t.account
	defer a.beginEviction()()
	for err != nil && a.makeRoom(ctx, n) {
		_, err = t.try(p, n, true)
	}
	return err
}

// try takes the bytes, refuses them, or returns what to wait for.
func (t *Turn) try(p Purpose, n int64, last bool) (changed chan struct{}, err error) {
	a := t.account
	a.mu.Lock()
	defer a.mu.Unlock()
	if t.late {
		t.late, a.turns = false, append(a.turns, t)
	}
	before, head := t.beforeLocked()
	if head || a.plentyLocked(p, n) {
		err := a.growLocked(p, n)
		if err == nil {
			return nil, nil
		}
		if head && (before <= 1 || last) {
			return nil, t.fullLocked(p, n, before)
		}
		if a.changed == nil {
			a.changed = make(chan struct{})
		}
		return a.changed, err
	}
	if a.changed == nil {
		a.changed = make(chan struct{})
	}
	return a.changed, nil
}

// beforeLocked counts the earlier batches that have memory. head reports whether all of them are
// made.
func (t *Turn) beforeLocked() (n int, head bool) {
	for _, o := range t.account.turns {
		if o == t {
			break
		}
		if n++; !o.made {
			return n, false
		}
	}
	return n, true
}

// plentyLocked reports whether n more bytes leave half of the memory for growth.
func (a *Account) plentyLocked(p Purpose, n int64) bool {
	used, room := a.roomLocked(p)
	added := max(0, used+n-room)
	return added <= a.growableLocked()-(a.grown.Total()+a.growableLocked())/2
}

func (t *Turn) fullLocked(p Purpose, n int64, before int) error {
	a := t.account
	others := a.reserved
	others[p] -= a.grown[p]
	return &FullError{Bytes: n, Room: max(0, a.reserved[p]-a.used[p]+a.freeLocked()), Held: a.used[p], Batches: before, Limit: a.limit, Reserved: others}
}

// Made reports that the batch takes no more memory.
func (t *Turn) Made() {
	a := t.account
	a.mu.Lock()
	defer a.mu.Unlock()
	t.made = true
	a.wakeLocked()
}

// Over takes a batch whose memory is free out of the line. It may be called twice.
func (t *Turn) Over() {
	a := t.account
	a.mu.Lock()
	defer a.mu.Unlock()
	if !t.over {
		t.over, t.made = true, true
		a.turns = slices.DeleteFunc(a.turns, func(o *Turn) bool { return o == t })
		a.wakeLocked()
	}
}

// A FullError refuses memory to a batch that outgrows what its stream may hold.
type FullError struct {
	Bytes    int64   // that were asked for
	Room     int64   // what there is for them
	Held     int64   // of the purpose, by this batch and others
	Batches  int     // earlier ones that still have memory
	Limit    int64   // of the stream; no limit if 0 or less
	Reserved Amounts // before anything was added
}

func (e *FullError) Error() string {
	return "a batch needs " + Bytes(e.Bytes).String() + " more, and " + Bytes(max(0, e.Room)).String() + " are left"
}
