package s3

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/shardfeed/shardfeed/shard"
)

// FindDirs looks for directories in the first page of a directory's names, and one by one for those
// that a later page may have. S3 Express has no order, so that only a whole list shows what is not
// there.
func (t *tree) FindDirs(ctx context.Context, path string, names []string) ([]bool, error) {
	path = strings.TrimRight(path, "/")
	at, err := parse("s3://" + path)
	if err != nil {
		return nil, err
	}
	prefix := dirPrefix(at.key)
	p, err := t.page(ctx, path, query{bucket: at.bucket, prefix: prefix, level: true})
	if err != nil {
		return nil, err
	}
	found := make([]bool, len(names))
	for i, name := range names {
		key := prefix + name + "/"
		found[i] = slices.Contains(p.dirs, key)
		if found[i] || p.next == "" || key < p.end() && !isExpress(at.bucket) {
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

// end is the last key or directory of a page in S3's order.
func (p *page) end() string { return slices.Max(append([]string{p.last}, p.dirs...)) }
