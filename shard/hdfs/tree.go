package hdfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"time"

	"github.com/colinmarc/hdfs/v2"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/driver"
	"github.com/shardfeed/shardfeed/shard/hdfs/conf"
	"github.com/shardfeed/shardfeed/shard/hdfs/webhdfs"
)

// page is how many entries of a directory one call of a namenode lists.
const page = 1000

// tree lists the files of an address for driver.Walk. Paths are the address's own, which a mount
// table may map to several clusters.
type tree struct {
	store  *Store
	prefix string // of addresses, before the path
	list   *driver.Listing
}

func (t *tree) URI(path string) string { return t.prefix + path }

func (t *tree) Stat(ctx context.Context, name string) (driver.Entry, error) {
	if err := ctx.Err(); err != nil {
		return driver.Entry{}, err
	}
	p, err := t.store.locate(t.prefix + name)
	if errors.Is(err, conf.ErrMounts) {
		return driver.Entry{Name: path.Base(name), Kind: driver.KindDir}, nil
	}
	if err != nil {
		return driver.Entry{}, err
	}
	info, err := p.stat(ctx)
	if err != nil {
		return driver.Entry{}, t.wrap(name, err)
	}
	return entry(info), nil
}

// ReadAll lists many directories at a time.
func (t *tree) ReadAll(ctx context.Context, root, _ string, keep driver.Keep) ([]driver.Entry, error) {
	return driver.Descend(ctx, driver.ListsAtOnce, "", keep, func(ctx context.Context, dir string, wanted func(driver.Entry) bool) ([]driver.Entry, error) {
		return t.readDir(ctx, path.Join(root, dir), wanted)
	})
}

func (t *tree) readDir(ctx context.Context, dir string, keep func(driver.Entry) bool) ([]driver.Entry, error) {
	p, err := t.store.locate(t.prefix + dir)
	if errors.Is(err, conf.ErrMounts) {
		return t.mounts(ctx, dir, keep)
	}
	if err != nil {
		return nil, err
	}
	var all []driver.Entry
	err = p.cluster.retry(ctx, func(ctx context.Context, c *client) error {
		t.list.Undo(all) // of a try that failed
		all = all[:0]
		return t.readPages(ctx, c, p.path, keep, &all)
	})
	if err != nil {
		return nil, t.wrap(dir, err)
	}
	return all, nil
}

func (t *tree) readPages(ctx context.Context, c *client, dir string, keep func(driver.Entry) bool, all *[]driver.Entry) error {
	d, err := c.look(ctx, dir)
	if err != nil {
		return err
	}
	defer d.Close()
	if !d.Stat().IsDir() {
		return shard.ErrNotExist
	}
	for {
		measured := c.meter.Start(ctx, driver.ListRequest)
		infos, err := d.Readdir(page)
		measured.End(listed(err))
		if errors.Is(err, io.EOF) { // an empty page is the end
			return nil
		}
		if err != nil {
			return err
		}
		before := len(*all)
		for _, info := range infos {
			if e := entry(info); keep(e) {
				*all = append(*all, e)
			}
		}
		if err := t.list.Take((*all)[before:]); err != nil {
			return err
		}
		if len(infos) < page {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// listed returns the error of a page, or nil at the end of the list.
func listed(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// mounts lists a directory of a mount table, each entry as what it leads to.
func (t *tree) mounts(ctx context.Context, dir string, keep func(driver.Entry) bool) ([]driver.Entry, error) {
	setup, err := t.store.setup()
	if err != nil {
		return nil, err
	}
	var all []driver.Entry
	for _, name := range setup.conf.Mounts(t.prefix + path.Clean(dir)) {
		e, err := t.Stat(ctx, path.Join(dir, name))
		if err != nil {
			return nil, err
		}
		if e.Name = name; keep(e) {
			all = append(all, e)
		}
	}
	return all, nil
}

// wrap leaves ErrNotExist to Walk, which asks for it; other errors get their words and a hint here,
// where the path is known.
func (t *tree) wrap(name string, err error) error {
	if err = classify(err); errors.Is(err, shard.ErrNotExist) {
		return err
	}
	return wrap("list", t.URI(name), err)
}

func (p location) stat(ctx context.Context) (info fs.FileInfo, err error) {
	err = p.cluster.retry(ctx, func(ctx context.Context, c *client) error {
		info, err = c.stat(ctx, p.path)
		return err
	})
	return info, err
}

func entry(info fs.FileInfo) driver.Entry {
	e := driver.Entry{Name: info.Name(), Size: info.Size(), Version: version(info)}
	switch {
	case info.IsDir():
		e.Kind, e.Size = driver.KindDir, 0
	case status(info).GetFileType().String() != "IS_FILE":
		e.Kind = driver.KindOther
	}
	return e
}

func status(info fs.FileInfo) *hdfs.FileStatus {
	s, _ := info.Sys().(*hdfs.FileStatus)
	return s
}

// version is the modification time in milliseconds and the file's id, which no other file of the
// cluster ever has.
func version(info fs.FileInfo) string {
	return webhdfs.Version(info.ModTime().UnixMilli(), int64(status(info).GetFileId()))
}

func changed(s shard.Shard, info fs.FileInfo) error {
	switch now := version(info); {
	case info.IsDir():
		return fmt.Errorf("%w: it is a directory now", shard.ErrChanged)
	case info.Size() != s.Size:
		return fmt.Errorf("%w: was %d bytes, is %d", shard.ErrChanged, s.Size, info.Size())
	case !s.Admits(now):
		return fmt.Errorf("%w: was %s, is %s", shard.ErrChanged, describe(s.Version), describe(now))
	}
	return nil
}

func describe(version string) string {
	var ms int64
	var id uint64
	if _, err := fmt.Sscanf(version, "%d-%d", &ms, &id); err != nil {
		return fmt.Sprintf("version %q", version)
	}
	return fmt.Sprintf("file %d modified at %s", id, time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z"))
}
