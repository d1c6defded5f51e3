package driver

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/shardfeed/shardfeed/shard"

	"golang.org/x/sync/errgroup"
)

// How many names, and directories, servers are asked about at once. More lists would wait for the
// lock of a name service.
const (
	WalksAtOnce = 16
	ListsAtOnce = 8
)

// Descend is ReadAll for a [Tree] that lists one directory per request; it sends up to atOnce
// requests at a time. List describes the wanted entries of a directory at a path below the root, ""
// for the root itself, whose identity is given; see Entry. List and keep are called from several
// goroutines, which have ended when Descend returns. A directory that vanishes meanwhile has no
// files, and a link to a directory above is not followed.
func Descend(ctx context.Context, atOnce int, identity string, keep Keep, list List) ([]Entry, error) {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	d := &descent{keep: keep, list: list, group: group}
	group.Go(func() error { return d.walk(ctx, "", []string{identity}) })
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return d.files, nil
}

// List describes the wanted entries of one directory.
type List = func(ctx context.Context, dir string, wanted func(Entry) bool) ([]Entry, error)

type descent struct {
	keep  Keep
	list  List
	group *errgroup.Group

	mu    sync.Mutex
	files []Entry
}

// walk lists a directory and the ones below it, side by side where a walker is free. Above are the
// identities of the directory and of those around it.
func (d *descent) walk(ctx context.Context, dir string, above []string) error {
	entries, err := d.list(ctx, dir, func(e Entry) bool {
		return e.Kind != KindOther && d.keep(below(dir, e.Name), e.Kind == KindDir)
	})
	if dir != "" && errors.Is(err, shard.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, child := range d.take(dir, entries) {
		if child.Identity != "" && slices.Contains(above, child.Identity) {
			continue
		}
		walk := func() error { return d.walk(ctx, child.Name, append(slices.Clip(above), child.Identity)) }
		if !d.group.TryGo(walk) {
			if err := walk(); err != nil {
				return err
			}
		}
	}
	return nil
}

// take keeps the files among the entries of a directory, and returns the directories.
func (d *descent) take(dir string, entries []Entry) (dirs []Entry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, e := range entries {
		e.Name = below(dir, e.Name)
		if e.Kind == KindDir {
			dirs = append(dirs, e)
		} else {
			d.files = append(d.files, e)
		}
	}
	return dirs
}

func below(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + "/" + name
}
