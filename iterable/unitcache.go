package iterable

import (
	"container/list"
	"context"
	"sync"

	"github.com/shardfeed/shardfeed/internal/cause"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/wait"
	"github.com/shardfeed/shardfeed/iterable/internal/ahead"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A unitCache holds decoded units within a number of bytes, and drops the least recently used ones.
// Units that draws use are pinned: they stay. A draw takes the room for all its units at once, so
// two draws never wait for each other.
type unitCache struct {
	account *mem.Account
	room    int64
	cost    func(unit int32) int64
	begin   func(*heldUnit) // loads it, and calls loaded

	turn  chan struct{} // has a value while a draw takes room; others wait in line
	freed chan struct{} // signals the draw that waits for room
	done  chan struct{} // closed by close

	mu     sync.Mutex
	units  map[int32]*heldUnit
	used   int64      // bytes of all units: measured, or predicted while they are loaded
	idle   int64      // of those without pins
	recent *list.List // of *heldUnit without pins, used last first
	closed bool
	left   bool // the account is closed
}

// A heldUnit is a unit in the cache, or on its way there.
type heldUnit struct {
	unit  int32
	ready chan struct{} // closed when the unit is loaded, or failed

	// Guarded by the cache's mutex until ready.
	held  *ahead.Held
	err   error
	trail wait.Trail // the causes of its delay

	// Guarded by the cache's mutex.
	bytes int64
	pins  int
	at    *list.Element // in recent, without pins
}

// A unitPin is a unit that a draw uses.
type unitPin struct {
	unit int32
	held *heldUnit // nil before it is pinned
}

func newUnitCache(a *mem.Account, room int64, cost func(int32) int64, begin func(*heldUnit)) *unitCache {
	return &unitCache{
		account: a, room: room, cost: cost, begin: begin, turn: make(chan struct{}, 1), freed: make(chan struct{}, 1), done: make(chan struct{}),
		units: map[int32]*heldUnit{}, recent: list.New(),
	}
}

// pin gets the blocks of a draw's units, and keeps them until unpin.
func (c *unitCache) pin(ctx context.Context, d *Draw) error {
	d.Trail.Until(wait.Now(), wait.Collate)
	if err := c.admit(ctx, d); err != nil {
		return err
	}
	for _, p := range d.units {
		if err := p.held.await(ctx, d.Trail); err != nil {
			c.unpin(d.units)
			return err
		}
		d.Blocks = append(d.Blocks, p.held.held.Blocks[0])
	}
	return nil
}

// await waits until a unit is loaded, and adds what held it up meanwhile to a trail.
func (u *heldUnit) await(ctx context.Context, held *wait.Trail) error {
	select {
	case <-u.ready:
		return u.err
	default:
	}
	select {
	case <-u.ready:
		held.During(&u.trail, held.End(), wait.Now())
		return u.err
	case <-ctx.Done():
		return cause.Of(ctx)
	}
}

// admit pins a draw's units, and starts to load the missing ones, as soon as there is room
// for all of them. Draws are admitted in the order in which they came.
func (c *unitCache) admit(ctx context.Context, d *Draw) error {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return cause.Of(ctx)
	}
	for {
		if ok, err := c.tryAdmit(d); ok || err != nil {
			return err
		}
		select {
		case <-c.freed:
		case <-c.done:
		case <-ctx.Done():
			return cause.Of(ctx)
		}
	}
}

func (c *unitCache) tryAdmit(d *Draw) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false, errTakerClosed
	}
	var need, missing, idle int64
	for _, p := range d.units {
		u := c.units[p.unit]
		switch {
		case u == nil:
			n := c.cost(p.unit)
			need, missing = need+n, missing+n
			continue
		case u.pins == 0:
			idle += u.bytes
		}
		need += u.bytes
	}
	if need > c.room && missing > 0 {
		return false, &TakeError{Rows: d.Rows, Units: len(d.units), Need: need, Room: c.room}
	}
	if missing > 0 && c.used-(c.idle-idle)+missing > c.room {
		return false, nil
	}
	for i, p := range d.units {
		u := c.units[p.unit]
		if u != nil {
			c.pinLocked(u)
		}
		d.units[i].held = u
	}
	c.evictLocked(c.room - missing)
	d.Trail.Until(wait.Now(), wait.Room) // what follows is the wait for its units
	for i, p := range d.units {
		if p.held == nil {
			d.units[i].held = c.addLocked(p.unit)
		}
	}
	return true, nil
}

// addLocked starts loading a unit on behalf of the admitted draw; the caller holds c.mu.
func (c *unitCache) addLocked(unit int32) *heldUnit {
	u := &heldUnit{unit: unit, ready: make(chan struct{}), bytes: c.cost(unit), pins: 1}
	c.units[unit] = u
	c.used += u.bytes
	c.begin(u)
	return u
}

func (c *unitCache) pinLocked(u *heldUnit) {
	if u.pins++; u.at != nil {
		c.recent.Remove(u.at)
		u.at = nil
		c.idle -= u.bytes
	}
}

// unpin reports that a draw no longer uses its units.
func (c *unitCache) unpin(pins []unitPin) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, p := range pins {
		u := p.held
		if u.pins--; u.pins == 0 {
			c.restLocked(u)
		}
	}
	c.settleLocked()
}

// restLocked lists a unit that lost its last pin among the units that may be dropped, once it is
// loaded.
func (c *unitCache) restLocked(u *heldUnit) {
	if u.held == nil {
		return // loaded lists it, or has dropped it with its error
	}
	u.at = c.recent.PushFront(u)
	c.idle += u.bytes
}

// loaded is called once for each unit that begin was called for.
func (c *unitCache) loaded(u *heldUnit, held *ahead.Held, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used -= u.bytes
	if u.err = err; err != nil {
		delete(c.units, u.unit) // the next draw tries again
	} else {
		u.held, u.bytes = held, held.Bytes
		c.used += u.bytes
		if u.pins == 0 {
			c.restLocked(u)
		}
	}
	close(u.ready)
	c.settleLocked()
}

// settleLocked drops what is beyond the room, or everything once the cache is closed, and wakes the
// draw that waits for room.
func (c *unitCache) settleLocked() {
	most := c.room
	if c.closed {
		most = 0
	}
	c.evictLocked(most)
	if c.closed && len(c.units) == 0 && !c.left {
		c.left = true
		c.account.Close()
	}
	select {
	case c.freed <- struct{}{}:
	default:
	}
}

// yield lowers the room by n bytes for the sake of batches, as long as least is left and units that
// are not in use can go. It returns by how much it did.
func (c *unitCache) yield(n, least int64) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n = min(n, c.room-max(least, c.used-c.idle)); n <= 0 || c.closed {
		return 0
	}
	c.room -= n
	c.evictLocked(c.room)
	return n
}

// evictLocked drops units without pins until no more than most bytes are used.
func (c *unitCache) evictLocked(most int64) {
	for c.used > most && c.recent.Len() > 0 {
		u := c.recent.Remove(c.recent.Back()).(*heldUnit)
		delete(c.units, u.unit)
		c.idle -= u.bytes
		c.used -= u.bytes
		u.held.Release()
	}
}

// close drops all units. Those in use go with their draws. Later draws fail.
func (c *unitCache) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	close(c.done)
	c.settleLocked()
}

// wholeUnit is the span of all rows of a unit.
func wholeUnit(u shuffle.Unit) shuffle.Span { return shuffle.Span{To: u.Samples} }
