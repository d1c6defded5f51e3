package bucket

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/shardfeed/shardfeed/shard"
)

// FindDirs looks for directories in the first page of a directory's names, and one by one for those
// that a later page may have.
func (t *Tree) FindDirs(ctx context.Context, path string, names []string) ([]bool, error) {
	path = strings.TrimRight(path, "/")
	at, err := t.source.Locate(path)
	if err != nil {
		return nil, err
	}
	prefix := dirPrefix(at.Key)
	p, err := t.source.Page(ctx, path, Query{Bucket: at.Bucket, Prefix: prefix, Level: true})
	if err != nil {
		return nil, err
	}
	found := make([]bool, len(names))
	for i, name := range names {
		key := prefix + name + "/"
		found[i] = slices.Contains(p.Dirs, key)
		if found[i] || p.Next == "" || key < p.end() && !at.Unordered {
			continue
		}
		_, err := t.Stat(ctx, path+"/"+name+"/")
		if err != nil && !errors.Is(err, shard.ErrNotExist) && !errors.Is(err, shard.ErrDenied) {
			return nil, err
		}
		found[i] = err == nil
	}
	return found, nil
}
