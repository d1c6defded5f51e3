package iteration

import (
	"errors"
	"io"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/shardfeed/shardfeed/internal/leaktest"
	"github.com/shardfeed/shardfeed/shuffle"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

var (
	errClosed = errors.New("closed")
	errBusy   = errors.New("busy")
	errEnd    = errors.New("the end failed")
)

// countdown is a pass of numbers from next to 5. Each moves the state.
type countdown struct {
	next   int64
	end    error // of Close
	closed atomic.Int32
}

func (c *countdown) Next() (int64, *shuffle.State, error) {
	if c.closed.Load() > 0 {
		return 0, nil, errClosed
	}
	if c.next == 5 {
		return 0, nil, io.EOF
	}
	c.next++
	return c.next, &shuffle.State{Position: c.next}, nil
}

func (c *countdown) Leave() error { return c.Close() }

func (c *countdown) Close() error {
	c.closed.Add(1)
	return c.end
}

func newLoop() *Loop[*countdown, int64] {
	return &Loop[*countdown, int64]{Closed: errClosed, Busy: errBusy}
}

// from opens passes that begin after the loop's state and end with err.
func from(opened *[]*countdown, err error) func(*shuffle.State) (*countdown, error) {
	return func(after *shuffle.State) (*countdown, error) {
		c := &countdown{end: err}
		if after != nil {
			c.next = after.Position
		}
		*opened = append(*opened, c)
		return c, nil
	}
}

// A pass begins where the one before was left, and is closed however it is left.
func TestPassesFollowEachOther(t *testing.T) {
	l, opened := newLoop(), []*countdown{}
	var got []int64
	leave := func(how func()) {
		defer func() { _ = recover() }()
		for n, err := range l.Batches(from(&opened, nil)) {
			if err != nil {
				t.Fatal(err)
			}
			if got = append(got, n); len(got)%2 == 0 {
				how()
				return
			}
		}
	}
	leave(func() {})
	leave(func() { panic("left") })
	leave(func() {})
	if want := []int64{1, 2, 3, 4, 5}; !slices.Equal(got, want) || l.State().Position != 5 || l.Pass() != nil {
		t.Errorf("got %v, state %v, pass %v", got, l.State(), l.Pass())
	}
	for i, c := range opened {
		if c.closed.Load() == 0 {
			t.Errorf("pass %d is open", i)
		}
	}
	l.Resume(nil)
	leave(func() {})
	if l.State().Position != 1 {
		t.Errorf("began at %v after Resume", l.State())
	}
}

// Beside another and after Close there is no pass. Close ends the one that has not ended.
func TestOnePassAtATime(t *testing.T) {
	l, opened := newLoop(), []*countdown{}
	var errs []error
	for _, err := range l.Batches(from(&opened, nil)) {
		if errs = append(errs, err); err != nil {
			break
		}
		for _, err := range l.Batches(from(&opened, nil)) {
			if !errors.Is(err, errBusy) {
				t.Errorf("beside another: %v", err)
			}
		}
		if first, err := l.Close(); !first || err != nil {
			t.Errorf("closed: %t, %v", first, err)
		}
	}
	if len(errs) != 2 || !errors.Is(errs[1], errClosed) || len(opened) != 1 {
		t.Errorf("%d passes, %v", len(opened), errs)
	}
	for _, err := range l.Batches(from(&opened, nil)) {
		if !errors.Is(err, errClosed) {
			t.Errorf("after the close: %v", err)
		}
	}
	if first, err := l.Close(); first || err != nil {
		t.Errorf("closed again: %t, %v", first, err)
	}
}

// Opening a pass holds no lock: what it calls may wait for one that asks for the pass or the state.
// Close waits for the pass and closes it.
func TestOpeningHoldsNoLock(t *testing.T) {
	l, opened := newLoop(), []*countdown{}
	closed := make(chan error, 1)
	open := func(after *shuffle.State) (*countdown, error) {
		asked := make(chan bool)
		go func() { asked <- l.Pass() == nil && l.State() == nil }()
		if !<-asked {
			t.Error("there is a pass or a state while the first pass is opened")
		}
		for _, err := range l.Batches(from(&opened, nil)) {
			if !errors.Is(err, errBusy) {
				t.Errorf("beside one that is opened: %v", err)
			}
		}
		go func() {
			_, err := l.Close()
			closed <- err
		}()
		for {
			if _, _, err := l.claim(); errors.Is(err, errClosed) { // Close has begun
				break
			}
		}
		return from(&opened, nil)(after)
	}
	for range l.Batches(open) {
		break
	}
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if len(opened) != 1 || opened[0].closed.Load() == 0 {
		t.Errorf("opened %v", opened)
	}
}

// The error of a pass's end is the last element, or Close has it when the consumer had left.
func TestEndsThatFail(t *testing.T) {
	l, opened := newLoop(), []*countdown{}
	var last error
	for _, err := range l.Batches(from(&opened, errEnd)) {
		last = err
	}
	if !errors.Is(last, errEnd) {
		t.Errorf("at the end: %v", last)
	}
	l.Resume(nil)
	for range l.Batches(from(&opened, errEnd)) {
		break
	}
	if _, err := l.Close(); !errors.Is(err, errEnd) {
		t.Errorf("closed with %v", err)
	}
}
