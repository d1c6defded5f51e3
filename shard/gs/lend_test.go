package gs

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/shard"
)

// Tokens that a catalog lends open what is below their prefix, are renewed, and open nothing else.
func TestBorrow(t *testing.T) {
	g := newServers(t)
	s := newStore(t, Options{Anonymous: true})
	lent := func(life time.Duration) shard.Credentials {
		return shard.Credentials{
			lentToken: fmt.Sprintf("token-%d", g.tokens.Add(1)), lentExpiry: fmt.Sprint(time.Now().Add(life).UnixMilli()), lentHost: g.URL, lentProject: "payer",
		}
	}
	renewed := 0
	renew := func(context.Context) (shard.Credentials, error) {
		renewed++
		return lent(time.Hour), nil
	}
	stores := shard.Stores{"gs": s, "gcs": s}
	for i, c := range []struct {
		life time.Duration
		want int
	}{{time.Hour, 0}, {time.Minute, 1}} {
		if err := shard.Borrow(stores, "gcs://bucket/d/", lent(c.life), renew); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if found, err := stores.List(t.Context(), "gs://bucket/d/"); err != nil || len(found) != 1 || found[0].URI != "gs://bucket/d/opayer" {
				t.Fatalf("%d: %v, %v", i, found, err)
			}
		}
		if renewed != c.want {
			t.Errorf("lent for %v: renewed %d times, want %d", c.life, renewed, c.want)
		}
	}
	if got := s.ByStore(); len(got) != 1 || s.Traffic().Lists != got[0].Lists || got[0].Lists < 2 {
		t.Errorf("requests: %+v of %+v", got, s.Traffic())
	}
}

func TestBorrowErrors(t *testing.T) {
	s := newStore(t, Options{})
	if err := s.Borrow("gs://bucket/d", shard.Credentials{"s3.access-key-id": "k"}, nil); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("of another store: %v", err)
	}
	if err := s.Borrow("gs://", shard.Credentials{lentToken: "k"}, nil); !errors.Is(err, shard.ErrBadURI) {
		t.Errorf("no bucket: %v", err)
	}
	soon := shard.Credentials{lentToken: "SECRET", lentExpiry: fmt.Sprint(time.Now().UnixMilli())}
	renew := func(context.Context) (shard.Credentials, error) { return shard.Credentials{}, nil }
	if err := s.Borrow("gs://bucket/d", soon, renew); err != nil {
		t.Fatal(err)
	}
	if _, err := s.List(t.Context(), "gs://bucket/d/"); !errors.Is(err, shard.ErrDenied) {
		t.Errorf("no more tokens: %v", err)
	}
}
