package footer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
)

func keepingHot(t *testing.T, bytes int64) *Hot {
	t.Helper()
	h := NewHot(bytes)
	t.Cleanup(h.Close)
	return h
}

func TestHotKeeps(t *testing.T) {
	h := keepingHot(t, 1<<20)
	h.set("a", []byte("one"), 3)
	h.set("b", []byte("large"), 1<<20/hotShare)
	h.wait()
	if v, ok := h.get("a"); !ok || string(v.([]byte)) != "one" {
		t.Errorf("got %v, %t", v, ok)
	}
	if _, ok := h.get("b"); ok {
		t.Error("what is too large was kept")
	}
	// The cache tells keys apart by hashes; an item of another key is none.
	h.cache.Set("c", hotItem{key: "d", value: 1}, 1)
	h.wait()
	if _, ok := h.get("c"); ok {
		t.Error("another key's value was found")
	}
	h.Close()
	h.Close()
	h.set("a", 1, 1)
	if _, ok := h.get("a"); ok {
		t.Error("a closed one still has something")
	}
}

// However much is set, what is held stays under the bound.
func TestHotBound(t *testing.T) {
	h := keepingHot(t, 1<<20)
	held := func() (n int64) {
		for i := range 4000 {
			if v, ok := h.get(fmt.Sprint(i)); ok {
				n += int64(len(v.([]byte)))
			}
		}
		return n
	}
	for i := range 4000 {
		b := make([]byte, 2000)
		h.set(fmt.Sprint(i), b, int64(len(b)))
	}
	h.wait()
	if n := held(); n > 1<<20 || n < 1<<18 {
		t.Errorf("%d bytes are held", n)
	}
}

// Those who open the same shard at the same time share one read of its footer; when the first fails
// or is cancelled, others read it.
func TestHotFooterAtOnce(t *testing.T) {
	for _, failure := range []error{nil, errors.New("the wire is cut"), context.Canceled} {
		h := keepingHot(t, 1<<20)
		begun, end := make(chan struct{}), make(chan struct{})
		var reads atomic.Int64
		read := func() (indexEntry, error) {
			if reads.Add(1) > 1 {
				return indexEntry{record: []byte("second")}, nil
			}
			close(begun)
			<-end
			return indexEntry{record: []byte("first")}, failure
		}
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := h.footer(t.Context(), Key{}, read); !errors.Is(err, failure) {
				t.Errorf("error %v, want %v", err, failure)
			}
		})
		<-begun
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := h.footer(ended, Key{}, read); !errors.Is(err, context.Canceled) || reads.Load() != 1 {
			t.Errorf("error %v after %d reads", err, reads.Load())
		}
		for range 4 {
			all.Go(func() {
				if e, err := h.footer(t.Context(), Key{}, read); err != nil || len(e.record) == 0 {
					t.Errorf("%q, error %v", e.record, err)
				}
			})
		}
		close(end)
		all.Wait()
		if len(h.footers.underWay) != 0 {
			t.Error("a flight never landed")
		}
	}
}

// wait waits until set values can be found.
func (h *Hot) wait() {
	h.mu.RLock()
	defer h.mu.RUnlock()
	h.cache.Wait()
}
