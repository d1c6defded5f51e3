package shard

import (
	"errors"
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

// TestGuardPassesPanicsOn: what is no fault of lent bytes is a bug, and must not look like a changed file.
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

// object is an Object whose answers are fixed.
type object struct {
	Object
	check error
	view  error
}

func (o object) Check() error                              { return o.check }
func (o object) View(int64, int64) ([]byte, func(), error) { return nil, nil, o.view }

func TestUse(t *testing.T) {
	own := errors.New("own")
	for _, c := range []struct{ f, check, want error }{
		{nil, nil, nil},
		{own, nil, own},
		{nil, ErrChanged, ErrChanged},
		{own, ErrChanged, ErrChanged},
	} {
		if err := Use(object{check: c.check}, func() error { return c.f }); err != c.want {
			t.Errorf("f %v, check %v: %v", c.f, c.check, err)
		}
	}
}

func TestViewOfStores(t *testing.T) {
	type plain struct{ Object }
	if _, _, ok, err := View(plain{}, 0, 1); ok || err != nil {
		t.Errorf("no Viewer: %v, %v", ok, err)
	}
	if _, _, ok, err := View(object{view: errors.ErrUnsupported}, 0, 1); ok || err != nil {
		t.Errorf("unsupported: %v, %v", ok, err)
	}
	if _, _, ok, err := View(object{view: ErrChanged}, 0, 1); !ok || !errors.Is(err, ErrChanged) {
		t.Errorf("failing: %v, %v", ok, err)
	}
	if err := Check(plain{}); err != nil {
		t.Errorf("no Checker: %v", err)
	}
}
