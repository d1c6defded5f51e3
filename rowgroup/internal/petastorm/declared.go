package petastorm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/internal/unischema"
	"github.com/shardfeed/shardfeed/rowgroup/internal/block"
	"github.com/shardfeed/shardfeed/rowgroup/internal/footer"
	"github.com/shardfeed/shardfeed/shard"
)

// declaredFile is where petastorm keeps the schema of a data set, beside the shards or above their
// partitions.
const declaredFile = "_common_metadata"

// maxDeclared bounds the directories in which schemas are looked for.
const maxDeclared = 64

// Declared is the encodings of columns by their names in the data set.
type Declared struct {
	Encodings map[string]*column.Encoding
	files     map[string]string // that has each
}

// Add adds what the directories of shards declare. rename has the names of columns in the data set.
func (d *Declared) Add(ctx context.Context, store shard.Store, shards []shard.Shard, rename map[string]string) error {
	dirs := datasetRoots(shards)
	if len(dirs) > maxDeclared {
		return &block.Error{
			Op: "schema", URI: shards[0].URI, RowGroup: -1, Page: -1,
			Err: fmt.Errorf("the shards are in more than %d directories, each of which may have a schema of petastorm", maxDeclared), Hint: "declare each column in {Images}",
		}
	}
	for _, dir := range dirs {
		if err := d.read(ctx, store, dir, rename); err != nil {
			return err
		}
	}
	return nil
}

// datasetRoots lists the directories of data sets: each shard's directory without its partitions.
// It stops above maxDeclared.
func datasetRoots(shards []shard.Shard) (dirs []string) {
	for _, s := range shards {
		dir := s.URI[:max(0, strings.LastIndexByte(s.URI, '/'))]
		for {
			parent, name := dir[:max(0, strings.LastIndexByte(dir, '/'))], dir[strings.LastIndexByte(dir, '/')+1:]
			if parent == "" || !strings.Contains(name, "=") {
				break
			}
			dir = parent
		}
		if last := len(dirs) - 1; last < 0 || dirs[last] != dir && !slices.Contains(dirs, dir) {
			if dirs = append(dirs, dir); len(dirs) > maxDeclared {
				break
			}
		}
	}
	return dirs
}

// read adds what the schema of a directory declares, if it has one.
func (d *Declared) read(ctx context.Context, store shard.Store, dir string, rename map[string]string) error {
	found, err := store.List(ctx, dir+"/"+declaredFile)
	if errors.Is(err, shard.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	file := found[0]
	bad := func(err error) error {
		return &block.Error{
			Op: "schema", URI: file.URI, RowGroup: -1, Page: -1, Err: fmt.Errorf("petastorm's schema: %w", err),
			Hint: "declare each column in {Images}",
		}
	}
	footer, err := footer.Read(ctx, store, file)
	if err != nil {
		return err
	}
	if footer.Unischema == nil {
		return nil
	}
	fields, err := unischema.Parse(footer.Unischema)
	if err != nil {
		return bad(err)
	}
	for _, f := range fields {
		name := f.Name
		if to, ok := rename[name]; ok {
			name = to
		}
		e := &column.Encoding{Codec: f.Codec, DType: f.DType, Shape: f.Shape}
		if other := d.Encodings[name]; other != nil && other.String() != e.String() {
			return bad(fmt.Errorf("column %q is %v here and %v in %s", name, e, other, shard.Redact(d.files[name])))
		}
		if d.Encodings == nil {
			d.Encodings, d.files = map[string]*column.Encoding{}, map[string]string{}
		}
		d.Encodings[name], d.files[name] = e, file.URI
	}
	return nil
}
