package hdfs

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/servertest"
	"github.com/shardfeed/shardfeed/shard"
)

// TestFirstContact: a port that refuses connections soon counts as wrong, but not where a namenode
// has answered, is one of a pair, or where the user has said how long to wait.
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
		{name: "lone", host: servertest.NoListener(t), soon: true},
		{name: "has answered", host: servertest.NoListener(t), known: true},
		{name: "pair", host: "ns", conf: both},
		{name: "said by the user", host: servertest.NoListener(t), retryFor: time.Minute},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t, Options{Conf: c.conf, RetryFor: c.retryFor, Getenv: func(string) string { return "" }})
			if c.retryFor == 0 && s.firstContact != defaultFirstContact {
				t.Fatal(s.firstContact)
			} else if c.retryFor == 0 {
				s.firstContact = 500 * time.Millisecond
			}
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
