package bucket

import (
	"context"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/shardfeed/shardfeed/internal/cause"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/driver"
)

// How many keys are listed.
const (
	flatPages     = 4  // of a prefix, in sequence, before its directories are listed concurrently
	listsAtOnce   = 32 // of one ReadAll
	afterAllBelow = "\U0010FFFF"
)

// ReadAll describes all files below a directory. A few keys are listed in consecutive pages,
// regardless of directories; for many, the directories are listed concurrently, except those
// without wanted files.
func (t *Tree) ReadAll(ctx context.Context, path, start string, keep driver.Keep) ([]driver.Entry, error) {
	at, err := t.source.Locate(path)
	if err != nil {
		return nil, err
	}
	prefix := dirPrefix(at.Key)
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(listsAtOnce)
	l := &lister{tree: t, group: group, path: path, bucket: at.Bucket, unordered: at.Unordered, dir: prefix, keep: keep}
	group.Go(func() error { return l.first(inner, start) })
	if err := group.Wait(); err != nil {
		if ctx.Err() != nil {
			return nil, cause.Of(ctx)
		}
		return nil, err
	}
	if !l.any && at.Key != "" {
		return nil, shard.ErrNotExist
	}
	return l.all, nil
}

// A lister is one ReadAll under way.
type lister struct {
	tree      *Tree
	group     *errgroup.Group
	path      string
	bucket    string
	dir       string // the part before the names
	unordered bool   // see Location
	keep      driver.Keep

	mu  sync.Mutex
	all []driver.Entry
	any bool // the directory exists
}

// first lists names with the prefix start, including the page that Stat may have requested already.
func (l *lister) first(ctx context.Context, start string) error {
	if start == "" {
		first, err := l.tree.firstPage(ctx, l.path, l.bucket, l.dir)
		if err != nil {
			return err
		}
		return l.follow(ctx, l.dir, first)
	}
	l.any = true // or nothing matches
	return l.list(ctx, l.dir+start, "")
}

// list takes all keys with a prefix behind a key.
func (l *lister) list(ctx context.Context, prefix, after string) error {
	p, err := l.tree.source.Page(ctx, l.path, Query{Bucket: l.bucket, Prefix: prefix, After: after})
	if err != nil {
		return err
	}
	return l.follow(ctx, prefix, p)
}

func (l *lister) follow(ctx context.Context, prefix string, p *Page) error {
	var pages driver.Pages
	for n := 1; ; n++ {
		if err := l.take(&pages, p); err != nil || p.Next == "" {
			return err
		}
		if n >= flatPages && p.Last != "" && !l.unordered {
			return l.spread(ctx, prefix, p.Last)
		}
		var err error
		if p, err = l.tree.source.Page(ctx, l.path, Query{Bucket: l.bucket, Prefix: prefix, Token: p.Next}); err != nil {
			return err
		}
	}
}

// spread takes the keys after one, directory by directory, continuing in the directory of that key.
func (l *lister) spread(ctx context.Context, prefix, after string) error {
	inside := "" // the directory below prefix that holds after
	q := Query{Bucket: l.bucket, Prefix: prefix, Level: true, After: after}
	if i := strings.IndexByte(after[len(prefix):], '/'); i >= 0 {
		inside = after[:len(prefix)+i+1]
		q.After = inside + afterAllBelow
		if err := l.fork(ctx, inside, after); err != nil {
			return err
		}
	}
	var pages driver.Pages
	for {
		p, err := l.tree.source.Page(ctx, l.path, q)
		if err == nil {
			err = l.take(&pages, p)
		}
		if err != nil {
			return err
		}
		for _, dir := range p.Dirs {
			if dir == inside {
				continue
			}
			if err := l.fork(ctx, dir, ""); err != nil {
				return err
			}
		}
		if p.Next == "" {
			return nil
		}
		q.Token, q.After = p.Next, ""
	}
}

// fork lists a directory beside others, or at once where enough are under way.
func (l *lister) fork(ctx context.Context, dir, after string) error {
	if !l.keep(strings.TrimSuffix(dir[len(l.dir):], "/"), true) {
		return nil
	}
	list := func() error { return l.list(ctx, dir, after) }
	if l.group.TryGo(list) {
		return nil
	}
	return list()
}

func (l *lister) take(pages *driver.Pages, p *Page) error {
	wanted := make([]driver.Entry, 0, len(p.Files))
	for _, e := range p.Files {
		if e.Name = e.Name[len(l.dir):]; l.keep(e.Name, false) {
			wanted = append(wanted, e)
		}
	}
	l.mu.Lock()
	l.any = l.any || p.Marked || len(p.Files) > 0 || len(p.Dirs) > 0
	l.all = append(l.all, wanted...)
	l.mu.Unlock()
	return l.tree.took(l.path, pages, p, wanted)
}
