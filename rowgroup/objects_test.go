package rowgroup

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/shardfeed/shardfeed/shard"
)

func someObjects(t *testing.T, n int) (*objects, *recordingStore) {
	t.Helper()
	files := map[string][]byte{}
	for i := range n {
		files[fmt.Sprintf("%05d", i)] = []byte("content")
	}
	store, shards := putFiles(t, files)
	recorder := &recordingStore{Store: store}
	return newObjects(recorder, shards), recorder
}

// Any number of shards can be read, but no more than the bound stay open, and those used last do.
func TestObjectsBound(t *testing.T) {
	o, store := someObjects(t, maxOpen+50)
	for i := range maxOpen + 50 {
		e, err := o.acquire(context.Background(), i)
		if err != nil {
			t.Fatal(err)
		}
		o.release(i, e)
	}
	if store.open != maxOpen {
		t.Errorf("%d shards are open", store.open)
	}
	opens := store.opens
	for _, i := range []int{50, maxOpen + 49} {
		e, err := o.acquire(context.Background(), i)
		if err != nil {
			t.Fatal(err)
		}
		o.release(i, e)
	}
	if store.opens != opens {
		t.Error("a shard used lately was closed")
	}
	if err := errors.Join(o.close(), o.close()); err != nil || store.open != 0 {
		t.Errorf("after the close %d shards are open, error %v", store.open, err)
	}
	if _, err := o.acquire(context.Background(), 0); !errors.Is(err, errClosed) {
		t.Errorf("error is %v", err)
	}
}

func TestObjectsInUse(t *testing.T) {
	o, store := someObjects(t, 2)
	e, err := o.acquire(context.Background(), 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := o.close(); err == nil || !strings.Contains(err.Error(), "00001: still in use") {
		t.Errorf("error is %v", err)
	}
	o.release(1, e)
	if store.open != 0 {
		t.Error("the shard stays open after its last use")
	}
}

func TestObjectsShared(t *testing.T) {
	o, store := someObjects(t, 20)
	defer o.close()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := range 200 {
				e, err := o.acquire(context.Background(), i%20)
				if err != nil {
					t.Error(err)
					return
				}
				o.release(i%20, e)
			}
		})
	}
	all.Wait()
	if store.opens != 20 {
		t.Errorf("%d opens of 20 shards", store.opens)
	}
}

// blockingStore opens when told to.
type blockingStore struct {
	shard.Store
	open chan error
}

func (s blockingStore) Open(ctx context.Context, sh shard.Shard) (shard.Object, error) {
	select {
	case err := <-s.open:
		if err != nil {
			return nil, err
		}
		return s.Store.Open(ctx, sh)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// One caller's cancellation is not an error for another that waits for the same shard; a failure is
// forgotten, so that the next try opens again.
func TestObjectsCancel(t *testing.T) {
	store, shards := putFiles(t, map[string][]byte{"a": []byte("content")})
	blocking := blockingStore{store, make(chan error)}
	o := newObjects(blocking, shards)
	defer o.close()
	ctx, cancel := context.WithCancel(context.Background())
	first, second := make(chan error), make(chan error)
	acquire := func(ctx context.Context, done chan error) {
		e, err := o.acquire(ctx, 0)
		if err == nil {
			o.release(0, e)
		}
		done <- err
	}
	go acquire(ctx, first)
	for o.users(0) != 1 {
	}
	go acquire(context.Background(), second)
	for o.users(0) != 2 {
	}
	cancel()
	if err := <-first; !errors.Is(err, context.Canceled) {
		t.Errorf("the first got %v", err)
	}
	blocking.open <- nil
	if err := <-second; err != nil {
		t.Errorf("the second got %v", err)
	}
}

func TestObjectsFailure(t *testing.T) {
	store, shards := putFiles(t, map[string][]byte{"a": []byte("content")})
	blocking := blockingStore{store, make(chan error, 2)}
	o := newObjects(blocking, shards)
	defer o.close()
	broken := errors.New("broken")
	blocking.open <- broken
	if _, err := o.acquire(context.Background(), 0); !errors.Is(err, broken) {
		t.Errorf("error is %v", err)
	}
	blocking.open <- nil
	e, err := o.acquire(context.Background(), 0)
	if err != nil {
		t.Fatal(err)
	}
	o.release(0, e)
}

func (o *objects) users(i int) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	if e := o.open[i]; e != nil {
		return e.users
	}
	return 0
}
