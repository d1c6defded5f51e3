package webhdfs

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/driver"
)

// tree is a cluster's files as driver.Walk sees them.
type tree struct {
	cluster *cluster
	prefix  string // of URIs
	listing *driver.Listing
}

func (t *tree) URI(path string) string { return t.prefix + path }

func (t *tree) Stat(ctx context.Context, path string) (driver.Entry, error) {
	s, err := t.cluster.stat(ctx, clean(path))
	if err != nil {
		return driver.Entry{}, err
	}
	return s.entry(), nil
}

func (c *cluster) stat(ctx context.Context, path string) (status, error) {
	return ask(ctx, c, query{op: "GETFILESTATUS", path: path}, parseStatus)
}

// ReadAll lists many directories at a time.
func (t *tree) ReadAll(ctx context.Context, root, _ string, keep driver.Keep) ([]driver.Entry, error) {
	root = clean(root)
	return driver.Descend(ctx, driver.ListsAtOnce, "", keep, func(ctx context.Context, dir string, wanted func(driver.Entry) bool) ([]driver.Entry, error) {
		return t.readDir(ctx, path.Join(root, dir), wanted)
	})
}

func (t *tree) readDir(ctx context.Context, dir string, keep func(driver.Entry) bool) (all []driver.Entry, err error) {
	err = t.cluster.list(ctx, dir, func(page []status) error {
		before := len(all)
		for _, s := range page {
			e := s.entry()
			if e.Name == "" || !keep(e) { // a file lists itself under no name
				continue
			}
			all = append(all, e)
		}
		return t.listing.Take(all[before:])
	})
	return all, err
}

func (c *cluster) list(ctx context.Context, path string, take func([]status) error) error {
	last := ""
	for !c.noPages.Load() {
		page, err := ask(ctx, c, query{op: "LISTSTATUS_BATCH", path: path, args: url.Values{"startAfter": {last}}}, parsePage)
		if errors.Is(err, errUnsupported) && last == "" {
			c.noPages.Store(true)
			break
		}
		if err != nil {
			return err
		}
		if err := take(page.files); err != nil || page.left <= 0 {
			return err
		}
		if len(page.files) == 0 || page.files[len(page.files)-1].Name <= last {
			return fmt.Errorf("%w: the server's list of %s repeats itself", shard.ErrCorrupt, path)
		}
		last = page.files[len(page.files)-1].Name
	}
	all, err := ask(ctx, c, query{op: "LISTSTATUS", path: path}, parseList)
	if err != nil {
		return err
	}
	return take(all)
}
