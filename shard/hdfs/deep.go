package hdfs

import (
	"context"
	"errors"
	"path"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/shardfeed/shardfeed/shard"
)

// maxWalkers is how many directories are listed at a time: more would wait for the namenode's lock.
const maxWalkers = 8

// A descent lists everything below a directory.
type descent struct {
	tree  *tree
	root  string
	keep  func(path string, dir bool) bool
	group *errgroup.Group

	mu  sync.Mutex
	all []shard.Entry
}

// ReadAll lists many directories at a time. One that vanishes meanwhile has no files.
func (t *tree) ReadAll(ctx context.Context, root, _ string, keep func(path string, dir bool) bool) ([]shard.Entry, error) {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(min(maxWalkers, t.store.options.Slots))
	d := &descent{tree: t, root: root, keep: keep, group: group}
	group.Go(func() error { return d.walk(ctx, "") })
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return d.all, nil
}

// walk lists the directory at a path below the root, and those below it: beside this one where a walker is free.
func (d *descent) walk(ctx context.Context, dir string) error {
	entries, err := d.tree.readDir(ctx, path.Join(d.root, dir), func(e shard.Entry) bool {
		return e.Kind != shard.KindOther && d.keep(path.Join(dir, e.Name), e.Kind == shard.KindDir)
	})
	if err != nil {
		if dir != "" && errors.Is(err, shard.ErrNotExist) {
			return nil
		}
		return err
	}
	var files []shard.Entry
	for _, e := range entries {
		e.Name = path.Join(dir, e.Name)
		if e.Kind == shard.KindFile {
			files = append(files, e)
			continue
		}
		if below := e.Name; !d.group.TryGo(func() error { return d.walk(ctx, below) }) {
			if err := d.walk(ctx, below); err != nil {
				return err
			}
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all = append(d.all, files...)
	return nil
}
