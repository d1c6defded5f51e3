package iceberg

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/table"
)

// endings of metadata files. Older writers put .gz last.
var endings = []string{".metadata.json", ".gz.metadata.json", ".metadata.json.gz"}

// isMetadata reports whether an address names a metadata file by its ending.
func isMetadata(address string) bool {
	return strings.HasSuffix(address, endings[0]) || strings.HasSuffix(address, endings[2])
}

// A source is where a table was opened.
type source struct {
	dir  string // of the table, without a slash at its end; "" if it is not known
	file string // address of the metadata file
	meta *metadata
}

// load finds and reads the metadata file of an address.
func load(ctx context.Context, address string, o table.Options) (*source, error) {
	s := &source{dir: strings.TrimRight(address, "/"), file: address}
	if isMetadata(address) {
		s.dir = tableOf(address)
	} else {
		var err error
		if s.file, err = newest(ctx, o.Store, s.dir+"/metadata/"); err != nil {
			return nil, err
		}
	}
	content, err := readAll(ctx, o.Store, s.file, maxMetadata)
	if err != nil {
		return nil, err
	}
	if s.meta, err = parse(content); err != nil {
		e := &shard.Error{Op: "table", URI: s.file, Err: err}
		if errors.Is(err, shard.ErrCorrupt) {
			e.Hint = "if it is being written, try again; else name an older metadata file"
		}
		return nil, e
	}
	return s, nil
}

// tableOf is the directory of the table that a metadata file belongs to, or "".
func tableOf(file string) string {
	dir, found := strings.CutSuffix(file[:max(0, strings.LastIndexByte(file, '/'))], "/metadata")
	if !found {
		return ""
	}
	return dir
}

// newest returns the address of the newest metadata file of a directory.
func newest(ctx context.Context, store shard.Store, dir string) (string, error) {
	hint, err := readAll(ctx, store, dir+"version-hint.text", maxHint)
	if err == nil {
		return hinted(ctx, store, dir, strings.TrimSpace(string(hint)))
	}
	if !errors.Is(err, shard.ErrNotExist) {
		return "", err
	}
	return highest(ctx, store, dir)
}

const maxHint = 4 << 10 // bytes

// hinted returns the metadata file that a version hint names, or a newer one: writers change the
// hint last.
func hinted(ctx context.Context, store shard.Store, dir, hint string) (string, error) {
	if isMetadata(hint) {
		file := dir + path.Base(hint)
		if _, err := store.List(ctx, file); errors.Is(err, shard.ErrNotExist) {
			return "", &shard.Error{
				Op: "table", URI: strings.TrimSuffix(dir, "/metadata/"), Err: fmt.Errorf("%w: %s, which version-hint.text names", shard.ErrNotExist, path.Base(hint)),
				Hint: "correct the hint, or name a metadata file",
			}
		}
		return file, nil
	}
	n, err := strconv.ParseInt(hint, 10, 64)
	if err != nil {
		return highest(ctx, store, dir) // as of writers that keep a name of another kind
	}
	last := ""
	for ; ; n++ {
		file, err := numbered(ctx, store, dir, n)
		switch {
		case err != nil:
			return "", err
		case file == "" && last == "":
			return highest(ctx, store, dir)
		case file == "":
			return last, nil
		}
		last = file
	}
}

// numbered returns the metadata file of a version, or "".
func numbered(ctx context.Context, store shard.Store, dir string, n int64) (string, error) {
	for _, ending := range endings {
		file := fmt.Sprintf("%sv%d%s", dir, n, ending)
		_, err := store.List(ctx, file)
		if err == nil {
			return file, nil
		}
		if !errors.Is(err, shard.ErrNotExist) {
			return "", err
		}
	}
	return "", nil
}

// highest returns the metadata file with the highest number. Two of one number are an error: only
// a catalog knows which one counts.
func highest(ctx context.Context, store shard.Store, dir string) (string, error) {
	var all []shard.Shard
	for _, pattern := range []string{"*" + endings[0], "*" + endings[2]} {
		found, err := store.List(ctx, dir+pattern)
		if err != nil && !errors.Is(err, shard.ErrNotExist) {
			return "", err
		}
		all = append(all, found...)
	}
	best, number := []string{}, int64(-1)
	for _, s := range all {
		n := numberOf(path.Base(s.URI))
		if n > number {
			best, number = best[:0], n
		}
		if n == number && n >= 0 {
			best = append(best, path.Base(s.URI))
		}
	}
	slices.Sort(best)
	table := strings.TrimSuffix(dir, "/metadata/")
	switch len(best) {
	case 1:
		return dir + best[0], nil
	case 0:
		return "", &shard.Error{
			Op: "table", URI: table, Err: fmt.Errorf("%w: metadata/ has no version-hint.text and no *.metadata.json", shard.ErrNotExist),
			Hint: cmp.Or(shard.SlashHint(table), "an Iceberg table is named by its directory or by a metadata file"),
		}
	}
	return "", &shard.Error{
		Op: "table", URI: table, Err: fmt.Errorf("%w: metadata/ has two files of version %d, %s and %s", shard.ErrBadURI, number, best[0], best[1]),
		Hint: "only the table's catalog knows the valid one: open the table by its catalog, or name one of the files",
	}
}

// numberOf is the version in the name of a metadata file: 12 of v12.metadata.json and of
// 00012-UUID.metadata.json; -1 without one.
func numberOf(name string) int64 {
	name = strings.TrimPrefix(name, "v")
	digits := name[:len(name)-len(strings.TrimLeft(name, "0123456789"))]
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// readAll reads a whole file of at most limit bytes.
func readAll(ctx context.Context, store shard.Store, address string, limit int64) ([]byte, error) {
	found, err := store.List(ctx, address)
	if err != nil {
		return nil, err
	}
	if len(found) != 1 || found[0].Size > limit {
		return nil, &shard.Error{Op: "table", URI: address, Err: fmt.Errorf("%w: it is not one file of at most %d bytes", shard.ErrBadURI, limit)}
	}
	return readPart(ctx, store, found[0], shard.Span{N: found[0].Size})
}

// readPart reads a range of a file.
func readPart(ctx context.Context, store shard.Store, s shard.Shard, span shard.Span) (content []byte, err error) {
	object, err := store.Open(ctx, s)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, object.Close()) }()
	if err := span.Within(s.Size); err != nil {
		return nil, &shard.Error{Op: "read", URI: s.URI, Err: err}
	}
	content = make([]byte, span.N)
	return content, object.ReadAt(ctx, content, span.Off)
}
