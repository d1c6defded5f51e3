package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/azure"
	"github.com/shardfeed/shardfeed/shard/gs"
	"github.com/shardfeed/shardfeed/shard/hdfs"
	"github.com/shardfeed/shardfeed/shard/s3"
)

// A store reads through one of ours. Shards are listed before the time is taken, as a stream lists
// them before it reads, and stay open.
type store struct {
	store   shard.Store
	objects map[string]shard.Object // by address
}

func newStore(ctx context.Context, f readFlags, pieces []piece) (*store, error) {
	s := &store{objects: map[string]shard.Object{}}
	switch f.way {
	case "s3":
		s.store = s3.New(s3.Options{})
	case "gs":
		s.store = gs.New(gs.Options{})
	case "az":
		s.store = azure.New(azure.Options{})
	default:
		s.store = hdfs.New(hdfs.Options{Slots: f.inFlight})
	}
	shards, err := shard.Discover(ctx, s.store, uris(pieces), shard.DiscoverOptions{})
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	for _, sh := range shards {
		if s.objects[sh.URI], err = s.store.Open(ctx, sh); err != nil {
			delete(s.objects, sh.URI)
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
}

func (s *store) Close() error {
	var errs []error
	for _, o := range s.objects {
		errs = append(errs, o.Close())
	}
	if c, ok := s.store.(io.Closer); ok {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

func (s *store) reader(context.Context) (reader, error) { return s.read, nil }

func (s *store) read(ctx context.Context, uri string, b []byte, off int64) error {
	o, ok := s.objects[uri]
	if !ok {
		return fmt.Errorf("%s was listed under another name", uri)
	}
	return shard.ReadRanges(ctx, o, []shard.Range{{Off: off, P: b}})
}
