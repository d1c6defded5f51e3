package delta

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/table"
)

// Open reads the snapshot of the table in a directory that o asks for: a version or a time.
func Open(ctx context.Context, address string, o table.Options) (*table.Snapshot, error) {
	s, err := open(ctx, directory(address), o)
	if err != nil {
		return nil, wrap(address, err)
	}
	return s, nil
}

// directory is the address of a table without slashes at its end.
func directory(address string) string {
	if dir := strings.TrimRight(address, "/"); dir != "" && !strings.HasSuffix(dir, ":") {
		return dir
	}
	return address
}

// wrap names the table in errors that name no file.
func wrap(address string, err error) error {
	e := &shard.Error{Op: "table", URI: "delta+" + address, Err: err}
	if h := (*hinted)(nil); errors.As(err, &h) {
		e.Hint = h.hint
	} else if inner := (*shard.Error)(nil); errors.As(err, &inner) {
		return err
	}
	return e
}

// hinted is an error with a remedy.
type hinted struct {
	error
	hint string
}

func (h *hinted) Unwrap() error { return h.error }

func open(ctx context.Context, dir string, o table.Options) (*table.Snapshot, error) {
	l, err := list(ctx, dir, o)
	if err != nil {
		return nil, err
	}
	version, err := l.find(ctx, o.Snapshot)
	if err != nil {
		return nil, err
	}
	if o.NameOnly {
		return &table.Snapshot{Format: "Delta", Name: fmt.Sprint(version)}, nil
	}
	r, err := l.replay(ctx, version)
	if err != nil {
		return nil, err
	}
	return l.snapshot(ctx, version, r)
}

// snapshot makes a snapshot of the files and the schema of a replay.
func (l *log) snapshot(ctx context.Context, version int64, r *replay) (*table.Snapshot, error) {
	if r.protocol == nil || r.metadata == nil {
		return nil, fmt.Errorf("%w: its log has no protocol or no metadata", shard.ErrCorrupt)
	}
	if err := r.protocol.check(); err != nil {
		return nil, err
	}
	schema, err := r.metadata.schema(r.protocol)
	if err != nil {
		return nil, err
	}
	if err := r.sort(); err != nil {
		return nil, err
	}
	s := &table.Snapshot{
		Format: "Delta", Table: r.metadata.ID, Name: fmt.Sprint(version), Time: r.time,
		Fields: schema.fields, Unreadable: schema.unreadable, Files: make([]table.File, len(r.files)),
	}
	for i := range r.files {
		f := &r.files[i]
		s.Files[i] = table.File{Shard: shard.Shard{URI: f.uri, Size: f.size}, Rows: f.rows, FirstRow: f.first}
		if s.Files[i].Constants, err = schema.constants(f.partition); err != nil {
			return nil, &shard.Error{Op: "table", URI: f.uri, Err: err}
		}
	}
	if r.metadata.Config[rowTracking] == "true" {
		s.TrackRows(0, r.metadata.Config[rowIDColumn])
	}
	return s, shard.OfTable(l.vectors(ctx, r.files, s.Files))
}

// sort puts the files into the order of their URIs. No file may be there twice, with two vectors.
func (r *replay) sort() error {
	slices.SortFunc(r.files, func(a, b file) int { return cmp.Compare(a.uri, b.uri) })
	for i := 1; i < len(r.files); i++ {
		if r.files[i].uri == r.files[i-1].uri {
			return &shard.Error{Op: "table", URI: r.files[i].uri, Err: fmt.Errorf("%w: the log has this file twice", shard.ErrCorrupt)}
		}
	}
	return nil
}
