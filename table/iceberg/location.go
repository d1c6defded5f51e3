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
	if err == nil || ctx.Err() != nil || !errors.Is(err, shard.ErrNotExist) && !errors.Is(err, shard.ErrBadURI) {
		return content, err
	}
	from := strings.TrimRight(table.AddressOf(r.meta.Location), "/")
	if from == strings.TrimRight(table.AddressOf(dir), "/") {
		return nil, shard.OfTable(err)
	}
	if dir != "" {
		r.moved = &move{from: from, to: dir}
		if there, err := readAll(ctx, r.options.Store, r.locate(list), maxMetadata); err == nil {
			return there, nil
		}
	}
	return nil, &shard.Error{
		Op: "table", URI: r.address, Err: err,
		Hint: "the table's location is " + shard.Redact(r.meta.Location) + "; a copy needs its manifests too, and the metadata file in its directory metadata/",
	}
}

// read reads a range of a file of a known size.
func (r *reader) read(ctx context.Context, path string, size int64, span shard.Span) ([]byte, error) {
	if size > maxMetadata || span.N > maxMetadata {
		return nil, errors.New("a file of metadata is larger than 1 GiB")
	}
	return readPart(ctx, r.options.Store, shard.Shard{URI: r.locate(path), Size: size}, span)
}
