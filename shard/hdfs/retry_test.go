package hdfs

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/servertest"
	"github.com/shardfeed/shardfeed/shard"
)

// TestFirstContact: a server that refuses connections is waited for, as one that restarts, for as
// long as RetryFor says.
func TestFirstContact(t *testing.T) {
	both := map[string]string{
		"dfs.nameservices": "ns", "dfs.ha.namenodes.ns": "a,b",
		"dfs.namenode.rpc-address.ns.a": servertest.NoListener(t), "dfs.namenode.rpc-address.ns.b": servertest.NoListener(t),
	}
	for _, c := range []struct {
		name     string
		conf     map[string]string
		host     string
		retryFor time.Duration
		known    bool
		soon     bool
	}{
		{name: "lone", host: servertest.NoListener(t)},
		{name: "has answered", host: servertest.NoListener(t), known: true},
		{name: "pair", host: "ns", conf: both},
		{name: "a short time", host: servertest.NoListener(t), retryFor: 500 * time.Millisecond, soon: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t, Options{Conf: c.conf, RetryFor: cmp.Or(c.retryFor, time.Minute), Getenv: func(string) string { return "" }})
			uri := "hdfs://" + c.host + "/data/x"
			p, err := s.locate(uri)
			if err != nil {
				t.Fatal(err)
			}
			p.cluster.known.Store(c.known)
			ctx, stop := context.WithTimeout(t.Context(), 3*time.Second)
			defer stop()
			o, err := s.Open(ctx, shard.Shard{URI: uri, Size: 10, Version: "1-1"})
			if err != nil {
				t.Fatal(err)
			}
			_, listErr := s.List(ctx, uri)
			for what, err := range map[string]error{"list": listErr, "read": o.ReadAt(ctx, make([]byte, 10), 0)} {
				if !c.soon && !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s: %v", what, err)
				}
				if c.soon && (!errors.Is(err, shard.ErrTransient) || !strings.Contains(err.Error(), "refused") || !strings.Contains(err.Error(), "8020")) {
					t.Errorf("%s: %v", what, err)
				}
			}
		})
	}
}
