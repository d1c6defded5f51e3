package loader

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/mem"
)

func testPooled(t *testing.T, batches int, bytes, memory int64) (*pooled, *mem.Account) {
	t.Helper()
	var need mem.Amounts
	need[mem.Batch] = bytes
	account, err := mem.NewBudget(0).Reserve(memory, need)
	if err != nil {
		t.Fatal(err)
	}
	return newPooled(&mem.Pool{}, make(chan struct{}, batches), account), account
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
	p, _ := testPooled(t, 2, 0, 0)
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

// A batch has its share, takes more in its turn, and gives all of it back.
func TestPooledBytes(t *testing.T) {
	p, account := testPooled(t, 4, 4<<20, 16<<20)
	used := func() int64 { return account.Used()[mem.Batch] }
	a := begin(t, p, 0).(*pooledMemory)
	if _, err := a.Alloc(1 << 10); err != nil || used() != 1<<20 {
		t.Fatalf("%d bytes are charged, error %v", used(), err)
	}
	b, err := a.Alloc(5 << 20)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)-1] = 1
	if cap(b) != len(b) {
		t.Error("more can be written than was asked for")
	}
	if used() < 5<<20 {
		t.Errorf("a batch that grew is charged with %d bytes", used())
	}
	if err := a.Scratch(1 << 20); err != nil {
		t.Fatal(err)
	}
	with := used()
	if a.Made(); used() >= with {
		t.Errorf("scratch stays charged: %d bytes", used())
	}
	if a.Free(); used() != 0 || p.pool.Stats().InUse != 0 {
		t.Errorf("%d bytes are left", used())
	}
}

// Where little is left a batch waits for those before it, and never for those behind it. What does
// not fit beside the last batch that the consumer has is refused, with nothing allocated.
func TestPooledTurns(t *testing.T) {
	p, account := testPooled(t, 4, 4<<20, 16<<20)
	first, second, third := begin(t, p, 0).(*pooledMemory), begin(t, p, 0).(*pooledMemory), begin(t, p, 0).(*pooledMemory)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	third.Make(ctx)
	if _, err := third.Alloc(9 << 20); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("the third batch has not waited: %v", err)
	}
	alloc(t, first, 7<<20)
	first.Made()
	waited := make(chan error, 1)
	go func() {
		_, err := second.Alloc(8 << 20)
		waited <- err
	}()
	var full *mem.FullError
	if err := <-waited; !errors.As(err, &full) || account.Used().Total() > 16<<20 {
		t.Fatalf("7 MiB and 8 MiB of 16 MiB: %v, %v used", err, account.Used())
	}
	first.Free()
	alloc(t, second, 6<<20)
	second.Free()
	third.Free()
}

func alloc(t *testing.T, m Memory, n int) {
	t.Helper()
	if _, err := m.Alloc(n); err != nil {
		t.Fatal(err)
	}
}
