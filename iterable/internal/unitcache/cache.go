package unitcache

import (
	"container/list"
	"context"
	"fmt"
	"sync"

	"github.com/shardfeed/shardfeed/internal/cause"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/wait"
	"github.com/shardfeed/shardfeed/iterable/internal/ahead"
	"github.com/shardfeed/shardfeed/rowgroup"
)

// A Cache holds decoded units within a number of bytes, and drops the least recently used ones.
// Units that draws use are pinned: they stay. A draw takes the room for all its units at once, so
// two draws never wait for each other. A Cache is safe for concurrent use.
type Cache struct {
	account *mem.Account
	room    int64
	cost    func(unit int32) int64
	load    func(*Unit) // does not wait, and calls Loaded

	turn  chan struct{} // has a value while a draw takes room; others wait in line
	freed chan struct{} // signals the draw that waits for room

	mu     sync.Mutex
	units  map[int32]*Unit
	used   int64      // bytes of all units: measured, or predicted while they are loaded
	idle   int64      // of those without pins
	recent *list.List // of *Unit without pins, used last first
	closed error      // what later draws fail with; nil while it is open
	left   bool       // the account is closed
}

// A Unit is a unit in the cache, or on its way there.
type Unit struct {
	Number int32
	ready  chan struct{} // closed when the unit is loaded, or failed

	// Guarded by the cache's mutex until ready.
	Trail wait.Trail // the causes of its delay
	held  *ahead.Held
	err   error

	// Guarded by the cache's mutex.
	bytes int64
	pins  int
	at    *list.Element // in recent, without pins
}

// A Pin is a unit that a draw uses.
type Pin struct {
	Unit int32
	held *Unit // nil before it is pinned
}

// A RoomError reports that the units of one draw take more than there is room for.
type RoomError struct{ Need, Room int64 }

func (e *RoomError) Error() string {
	return fmt.Sprintf("units of %v, and room for %v", mem.Bytes(e.Need), mem.Bytes(e.Room))
}

// New returns a cache of room bytes of an account, which it closes. cost predicts the bytes of a
// unit. load starts to load one without waiting, and has Loaded called once.
func New(a *mem.Account, room int64, cost func(unit int32) int64, load func(*Unit)) *Cache {
	return &Cache{
		account: a, room: room, cost: cost, load: load, turn: make(chan struct{}, 1), freed: make(chan struct{}, 1),
		units: map[int32]*Unit{}, recent: list.New(),
	}
}

// Pin appends the blocks of a draw's units to blocks, a block for each, and keeps them until Unpin.
// It adds what held them up to trail. It fails with a [RoomError] if there is never room for all.
func (c *Cache) Pin(ctx context.Context, pins []Pin, trail *wait.Trail, blocks []*rowgroup.Block) ([]*rowgroup.Block, error) {
	trail.Until(wait.Now(), wait.Collate)
	if err := c.admit(ctx, pins, trail); err != nil {
		return blocks, err
	}
	for _, p := range pins {
		if err := p.held.await(ctx, trail); err != nil {
			c.Unpin(pins)
			return blocks, err
		}
		blocks = append(blocks, p.held.held.Blocks[0])
	}
	return blocks, nil
}

// await waits until a unit is loaded, and adds what held it up meanwhile to a trail.
func (u *Unit) await(ctx context.Context, held *wait.Trail) error {
	select {
	case <-u.ready:
		return u.err
	default:
	}
	select {
	case <-u.ready:
		held.During(&u.Trail, held.End(), wait.Now())
		return u.err
	case <-ctx.Done():
		return cause.Of(ctx)
	}
}

// admit pins a draw's units, and starts to load the missing ones, as soon as there is room
// for all of them. Draws are admitted in the order in which they came.
func (c *Cache) admit(ctx context.Context, pins []Pin, trail *wait.Trail) error {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return cause.Of(ctx)
	}
	for {
		if ok, err := c.tryAdmit(pins, trail); ok || err != nil {
			return err
		}
		select {
		case <-c.freed:
		case <-ctx.Done():
			return cause.Of(ctx)
		}
	}
}

func (c *Cache) tryAdmit(pins []Pin, trail *wait.Trail) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed != nil {
		return false, c.closed
	}
	var need, missing, idle int64
	for _, p := range pins {
		u := c.units[p.Unit]
		switch {
		case u == nil:
			n := c.cost(p.Unit)
			need, missing = need+n, missing+n
			continue
		case u.pins == 0:
			idle += u.bytes
		}
		need += u.bytes
	}
	if need > c.room && missing > 0 {
		return false, &RoomError{Need: need, Room: c.room}
	}
	if missing > 0 && c.used-(c.idle-idle)+missing > c.room {
		return false, nil
	}
	for i, p := range pins {
		u := c.units[p.Unit]
		if u != nil {
			c.pinLocked(u)
		}
		pins[i].held = u
	}
	c.evictLocked(c.room - missing)
	trail.Until(wait.Now(), wait.Room) // what follows is the wait for its units
	for i, p := range pins {
		if p.held == nil {
			pins[i].held = c.addLocked(p.Unit)
		}
	}
	return true, nil
}

// addLocked starts loading a unit on behalf of the admitted draw; the caller holds c.mu.
func (c *Cache) addLocked(unit int32) *Unit {
	u := &Unit{Number: unit, ready: make(chan struct{}), bytes: c.cost(unit), pins: 1}
	c.units[unit] = u
	c.used += u.bytes
	c.load(u)
	return u
}

func (c *Cache) pinLocked(u *Unit) {
	if u.pins++; u.at != nil {
		c.recent.Remove(u.at)
		u.at = nil
		c.idle -= u.bytes
	}
}

// Unpin reports that a draw no longer uses its units.
func (c *Cache) Unpin(pins []Pin) {
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
func (c *Cache) restLocked(u *Unit) {
	if u.held == nil {
		return // Loaded lists it, or has dropped it with its error
	}
	u.at = c.recent.PushFront(u)
	c.idle += u.bytes
}

// Loaded is called once for each unit that load was called for.
func (c *Cache) Loaded(u *Unit, held *ahead.Held, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.used -= u.bytes
	if u.err = err; err != nil {
		delete(c.units, u.Number) // the next draw tries again
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
func (c *Cache) settleLocked() {
	most := c.room
	if c.closed != nil {
		most = 0
	}
	c.evictLocked(most)
	if c.closed != nil && len(c.units) == 0 && !c.left {
		c.left = true
		c.account.Close()
	}
	select {
	case c.freed <- struct{}{}:
	default:
	}
}

// Yield lowers the room by n bytes for the sake of batches, as long as least is left and units that
// are not in use can go. It returns by how much it did.
func (c *Cache) Yield(n, least int64) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n = min(n, c.room-max(least, c.used-c.idle)); n <= 0 || c.closed != nil {
		return 0
	}
	c.room -= n
	c.evictLocked(c.room)
	return n
}

// evictLocked drops units without pins until no more than most bytes are used.
func (c *Cache) evictLocked(most int64) {
	for c.used > most && c.recent.Len() > 0 {
		u := c.recent.Remove(c.recent.Back()).(*Unit)
		delete(c.units, u.Number)
		c.idle -= u.bytes
		c.used -= u.bytes
		u.held.Release()
	}
}

// Room returns the bytes that units may take.
func (c *Cache) Room() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.room
}

// Close drops all units. Those in use go with their draws. Later draws fail with err, which is not
// nil. It is called once.
func (c *Cache) Close(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = err
	c.settleLocked()
}
