package shardtest_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/leaktest"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/mem"
	"github.com/shardfeed/shardfeed/shard/shardtest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

type fixture struct {
	inner  mem.Store
	faults *shardtest.Faults
}

func (f *fixture) Store() shard.Store                        { return f.faults }
func (f *fixture) Address(name string) string                { return "mem://" + name }
func (f *fixture) Write(_ testing.TB, name string, b []byte) { f.inner.Put(name, b) }
func (f *fixture) Remove(_ testing.TB, name string)          { f.inner.Remove(name) }

// TestWithoutRules: a store of faults without rules is as good as its inner store.
func TestWithoutRules(t *testing.T) {
	shardtest.Run(t, func(*testing.T) shardtest.Fixture {
		f := &fixture{}
		f.faults = shardtest.NewFaults(&f.inner, shardtest.Rule{Path: "/nothing", Err: shard.ErrDenied})
		return f
	})
}

var bytesOf = []byte("0123456789")

// try does one of each operation and returns the first error.
func try(t *testing.T, f *shardtest.Faults) (read, lent []byte, err error) {
	t.Helper()
	found, err := f.List(t.Context(), "mem://d/a")
	if err != nil {
		return nil, nil, err
	}
	o, err := f.Open(t.Context(), found[0])
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	read = make([]byte, len(bytesOf))
	if err := o.ReadAt(t.Context(), read, 0); err != nil {
		return read, nil, err
	}
	l, _, err := shard.Lend(o, 0, int64(len(bytesOf)))
	if err != nil {
		return read, nil, err
	}
	defer l.Release()
	return read, l.Bytes(), l.Verify(shard.Span{})
}

func TestRules(t *testing.T) {
	own := errors.New("own")
	for _, c := range []struct {
		name   string
		rule   shardtest.Rule
		fails  string // for each of four tries: x or .
		struck int
		text   string // of the first error
	}{
		{"list", shardtest.Rule{Op: shardtest.OpList, Err: own}, "xxxx", 4, "mem://d/a: list: own (injected)"},
		{"open", shardtest.Rule{Op: shardtest.OpOpen, Err: own}, "xxxx", 4, "mem://d/a: open: own (injected)"},
		{"read", shardtest.Rule{Op: shardtest.OpRead, Err: own}, "xxxx", 4, "mem://d/a: read: own (injected)"},
		{"view", shardtest.Rule{Op: shardtest.OpLend, Err: own}, "xxxx", 4, "mem://d/a: lend: own (injected)"},
		{"check", shardtest.Rule{Op: shardtest.OpVerify, Err: own}, "xxxx", 4, "mem://d/a: verify: own (injected)"},
		{"close", shardtest.Rule{Op: shardtest.OpClose, Err: own}, "xxxx", 4, "mem://d/a: close: own (injected)"},
		{"any", shardtest.Rule{Err: own, Count: 1}, "x...", 1, "mem://d/a: list: own (injected)"},
		{"third", shardtest.Rule{Op: shardtest.OpRead, Err: own, From: 3, Count: 1}, "..x.", 1, "mem://d/a: read: own (injected)"},
		{"from the third", shardtest.Rule{Op: shardtest.OpRead, Err: own, From: 3}, "..xx", 2, "mem://d/a: read: own (injected)"},
		{"path", shardtest.Rule{Path: "d/a", Err: own, From: 7, Count: 1}, ".x..", 1, "mem://d/a: list: own (injected)"},
		{"other path", shardtest.Rule{Path: "/b", Err: own}, "....", 0, ""},
		{"as it is", shardtest.Rule{Op: shardtest.OpRead, Err: &shard.Error{URI: "u", Err: own}}, "xxxx", 4, "u: own"},
	} {
		t.Run(c.name, func(t *testing.T) {
			inner := &mem.Store{}
			inner.Put("d/a", bytesOf)
			f := shardtest.NewFaults(inner, c.rule)
			fails, text := "", ""
			for range 4 {
				_, _, err := try(t, f)
				if err == nil {
					fails += "."
					continue
				}
				fails += "x"
				if !errors.Is(err, own) {
					t.Errorf("error %v", err)
				}
				if text == "" {
					text = err.Error()
				}
			}
			if fails != c.fails || f.Struck(0) != c.struck || text != c.text {
				t.Errorf("failed %s, struck %d times, %q; want %s, %d, %q", fails, f.Struck(0), text, c.fails, c.struck, c.text)
			}
			if n := f.OpenObjects(); n != 0 {
				t.Errorf("%d objects are open", n)
			}
		})
	}
}

func TestDamage(t *testing.T) {
	for _, c := range []struct {
		damage     shardtest.Damage
		read, lent string
		err        error
	}{
		{shardtest.Intact, "0123456789", "0123456789", nil},
		{shardtest.Flipped, "01234%6789", "01234%6789", nil},
		{shardtest.Zeroed, "01234\x00\x00\x00\x00\x00", "01234\x00\x00\x00\x00\x00", nil},
		{shardtest.Short, "01234\x00\x00\x00\x00\x00", "", shard.ErrTransient},
	} {
		inner := &mem.Store{}
		inner.Put("d/a", bytesOf)
		f := shardtest.NewFaults(inner,
			shardtest.Rule{Op: shardtest.OpRead, Damage: c.damage}, shardtest.Rule{Op: shardtest.OpLend, Damage: c.damage})
		read, lent, err := try(t, f)
		if string(read) != c.read || string(lent) != c.lent || !errors.Is(err, c.err) {
			t.Errorf("damage %d: read %q, lent %q, %v", c.damage, read, lent, err)
		}
	}
	if !bytes.Equal(bytesOf, []byte("0123456789")) {
		t.Error("the store's own bytes were damaged")
	}
}

func TestDelayEndsWithContext(t *testing.T) {
	inner := &mem.Store{}
	inner.Put("d/a", bytesOf)
	f := shardtest.NewFaults(inner, shardtest.Rule{Op: shardtest.OpList, Delay: time.Hour})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
	defer cancel()
	if _, err := f.List(ctx, "mem://d/a"); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("error %v", err)
	}
	f = shardtest.NewFaults(inner, shardtest.Rule{Delay: 2 * time.Millisecond}, shardtest.Rule{Delay: 2 * time.Millisecond})
	start := time.Now()
	if _, _, err := try(t, f); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took < 24*time.Millisecond {
		t.Fatalf("six operations under two delays took %v", took)
	}
}

// suspicious is a store whose objects never believe what they lent.
type suspicious struct{ shard.Store }

func (s suspicious) Open(ctx context.Context, x shard.Shard) (shard.Object, error) {
	o, err := s.Store.Open(ctx, x)
	return suspiciousObject{o}, err
}

type suspiciousObject struct{ shard.Object }

func (o suspiciousObject) Lend(off, n int64) (shard.Lease, error) {
	l, _, err := shard.Lend(o.Object, off, n)
	return suspiciousLease{l}, err
}

type suspiciousLease struct{ shard.Lease }

func (suspiciousLease) Verify(shard.Span) error { return shard.ErrCorrupt }

// TestVerifyPassesOn: what stands around a store that verifies what it lent asks it.
func TestVerifyPassesOn(t *testing.T) {
	store := &mem.Store{}
	store.Put("a", []byte("1"))
	around := shardtest.NewFaults(suspicious{store})
	found, err := around.List(t.Context(), "mem://a")
	if err != nil {
		t.Fatal(err)
	}
	o, err := around.Open(t.Context(), found[0])
	if err != nil {
		t.Fatal(err)
	}
	l, ok, err := shard.Lend(o, 0, 1)
	if !ok || err != nil {
		t.Fatal(ok, err)
	}
	if err := l.Verify(shard.Span{N: 1}); !errors.Is(err, shard.ErrCorrupt) {
		t.Errorf("error %v", err)
	}
	l.Release()
	if err := o.Close(); err != nil {
		t.Error(err)
	}
}
