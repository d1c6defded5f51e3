package iceberg

import (
	"context"
	"errors"
	"strings"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/table"
)

// A reader reads one snapshot of a table.
type reader struct {
	address string // as the caller gave it
	meta    *metadata
	fields  []table.Field

	unreadable []table.Unreadable
	names      mapping
	options    table.Options
	moved      *move // of files; nil if they are where the metadata says
}

func (r *reader) parallel() int { return max(1, r.options.Parallel) }

// A move maps the location of a table in its metadata to the directory that was opened.
type move struct{ from, to string } // directories without a slash at their ends

// locate returns the address of a file that the metadata names.
func (r *reader) locate(path string) string {
	path = table.AddressOf(path)
	if r.moved == nil {
		return path
	}
	if below, ok := strings.CutPrefix(path, r.moved.from+"/"); ok {
		return r.moved.to + "/" + below
	}
	return path
}

// findMove decides where the files of a table are: where the metadata says, if the manifest list
// can be read there, else where the table was opened. It returns the list.
func (r *reader) findMove(ctx context.Context, dir, list string) ([]byte, error) {
	content, err := readAll(ctx, r.options.Store, r.locate(list), maxMetadata)
	if err == nil || dir == "" || ctx.Err() != nil {
		return content, err
	}
	from := strings.TrimRight(table.AddressOf(r.meta.Location), "/")
	if !errors.Is(err, shard.ErrNotExist) && !errors.Is(err, shard.ErrBadURI) || from == strings.TrimRight(table.AddressOf(dir), "/") {
		return nil, err
	}
	r.moved = &move{from: from, to: dir}
	there, movedErr := readAll(ctx, r.options.Store, r.locate(list), maxMetadata)
	if movedErr != nil {
		e := &shard.Error{Op: "table", URI: r.address, Err: err}
		e.Hint = "its metadata says that the table is at " + shard.Redact(r.meta.Location) + "; if it is a copy, its manifests must be copied too"
		return nil, e
	}
	return there, nil
}

// read reads a range of a file of a known size.
func (r *reader) read(ctx context.Context, path string, size int64, span shard.Span) ([]byte, error) {
	if size > maxMetadata || span.N > maxMetadata {
		return nil, errors.New("a file of metadata is larger than 1 GiB")
	}
	return readPart(ctx, r.options.Store, shard.Shard{URI: r.locate(path), Size: size}, span)
}
