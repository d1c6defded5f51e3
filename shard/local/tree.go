package local

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/driver"
)

// tree is the local disk as driver.Walk sees it.
type tree struct {
	prefix string // the part of the address before a path

	// When a path was percent-decoded to find it: how it was spelled, and as what it was decoded.
	spelled, decoded string
}

// URI returns the address of a path: the user's spelling, followed by names from the disk. After a
// spelling that is decoded, the percent signs of names must be encoded, so that Open finds them;
// other characters stay readable, since decoding does not change them.
func (t tree) URI(path string) string {
	if t.decoded == "" {
		return t.prefix + path
	}
	spelled := ""
	if rest, ok := strings.CutPrefix(path, t.decoded); ok {
		spelled, path = t.spelled, rest
	}
	return t.prefix + spelled + strings.ReplaceAll(path, "%", "%25")
}

func (t tree) Stat(ctx context.Context, path string) (driver.Entry, error) {
	if err := ctx.Err(); err != nil {
		return driver.Entry{}, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return driver.Entry{}, classify(err)
	}
	return entry(info), nil
}

// ReadAll follows links, but never to a directory that contains them.
func (t tree) ReadAll(ctx context.Context, root, _ string, keep driver.Keep) ([]driver.Entry, error) {
	e, err := t.Stat(ctx, root)
	if err != nil {
		return nil, err
	}
	return driver.Descend(ctx, 1, e.Identity, keep, func(ctx context.Context, dir string, wanted func(driver.Entry) bool) ([]driver.Entry, error) {
		if dir == "" {
			return t.readDir(ctx, root, wanted)
		}
		return t.readDir(ctx, strings.TrimRight(root, "/")+"/"+dir, wanted)
	})
}

func (t tree) readDir(ctx context.Context, path string, wanted func(driver.Entry) bool) ([]driver.Entry, error) {
	dir, err := os.Open(path)
	if err != nil {
		return nil, t.failed(path, classify(err))
	}
	defer dir.Close()
	var all []driver.Entry
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		names, err := dir.ReadDir(1024)
		for _, d := range names {
			kind, isLink := driver.KindFile, d.Type()&fs.ModeSymlink != 0 // which may lead to either
			if d.IsDir() {
				kind = driver.KindDir
			}
			if !wanted(driver.Entry{Name: d.Name(), Kind: kind}) && !(isLink && wanted(driver.Entry{Name: d.Name(), Kind: driver.KindDir})) {
				continue // nothing more needs to be known of it
			}
			e, err := t.look(path, d)
			if errors.Is(err, shard.ErrNotExist) {
				continue
			}
			if err != nil {
				return nil, err
			}
			if !isLink && e.Kind == kind || wanted(e) {
				all = append(all, e)
			}
		}
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, t.failed(path, classify(err))
		}
	}
}

func (t tree) failed(path string, err error) error {
	return &shard.Error{Op: "list", URI: t.URI(path), Err: err}
}

// look describes one name of a directory, behind links. A link that leads nowhere is an error: its
// writer meant it to be data.
func (t tree) look(dir string, d fs.DirEntry) (driver.Entry, error) {
	path := strings.TrimRight(dir, "/") + "/" + d.Name()
	info, err := os.Stat(path)
	if err != nil {
		err = classify(err)
		if errors.Is(err, shard.ErrNotExist) && d.Type()&fs.ModeSymlink != 0 {
			err = errors.New("the link's target does not exist")
		}
		return driver.Entry{}, t.failed(path, err)
	}
	e := entry(info)
	e.Name = d.Name()
	return e, nil
}

func entry(info fs.FileInfo) driver.Entry {
	e := driver.Entry{Name: info.Name(), Size: info.Size(), Version: version(info), Instance: instance(info)}
	switch {
	case info.IsDir():
		e.Kind = driver.KindDir
		e.Identity = identity(info)
	case !info.Mode().IsRegular():
		e.Kind = driver.KindOther
	}
	return e
}
