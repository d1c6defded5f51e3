package webhdfs

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
	root  string // as in HDFS
	keep  func(path string, dir bool) bool
	group *errgroup.Group

	mu  sync.Mutex
	all []shard.Entry
}

// ReadAll lists many directories at a time. One that vanishes meanwhile has no files.
func (t *tree) ReadAll(ctx context.Context, root, _ string, keep func(path string, dir bool) bool) ([]shard.Entry, error) {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxWalkers)
	d := &descent{tree: t, root: clean(root), keep: keep, group: group}
	group.Go(func() error { return d.walk(ctx, "") })
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return d.all, nil
}

// walk lists the directory at a path below the root, and those below it: beside this one where a walker is free.
func (d *descent) walk(ctx context.Context, dir string) error {
	var below []string
	err := d.tree.cluster.list(ctx, path.Join(d.root, dir), func(page []status) {
		below = append(below, d.take(dir, page)...)
	})
	if err != nil {
		if dir != "" && errors.Is(err, shard.ErrNotExist) {
			return nil
		}
		return err
	}
	for _, name := range below {
		if !d.group.TryGo(func() error { return d.walk(ctx, name) }) {
			if err := d.walk(ctx, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// take keeps the wanted files of a page, and returns the directories to look into.
func (d *descent) take(dir string, page []status) (below []string) {
	var files []shard.Entry
	for _, s := range page {
		e := s.entry()
		if e.Name == "" || e.Kind == shard.KindOther { // a file lists itself under no name
			continue
		}
		e.Name = path.Join(dir, e.Name)
		switch wanted := d.keep(e.Name, e.Kind == shard.KindDir); {
		case !wanted:
		case e.Kind == shard.KindDir:
			below = append(below, e.Name)
		default:
			files = append(files, e)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all = append(d.all, files...)
	d.tree.found(len(files))
	return below
}
