package footer

import (
	"bytes"
	"context"
	"errors"

	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
	"github.com/shardfeed/shardfeed/rowgroup/internal/schema"
	"github.com/shardfeed/shardfeed/shard"
)

// mostSuspects bounds the footers that are read again after an opening has failed.
const mostSuspects = 8

// suspects reads footers again that may have been damaged on their way although they parse, after
// an opening has failed. The index gets footers that differ.
type suspects struct {
	loader   footerLoader
	indexDir string
	shards   []shard.Shard
	footers  []Loaded // of the shards, which get the new ones
}

func NewSuspects(store shard.Store, shards []shard.Shard, footers []Loaded, o Options) *suspects {
	return &suspects{loader: footerLoader{store: store, deletes: o.Deletes, hot: o.Hot, schemas: map[schema.ID]*schema.File{}}, indexDir: o.IndexDir, shards: shards, footers: footers}
}

// Opening runs open, which returns an error if the footers do not fit together or are not right.
// While it does and footers that are read again differ, it runs again.
func (s *suspects) Opening(ctx context.Context, open func() error) error {
	err := open()
	for again := (shard.Rereads{}); err != nil && again.More() && s.readAgain(ctx, err); again.Note(true) {
		err = open()
	}
	return err
}

// readAgain reads the footers that can be the cause of an error, and reports whether one of them
// differs from the one before.
func (s *suspects) readAgain(ctx context.Context, cause error) (differs bool) {
	for _, i := range s.numbers(cause) {
		changed, err := s.reread(ctx, i)
		if err != nil {
			return false
		}
		differs = differs || changed
	}
	return differs
}

// numbers returns the shard that an error names, and shards with a schema that no other shard has:
// damage rarely comes twice in the same way.
func (s *suspects) numbers(cause error) (numbers []int) {
	var e *block.Error
	if !errors.As(cause, &e) {
		return nil
	}
	owners := map[*schema.File]int{}
	for _, f := range s.footers {
		owners[f.Schema]++
		s.loader.schemas[f.Schema.ID] = f.Schema
	}
	for i, f := range s.footers {
		if s.shards[i].URI == e.URI || owners[f.Schema] == 1 && len(numbers) < mostSuspects {
			numbers = append(numbers, i)
		}
	}
	return numbers
}

// reread reads the footer of a shard again, and reports whether it differs from the one before.
func (s *suspects) reread(ctx context.Context, i int) (differs bool, err error) {
	before := s.footers[i]
	o, err := s.loader.store.Open(ctx, s.shards[i])
	if err != nil {
		return false, err
	}
	footerBytes := int64(0)
	if r, err := ParseRecord(before.Record); err == nil {
		footerBytes = r.FooterBytes
	}
	e, err := s.loader.readAgain(ctx, o, s.shards[i], footerBytes)
	if err = errors.Join(err, o.Close()); err != nil {
		return false, err
	}
	schema, err := s.loader.schema(e.schema)
	if err != nil || schema == before.Schema && bytes.Equal(e.record, before.Record) {
		return false, err
	}
	s.footers[i] = Loaded{Record: e.record, Schema: schema}
	s.loader.hot.forgetFooter(e.key)
	if s.indexDir != "" && s.shards[i].VersionHere() != "" {
		_ = replaceInIndex(s.indexDir, e) // else the next start reads it again
	}
	return true, nil
}
