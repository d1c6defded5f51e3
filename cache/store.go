package cache

import (
	"context"

	"github.com/shardfeed/shardfeed/shard"
)

// A store is a shard.Store that reads through the cache. Closing it closes the inner store and
// leaves the cache open.
type store struct {
	shard.Store
	shard.Remote     // the inner store's
	shard.TableStore // the inner store's
	cache            *Cache
}

var (
	_ shard.Identifier = (*store)(nil)
	_ shard.Instancer  = (*store)(nil)
	_ shard.Pinner     = (*store)(nil)
	_ shard.Borrower   = (*store)(nil)
	_ shard.TableStore = (*store)(nil)
)

// Wrap returns a store that serves held bytes from the cache and fills it with bytes read from
// inner. Opening a shard does not use inner: a held shard needs no server.
func (c *Cache) Wrap(inner shard.Store) shard.Store {
	return &store{Store: inner, Remote: shard.RemoteOf(inner), TableStore: shard.TablesOf(inner), cache: c}
}

// Open defers opening the inner object to the first read that is not held. What is on this machine
// anyway is not kept twice.
func (s *store) Open(ctx context.Context, sh shard.Shard) (shard.Object, error) {
	if o, ok := shard.OpenHere(ctx, s.Store, sh); ok {
		return o, nil
	}
	k, ok := keyOf(s.Store, sh)
	if !ok {
		return s.Store.Open(ctx, sh)
	}
	if err := ctx.Err(); err != nil {
		return nil, &shard.Error{Op: "open", URI: sh.URI, Err: err}
	}
	return newObject(s.cache, s.Store, sh, k), nil
}

// WrapSmall returns a store for reading footers. From a store whose requests are scarce it fetches
// small shards whole and keeps them, for a caller that wants most of them in the end. It reads other
// shards as inner does, and nothing else through the cache.
func (c *Cache) WrapSmall(inner shard.Store) shard.Store {
	return &smallStore{store{Store: inner, Remote: shard.RemoteOf(inner), TableStore: shard.TablesOf(inner), cache: c}}
}

type smallStore struct{ store }

func (s *smallStore) Open(ctx context.Context, sh shard.Shard) (shard.Object, error) {
	inner, err := s.Store.Open(ctx, sh)
	if err != nil || !shard.WantsMost(ctx) || !comesWhole(inner, sh.Size) {
		return inner, err
	}
	k, ok := keyOf(s.Store, sh)
	if !ok {
		return inner, nil
	}
	o := newObject(s.cache, s.Store, sh, k)
	o.inner, o.whole = inner, true
	return o, nil
}

func (s *store) Identity(uri string) string { return shard.Identity(s.Store, uri) }

func (s *store) Instance(uri string) string { return shard.InstanceOf(s.Store, uri) }

func (s *store) Pin(ctx context.Context, pattern string) (string, error) {
	return shard.Pin(ctx, s.Store, pattern)
}

func (s *store) Borrow(prefix string, first shard.Credentials, renew shard.Renew) error {
	return shard.Borrow(s.Store, prefix, first, renew)
}

func (s *store) Close() error {
	if c, ok := s.Store.(interface{ Close() error }); ok {
		return c.Close()
	}
	return nil
}
