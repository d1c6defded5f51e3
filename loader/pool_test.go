package loader

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/mem"
)

func testPooled(t *testing.T, batches int, bytes int64) (*pooled, *mem.Account) {
	t.Helper()
	var need mem.Amounts
	need[mem.Batch] = bytes
	account, err := mem.NewBudget(0).Reserve(0, need)
	if err != nil {
		t.Fatal(err)
	}
	return &pooled{pool: &mem.Pool{}, places: make(chan struct{}, batches), account: account}, account
}

func begin(t *testing.T, p *pooled, size int) Memory {
	t.Helper()
	m, err := p.Begin(t.Context(), size)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// waits reports whether Begin finds no room.
func waits(t *testing.T, p *pooled, size int) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	m, err := p.Begin(ctx, size)
	if err == nil {
		m.Free()
	} else if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	return err != nil
}

func TestPooledPlaces(t *testing.T) {
	p, _ := testPooled(t, 2, 0)
	a, b := begin(t, p, 0), begin(t, p, 0)
	if !waits(t, p, 0) {
		t.Error("a third batch of two was given")
	}
	a.Free()
	if waits(t, p, 0) {
		t.Error("a place did not come back")
	}
	b.Free()
}

func TestPooledBytes(t *testing.T) {
	p, account := testPooled(t, 10, 4<<20)
	for range enough { // they need not fit
		defer begin(t, p, 0).Free()
	}
	a := begin(t, p, 3<<20)
	if _, err := a.Alloc(1 << 10); err != nil {
		t.Fatal(err)
	}
	if used := account.Used()[mem.Batch]; used != 3<<20 {
		t.Errorf("%d bytes are charged", used)
	}
	if !waits(t, p, 2<<20) {
		t.Error("3 of 4 MiB were taken, and 2 were given")
	}
	if n := len(p.places); n != enough+1 {
		t.Errorf("%d places are taken after a wait in vain", n)
	}
	b, err := a.Alloc(5 << 20)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)-1] = 1
	if cap(b) != len(b) {
		t.Error("more can be written than was asked for")
	}
	if used := account.Used()[mem.Batch]; used < 5<<20 {
		t.Errorf("a batch that grew is charged with %d bytes", used)
	}
	a.Free()
	if used := account.Used()[mem.Batch]; used != 0 || p.pool.Stats().InUse != 0 {
		t.Errorf("%d bytes are left", used)
	}
	// More than there will ever be is what there is, so that one large batch does not end the
	// iteration.
	begin(t, p, 1<<30).Free()
}

// A first and a second batch are given even when there is no room, so that a consumer that holds
// one gets the next.
func TestPooledEnough(t *testing.T) {
	p, account := testPooled(t, 10, 1<<20)
	account.Charge(mem.Batch, 2<<20)
	for range enough {
		defer begin(t, p, 1<<19).Free()
	}
	if !waits(t, p, 1<<19) {
		t.Error("a third batch was given without room")
	}
}
