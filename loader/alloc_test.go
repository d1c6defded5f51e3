package loader

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"unsafe"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/iterable"
)

// A region is an allocator as a ring of shared memory is one: each batch lies in one run of bytes.
type region struct{ slots chan []byte }

type part struct {
	from  *region
	bytes []byte
	used  int
}

func newRegion(slots, size int) *region {
	r := &region{slots: make(chan []byte, slots)}
	for range slots {
		r.slots <- make([]byte, size)
	}
	return r
}

func (r *region) Begin(ctx context.Context, _ int) (Memory, error) {
	select {
	case b := <-r.slots:
		return &part{from: r, bytes: b}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *part) Alloc(n int) ([]byte, error) {
	at := (p.used + 63) &^ 63
	if at+n > len(p.bytes) {
		return nil, fmt.Errorf("a batch of more than %d bytes does not fit a slot", len(p.bytes))
	}
	p.used = at + n
	return p.bytes[at:p.used:p.used], nil
}

func (p *part) Free() { p.from.slots <- p.bytes }

func TestShopInRegion(t *testing.T) {
	ds := openShop(t, iterable.Options{})
	l := newShop(t, ds, Options{BatchSize: 64, Workers: 2, Allocator: newRegion(3, 1<<20), Pad: []Padding{{Column: "token_ids"}}})
	for b, err := range l.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		slot := b.Memory().(*part)
		lo := uintptr(unsafe.Pointer(&slot.bytes[0]))
		within := func(buffer []byte) bool {
			at := uintptr(unsafe.Pointer(unsafe.SliceData(buffer)))
			return len(buffer) == 0 || at >= lo && at+uintptr(len(buffer)) <= lo+uintptr(slot.used)
		}
		var check func(a *column.Array)
		check = func(a *column.Array) {
			offsets := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(a.Offsets))), 4*len(a.Offsets))
			if !within(a.Data) || !within(a.Valid) || !within(offsets) {
				t.Errorf("column %q is not in the slot", a.Field.Name)
			}
			for _, c := range a.Children {
				check(c)
			}
		}
		for _, a := range b.Columns {
			check(a)
		}
		if b.Bytes() > int64(slot.used) {
			t.Errorf("%d bytes were allocated, %d were used", b.Bytes(), slot.used)
		}
		b.Release()
	}
}

// An error of the gather says at which column it happened.
func TestShopSlotTooSmall(t *testing.T) {
	ds := openShop(t, iterable.Options{})
	for _, workers := range []int{0, 2} {
		l := newShop(t, ds, Options{BatchSize: 64, Workers: workers, Allocator: newRegion(3, 8<<10)})
		_, err := steps(t.Context(), l)
		var e *Error
		if !errors.As(err, &e) || e.Op != "gather" || e.Column != "img_jpg" || e.Step != 0 {
			t.Errorf("got %v", err)
		}
		want := `loader: gather: rank 0, epoch 0, step 0, column "img_jpg": a batch of more than 8192 bytes does not fit a slot`
		if err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}
