package hdfs

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/shard/hdfs/conf"
)

// TestOrder: the namenode that answered last is asked first, one that failed is asked last.
func TestOrder(t *testing.T) {
	c := newCluster(offline(t, nil, nil), conf.Nameservice{Name: "ns", RPC: []string{"a", "b", "c"}})
	defer c.close()
	answered := func(addr string) {
		c.succeeded(&client{namenodes: &namenodes{conn: &namenode{addr: addr}}})
	}
	for _, step := range []struct {
		do   func()
		want string
	}{
		{func() { answered("a") }, "a b c"},
		{func() { c.demote("a") }, "b c a"},
		{func() { answered("c") }, "c a b"},
		{func() { c.demote("") }, "a b c"},
		{func() { c.demote("nobody") }, "a b c"},
		{func() { answered("nobody") }, "a b c"},
	} {
		if step.do(); strings.Join(c.order(), " ") != step.want {
			t.Errorf("%v, want %s", c.order(), step.want)
		}
	}
	if n := c.store.Traffic().Failovers; n != 1 {
		t.Errorf("%d failovers", n)
	}
	slices.Reverse(c.order()) // a copy
	if c.order()[0] != "a" {
		t.Error("the order is the caller's to change")
	}
}

func TestStale(t *testing.T) {
	for _, c := range []struct {
		client client
		want   bool
	}{
		{client{born: time.Now(), generation: 3}, false},
		{client{born: time.Now(), generation: 2}, true},
		{client{born: time.Now().Add(-maxAge - time.Second), generation: 3}, true},
	} {
		if c.client.stale(3) != c.want {
			t.Errorf("%+v: stale %v", c.client.born, !c.want)
		}
	}
}

// TestSlots: no more are in use than there are, who waits for one ends with its context, and with
// the store.
func TestSlots(t *testing.T) {
	s := newStore(t, Options{Slots: 1, RetryFor: time.Millisecond, User: "x", Getenv: func(string) string { return "" }})
	p, err := s.locate("hdfs://" + silent(t) + "/x")
	if err != nil {
		t.Fatal(err)
	}
	taken, done := make(chan struct{}), make(chan error, 1)
	go func() {
		done <- p.cluster.use(context.Background(), func(ctx context.Context, _ *client) error {
			close(taken)
			<-ctx.Done()
			return ctx.Err()
		})
	}()
	<-taken
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := p.cluster.use(ctx, func(context.Context, *client) error { return nil }); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a second: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := <-done; !errors.Is(err, fs.ErrClosed) {
		t.Errorf("the first, at Close: %v", err)
	}
}

// silent is the address of a server that takes connections and says nothing: enough for a client
// that is not asked anything.
func silent(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().String()
}
