package shard

import (
	"errors"
	"fmt"
	"runtime/debug"
	"testing"
)

func TestGuardPasses(t *testing.T) {
	if err := Guard(func() error { return nil }); err != nil {
		t.Fatal(err)
	}
	own := errors.New("own")
	if err := Guard(func() error { return own }); !errors.Is(err, own) {
		t.Fatalf("%v", err)
	}
}

// TestGuardPassesPanicsOn: a panic that is not a fault of lent bytes is a bug, and must not look
// like a changed file.
func TestGuardPassesPanicsOn(t *testing.T) {
	var none *struct{ x int }
	var empty []int
	for name, f := range map[string]func(){
		"value": func() { panic("own") },
		"nil":   func() { none.x++ },
		"index": func() { empty[len(empty)]++ },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("the panic ended in Guard")
				}
			}()
			err := Guard(func() error { f(); return nil })
			t.Errorf("returned %v", err)
		})
	}
}

func TestGuardRestores(t *testing.T) {
	_ = Guard(func() error {
		_ = Guard(func() error { return nil })
		if !debug.SetPanicOnFault(true) {
			t.Error("the inner Guard switched the outer one off")
		}
		return nil
	})
	if debug.SetPanicOnFault(false) {
		t.Error("Guard stays switched on")
	}
}

// lender is an Object that lends nothing, or itself as a Lease whose answers are fixed.
type lender struct {
	Object
	verify error
	lend   error
}

func (l lender) Lend(int64, int64) (Lease, error) { return l, l.lend }
func (lender) Bytes() []byte                      { return nil }
func (l lender) Verify(Span) error                { return l.verify }
func (lender) Forget(Span)                        {}
func (lender) Release()                           {}

func TestUse(t *testing.T) {
	own := errors.New("own")
	for _, c := range []struct{ f, verify, want error }{
		{nil, nil, nil},
		{own, nil, own},
		{nil, ErrChanged, ErrChanged},
		{own, ErrChanged, ErrChanged},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			if err := Use(lender{verify: c.verify}, func() error { return c.f }); err != c.want {
				t.Errorf("f %v, verify %v: %v", c.f, c.verify, err)
			}
		})
	}
}

func TestLend(t *testing.T) {
	type plain struct{ Object }
	for _, c := range []struct {
		name string
		o    Object
		ok   bool
		err  error
	}{
		{"no lender", plain{}, false, nil},
		{"unsupported", lender{lend: errors.ErrUnsupported}, false, nil},
		{"failing", lender{lend: ErrChanged}, true, ErrChanged},
		{"lending", lender{}, true, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, ok, err := Lend(c.o, 0, 1); ok != c.ok || !errors.Is(err, c.err) {
				t.Errorf("%v, %v", ok, err)
			}
		})
	}
}
