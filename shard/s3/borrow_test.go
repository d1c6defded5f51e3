package s3

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/servertest"
	"github.com/shardfeed/shardfeed/shard"
)

// Borrowed credentials open the files below their prefix, are renewed, and open no others.
func TestBorrow(t *testing.T) {
	server := servertest.S3(t)
	bucket := server.Bucket(t)
	for _, key := range []string{"t/a", "t/sub/b", "tt/c"} {
		server.Put(t, bucket, key, []byte("content"))
	}
	store := newStore(t, Options{Environ: map[string]string{}, Key: "NOBODY", Secret: "wrong", Region: server.Region})
	lent := func(life time.Duration) shard.Credentials {
		expiry := fmt.Sprint(time.Now().Add(life).UnixMilli())
		return shard.Credentials{lentKey: server.Key, lentSecret: server.Secret, lentEndpoint: server.Endpoint, lentExpiries[0]: expiry}
	}
	renewed := 0
	renew := func(context.Context) (shard.Credentials, error) {
		renewed++
		return lent(time.Hour), nil
	}
	if err := shard.Borrow(shard.Stores{"s3": store, "s3a": store}, "s3a://"+bucket+"/t/", lent(time.Minute), renew); err != nil {
		t.Fatal(err)
	}
	found, err := store.List(t.Context(), "s3://"+bucket+"/t/")
	if err != nil || len(found) != 2 || renewed != 1 {
		t.Fatalf("%v, %v, renewed %d times", found, err, renewed)
	}
	o, err := store.Open(t.Context(), shard.Shard{URI: found[0].URI, Size: 7})
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	b := make([]byte, 7)
	if err := o.ReadAt(t.Context(), b, 0); err != nil || string(b) != "content" {
		t.Errorf("%q, %v", b, err)
	}
	if store.of("s3://"+bucket+"/tt/c") != store || store.of("s3://"+bucket+"/t") == store || store.of("s3a://"+bucket+"/t/sub/b") == store {
		t.Error("the prefix is not cut at a slash")
	}
	if store.Traffic().Requests() == 0 {
		t.Error("requests with borrowed credentials are not counted")
	}
}

func TestBorrowErrors(t *testing.T) {
	store := newStore(t, Options{})
	for name, c := range map[string]struct {
		prefix string
		lent   shard.Credentials
		want   error
	}{
		"no secret": {"s3://b/t", shard.Credentials{lentKey: "k"}, shard.ErrDenied},
		"no key":    {"s3://b/t", shard.Credentials{"gcs.oauth2.token": "t"}, errors.ErrUnsupported},
		"no bucket": {"s3://", shard.Credentials{lentKey: "k", lentSecret: "s"}, shard.ErrBadURI},
	} {
		if err := store.Borrow(c.prefix, c.lent, nil); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var plain struct{ shard.Store }
	if err := shard.Borrow(plain, "s3://b", shard.Credentials{}, nil); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("another store: %v", err)
	}
}
