package shardtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shardfeed/shardfeed/shard"
)

// Op is an operation of a store or an object.
type Op string

// The operations that can fail. OpRead is ReadAt; a Rule with no Op means each.
const (
	OpList   Op = "list"
	OpOpen   Op = "open"
	OpRead   Op = "read"
	OpLend   Op = "lend"
	OpVerify Op = "verify"
	OpClose  Op = "close"
)

// Damage is a change to bytes that arrive without an error.
type Damage int

// The kinds of damage. A broken network or disk can cause all of them, and only a checksum can
// detect them, except Short: it returns an error, like a connection that breaks within an answer.
const (
	Intact  Damage = iota
	Flipped        // one bit in the middle
	Zeroed         // the second half
	Short          // the first half arrives, then the rule's Err, or else ErrTransient
)

// A Rule selects calls to fail, and the failure. A call that several rules match suffers the delays
// of all, and the first error or damage.
type Rule struct {
	Op     Op            // or "" for each
	Path   string        // what the URI must end with, or "" for all
	From   int           // the first call that fails, counted from 1 over the calls that Op and Path fit; 0 is 1
	Count  int           // how many calls fail; 0 is all from then on
	Delay  time.Duration // before the call; a context that ends cuts it short
	Err    error         // instead of the call, or nil
	Damage Damage        // to what the call delivers
}

// Faults is a store that fails by its rules, and counts the bytes read. Its methods are safe for
// concurrent use.
type Faults struct {
	shard.Remote // the store's
	store        shard.Store
	rules        []*ruleState
	open         atomic.Int64
	readBytes    atomic.Int64
}

type ruleState struct {
	Rule
	mu     sync.Mutex
	seen   int // calls that fit
	struck int // calls that suffered
}

var _ shard.Identifier = (*Faults)(nil)

// NewFaults wraps a store.
func NewFaults(store shard.Store, rules ...Rule) *Faults {
	f := &Faults{Remote: shard.RemoteOf(store), store: store}
	for _, r := range rules {
		f.rules = append(f.rules, &ruleState{Rule: r})
	}
	return f
}

// Struck returns how many calls the i-th rule hit, so that a test can prove that its fault
// happened.
func (f *Faults) Struck(i int) int {
	r := f.rules[i]
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.struck
}

// OpenObjects returns how many objects are not closed yet.
func (f *Faults) OpenObjects() int { return int(f.open.Load()) }

// ReadBytes returns the number of bytes read so far, not counting leases.
func (f *Faults) ReadBytes() int64 { return f.readBytes.Load() }

// fits counts a call and reports whether it must fail.
func (r *ruleState) fits(op Op, uri string) bool {
	if r.Op != "" && r.Op != op || !strings.HasSuffix(uri, r.Path) {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen++
	from := max(r.From, 1)
	if r.seen < from || r.Count > 0 && r.seen >= from+r.Count {
		return false
	}
	r.struck++
	return true
}

// strike applies the rules to a call: it waits, then returns the damage or the error.
func (f *Faults) strike(ctx context.Context, op Op, uri string) (Damage, error) {
	damage, failure := Intact, error(nil)
	for _, r := range f.rules {
		if !r.fits(op, uri) {
			continue
		}
		if err := sleep(ctx, r.Delay); err != nil {
			return Intact, &shard.Error{Op: string(op), URI: uri, Err: err}
		}
		if damage == Intact && failure == nil {
			damage, failure = r.Damage, r.Err
		}
	}
	if damage == Short && failure == nil {
		failure = shard.ErrTransient
	}
	if failure == nil {
		return damage, nil
	}
	if e := (*shard.Error)(nil); !errors.As(failure, &e) {
		failure = &shard.Error{Op: string(op), URI: uri, Err: fmt.Errorf("%w (injected)", failure)}
	}
	return damage, failure
}

// sleep waits, but no longer than ctx lasts.
func sleep(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return nil
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// List fails or passes on.
func (f *Faults) List(ctx context.Context, pattern string) ([]shard.Shard, error) {
	if _, err := f.strike(ctx, OpList, pattern); err != nil {
		return nil, err
	}
	return f.store.List(ctx, pattern)
}

// Open fails or passes on.
func (f *Faults) Open(ctx context.Context, s shard.Shard) (shard.Object, error) {
	if _, err := f.strike(ctx, OpOpen, s.URI); err != nil {
		return nil, err
	}
	o, err := f.store.Open(ctx, s)
	if err != nil {
		return nil, err
	}
	f.open.Add(1)
	return &faultyObject{inner: o, faults: f, uri: s.URI}, nil
}

// Identity passes on.
func (f *Faults) Identity(uri string) string { return shard.Identity(f.store, uri) }

// Above passes on.
func (f *Faults) Above(address string) []string { return shard.TablesOf(f.store).Above(address) }

// TableAt passes on.
func (f *Faults) TableAt(ctx context.Context, dir string) (shard.Table, error) {
	return shard.TablesOf(f.store).TableAt(ctx, dir)
}

type faultyObject struct {
	inner  shard.Object
	faults *Faults
	uri    string
	closed atomic.Bool
}

var _ shard.Lender = (*faultyObject)(nil)

func (o *faultyObject) ReadAt(ctx context.Context, p []byte, off int64) error {
	damage, failure := o.faults.strike(ctx, OpRead, o.uri)
	switch {
	case damage == Short:
		return errors.Join(failure, o.inner.ReadAt(ctx, p[:len(p)/2], off))
	case failure != nil:
		return failure
	}
	if err := o.inner.ReadAt(ctx, p, off); err != nil {
		return err
	}
	o.faults.readBytes.Add(int64(len(p)))
	damage.apply(p)
	return nil
}

func (o *faultyObject) Lend(off, n int64) (shard.Lease, error) {
	damage, failure := o.faults.strike(context.Background(), OpLend, o.uri)
	if failure != nil {
		return nil, failure
	}
	inner, ok, err := shard.Lend(o.inner, off, n)
	if !ok {
		return nil, errors.ErrUnsupported
	}
	if err != nil {
		return nil, err
	}
	l := &faultyLease{Lease: inner, object: o, bytes: inner.Bytes()}
	if damage != Intact {
		l.bytes = make([]byte, n) // lent bytes are read-only
		err = shard.Guard(func() error { copy(l.bytes, inner.Bytes()); return nil })
		damage.apply(l.bytes)
	}
	return l, err
}

// A faultyLease passes through everything that it does not damage: a store that verifies lent bytes
// must be asked through all its wrappers.
type faultyLease struct {
	shard.Lease
	object *faultyObject
	bytes  []byte
}

func (l *faultyLease) Bytes() []byte { return l.bytes }

func (l *faultyLease) Verify(used shard.Span) error {
	if _, err := l.object.faults.strike(context.Background(), OpVerify, l.object.uri); err != nil {
		return err
	}
	return l.Lease.Verify(used)
}

func (o *faultyObject) Close() error {
	if o.closed.CompareAndSwap(false, true) {
		o.faults.open.Add(-1)
	}
	_, failure := o.faults.strike(context.Background(), OpClose, o.uri)
	return errors.Join(failure, o.inner.Close())
}

func (d Damage) apply(p []byte) {
	switch {
	case len(p) == 0:
	case d == Flipped:
		p[len(p)/2] ^= 0x10
	case d == Zeroed:
		clear(p[len(p)/2:])
	}
}
