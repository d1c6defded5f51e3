package gpu

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/shardfeed/shardfeed/internal/cause"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
)

const (
	defaultSlots = 4
	minPiece     = 64 << 10 // bytes: pieces of page-locked memory are few and large
)

// RingOptions configure a ring.
type RingOptions struct {
	Slots     int // batches that exist at once, on their way to the device too; 0 means 4
	SlotBytes int // of a batch, as far as it is known; slots grow to what batches take

	// RequirePinned makes it an error that the device has no page-locked memory. Without it the
	// ring uses ordinary memory.
	RequirePinned bool

	// Pageable is called once, with a *PinError, when the ring uses ordinary memory, from which
	// copies are slow and block the host.
	Pageable func(error)
}

// A Ring is page-locked memory for batches: the Allocator of a loader whose batches a Transfer
// copies to the ring's device. It keeps to the memory of the stream: a batch that outgrows its slot
// waits for room, or is refused. It is safe for concurrent use.
type Ring struct {
	device Device
	name   string
	o      RingOptions
	free   chan *slot    // has room for all
	gone   chan struct{} // closed by Close

	mu       sync.Mutex
	used     int  // slots that batches have
	want     int  // bytes that a batch has taken
	pageable bool // the device is not asked for page-locked memory any more
	closed   bool
	freeing  error                       // the first error of freeing; later ones say the same
	account  *mem.Account                // nil before Use
	counted  map[HostMemory]*mem.Account // where the memory of batches is counted
	stats    RingStats
}

// NewRing allocates the ring's slots.
func NewRing(d Device, o RingOptions) (*Ring, error) {
	if o.Slots < 0 || o.SlotBytes < 0 {
		return nil, fmt.Errorf("gpu: Slots and SlotBytes of a ring must not be negative, got %d and %d", o.Slots, o.SlotBytes)
	}
	o.Slots = cmp.Or(o.Slots, defaultSlots)
	r := makeRing(d, o)
	if err := r.fill(); err != nil {
		return nil, err
	}
	return r, nil
}

// makeRing is a ring without slots, until fill.
func makeRing(d Device, o RingOptions) *Ring {
	return &Ring{device: d, name: d.Info().Name, o: o, free: make(chan *slot, o.Slots), gone: make(chan struct{}), want: max(o.SlotBytes, 1), counted: map[HostMemory]*mem.Account{}}
}

// fill allocates the slots; after an error the ring is closed.
func (r *Ring) fill() error {
	for range r.o.Slots {
		s := &slot{ring: r}
		if err := s.fit(r.want); err != nil {
			return errors.Join(err, r.Close())
		}
		r.free <- s
	}
	return nil
}

// Use counts what the ring has in the memory of a stream, and keeps to it from then on.
func (r *Ring) Use(a *iterable.Account) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.account = (*mem.Account)(a)
	for m, before := range r.counted {
		n := int64(len(m.Bytes()))
		if before != nil {
			before.Release(mem.Batch, n)
		}
		if r.counted[m] = r.account; r.account.TryGrow(mem.Batch, n) != nil {
			r.account.Charge(mem.Batch, n) // rounded up from the estimate
		}
	}
}

// Begin waits for a slot.
func (r *Ring) Begin(ctx context.Context, size int) (loader.Memory, error) {
	select {
	case s := <-r.free:
		return r.begin(s, size)
	case <-r.gone:
		return nil, ErrClosed
	case <-ctx.Done():
		return nil, cause.Of(ctx)
	}
}

// begin assigns a free slot to a batch.
func (r *Ring) begin(s *slot, size int) (loader.Memory, error) {
	r.mu.Lock()
	r.used++
	closed, want := r.closed, max(r.want, size)
	s.ctx, s.account, s.turn = context.Background(), r.account, nil
	r.mu.Unlock()
	err := ErrClosed
	if !closed {
		err = s.fit(want)
	}
	if err != nil {
		r.put(s)
		return nil, err
	}
	if s.account != nil {
		s.turn = s.account.Turn()
	}
	return s, nil
}

// put takes a slot back.
func (r *Ring) put(s *slot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.used--
	if r.closed {
		s.dropLocked(0)
		return
	}
	r.free <- s
}

// pieceBytes is the memory that a piece of n bytes takes.
func pieceBytes(n int) int { return (n + minPiece - 1) / minPiece * minPiece }

// alloc returns n bytes for a batch, page-locked if that can be. An account counts them already.
func (r *Ring) alloc(n int, account *mem.Account) (m HostMemory, err error) {
	n = pieceBytes(n)
	defer func() {
		if err != nil && account != nil {
			account.Release(mem.Batch, int64(n))
		}
	}()
	r.mu.Lock()
	pageable := r.pageable
	r.mu.Unlock()
	if !pageable {
		m, err = r.pinned(n)
	}
	if m == nil && err == nil {
		m, err = mapHost(n)
	}
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stats.add(m, 1)
	r.counted[m] = account
	return m, nil
}

// pinned asks the device. It returns nil when the ring goes on without page-locked memory.
func (r *Ring) pinned(n int) (HostMemory, error) {
	m, err := r.device.AllocHost(n)
	if err == nil && (m.Pinned() || !r.o.RequirePinned) {
		return m, nil
	}
	if err == nil {
		err = errors.Join(ErrUnsupported, m.Free())
	}
	refused := &PinError{Device: r.name, Slots: r.o.Slots, Bytes: int64(n), Err: err}
	if r.o.RequirePinned || !errors.Is(err, ErrOutOfMemory) && !errors.Is(err, ErrUnsupported) {
		return nil, refused
	}
	r.mu.Lock()
	said := r.pageable
	r.pageable = true
	r.mu.Unlock()
	if !said && r.o.Pageable != nil {
		r.o.Pageable(refused)
	}
	return nil, nil
}

// dropLocked frees the memory of a batch; no stream reads it any more.
func (r *Ring) dropLocked(m HostMemory) {
	r.stats.add(m, -1)
	if account := r.counted[m]; account != nil {
		account.Release(mem.Batch, int64(len(m.Bytes())))
	}
	delete(r.counted, m)
	if err := m.Free(); err != nil && r.freeing == nil {
		r.freeing = failed(r.device, "free the memory of a batch", err)
	}
}

// Stats returns the current state of the ring.
func (r *Ring) Stats() RingStats {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.stats
	s.Slots, s.Used = r.o.Slots, r.used
	s.Pinned = s.Bytes > 0 && s.PinnedBytes == s.Bytes
	return s
}

// Close frees the slots without waiting: a slot that a batch still has is freed with the batch, and
// the error counts these. Close may be called more than once.
func (r *Ring) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	r.closed = true
	close(r.gone)
	for len(r.free) > 0 {
		select {
		case s := <-r.free:
			s.dropLocked(0)
		default: // a concurrent Begin took it, and returns it
		}
	}
	err := r.freeing
	if r.used > 0 {
		err = errors.Join(err, fmt.Errorf("gpu: ring closed with %d of %d slots in use by batches that were not released", r.used, r.o.Slots))
	}
	return err
}

// RingStats has the current state of a ring.
type RingStats struct {
	Slots, Used        int   // used: by a batch that is being made, is ready or is on its way
	Bytes, PinnedBytes int64 // of all slots
	Pinned             bool  // all of it is page-locked
	Pieces             int64 // taken by batches that outgrew their slot
	Grown              int64 // slots that were replaced
}

// add counts memory that came, or that went with sign -1.
func (s *RingStats) add(m HostMemory, sign int64) {
	n := sign * int64(len(m.Bytes()))
	s.Bytes += n
	if m.Pinned() {
		s.PinnedBytes += n
	}
}

// sub keeps what is so now.
func (s RingStats) sub(t RingStats) RingStats {
	s.Pieces, s.Grown = s.Pieces-t.Pieces, s.Grown-t.Grown
	return s
}

func (s RingStats) String() string {
	kind := "ordinary"
	switch {
	case s.Pinned:
		kind = "page-locked"
	case s.PinnedBytes > 0:
		kind = fmt.Sprintf("%v of it page-locked", mem.Bytes(s.PinnedBytes))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d slots in use, %v %s", s.Used, s.Slots, mem.Bytes(s.Bytes), kind)
	if s.Pieces > 0 || s.Grown > 0 {
		fmt.Fprintf(&b, "; slots were too small %d times and made anew %d times", s.Pieces, s.Grown)
	}
	return b.String()
}
