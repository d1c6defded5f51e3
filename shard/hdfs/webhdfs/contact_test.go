package webhdfs

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
	for _, c := range []struct {
		name     string
		bases    []string
		retryFor time.Duration
		met      bool
		soon     bool
	}{
		{name: "lone", bases: []string{servertest.NoListener(t)}},
		{name: "has answered", bases: []string{servertest.NoListener(t)}, met: true},
		{name: "pair", bases: []string{servertest.NoListener(t), servertest.NoListener(t)}},
		{name: "a short time", bases: []string{servertest.NoListener(t)}, retryFor: 500 * time.Millisecond, soon: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newStore(t, Options{RetryFor: cmp.Or(c.retryFor, time.Minute)})
			for i, base := range c.bases {
				c.bases[i] = "http://" + base
			}
			cluster, err := s.at(c.bases)
			if err != nil {
				t.Fatal(err)
			}
			cluster.met.Store(c.met)
			ctx, stop := context.WithTimeout(t.Context(), 3*time.Second)
			defer stop()
			uri := "webhdfs://" + strings.TrimPrefix(c.bases[0], "http://") + "/x"
			o, err := s.OpenAt(ctx, c.bases, "/x", shard.Shard{URI: uri, Size: 10, Version: "1-1"})
			if err != nil {
				t.Fatal(err)
			}
			_, statErr := cluster.stat(ctx, "/x")
			for what, err := range map[string]error{"stat": statErr, "read": o.ReadAt(ctx, make([]byte, 10), 0)} {
				if !c.soon && !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s: %v", what, err)
				}
				if c.soon && (!errors.Is(err, shard.ErrTransient) || !strings.Contains(err.Error(), "refused")) {
					t.Errorf("%s: %v", what, err)
				}
			}
		})
	}
}
