package s3

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/driver"
)

// A tree lists buckets for driver.Walk, for one List: paths are "bucket/key", and a directory is
// the part of a key before a slash. An object whose name ends with a slash marks a directory and is
// not a file.
type tree struct {
	store  *Store
	prefix string // of addresses: "s3://" as the user spelled it

	listing *driver.Listing

	mu    sync.Mutex
	first map[string]*page     // the first page of a directory's keys, by "bucket/prefix"
	dirs  map[string]*siblings // by path
}

func newTree(s *Store, prefix string) *tree {
	return &tree{
		store: s, prefix: prefix, listing: driver.NewListing(s.o.Events.Listed),
		first: make(map[string]*page), dirs: make(map[string]*siblings),
	}
}

func (t *tree) URI(path string) string { return t.prefix + path }

// Stat looks for an object of this name, and then for keys below it. The first needs no right to
// list.
func (t *tree) Stat(ctx context.Context, path string) (driver.Entry, error) {
	at, err := parse("s3://" + path)
	if err != nil {
		return driver.Entry{}, err
	}
	if at.key == "" || strings.HasSuffix(at.key, "/") {
		return t.statDir(ctx, path, at)
	}
	if e, ok, err := t.sibling(ctx, path, at); ok || err != nil {
		return e, err
	}
	e, err := t.statFile(ctx, path, at)
	switch {
	case err == nil && e.Size == 0 && at.versionID == "":
		return t.statMark(ctx, path, at, e)
	case err == nil || at.versionID != "":
		return e, err
	case !errors.Is(err, shard.ErrNotExist) && !errors.Is(err, shard.ErrDenied) && !isMute(err):
		return e, err
	}
	dir, dirErr := t.statDir(ctx, path, at)
	switch {
	case dirErr == nil:
		return dir, nil
	case isMute(err) && errors.Is(dirErr, shard.ErrNotExist): // the list may have found new credentials
		return t.statFile(ctx, path, at)
	case errors.Is(dirErr, shard.ErrDenied) && strings.ContainsAny(at.key, "{*?["):
		// Without the right to list, S3 denies access to missing keys: the names that match a
		// pattern will show.
		return driver.Entry{}, fmt.Errorf("%w: it is a pattern", shard.ErrNotExist)
	case errors.Is(err, shard.ErrDenied) && !tellsMore(dirErr):
		return driver.Entry{}, err
	}
	return driver.Entry{}, dirErr
}

// statMark describes an empty object: it marks a directory if there are keys below it.
func (t *tree) statMark(ctx context.Context, path string, at location, file driver.Entry) (driver.Entry, error) {
	if dir, err := t.statDir(ctx, path, at); err == nil {
		return dir, nil
	}
	return file, ctx.Err()
}

// tellsMore reports whether the refusal of a list says why: the key, the secret, the clock.
func tellsMore(err error) bool {
	return errors.Is(err, shard.ErrDenied) && answerCode(err) != "AccessDenied"
}

func (t *tree) statFile(ctx context.Context, path string, at location) (driver.Entry, error) {
	var out *s3.HeadObjectOutput
	c, err := t.store.call(ctx, at.bucket, func(ctx context.Context, c *client) (err error) {
		out, err = t.store.head(ctx, c, at)
		if err == nil && out.ETag == nil && out.LastModified == nil {
			err = fmt.Errorf("%w: it has neither ETag nor Last-Modified (Content-Type %s)", errForeign, aws.ToString(out.ContentType))
		}
		return err
	})
	if err != nil {
		return driver.Entry{}, t.wrap(ctx, path, c, err)
	}
	e := driver.Entry{Name: path[strings.LastIndexByte(path, '/')+1:], Size: aws.ToInt64(out.ContentLength)}
	e.Version = version(out.ETag, out.LastModified)
	return e, nil
}

// statDir looks whether a directory has keys. A bucket is a directory also when it is empty.
func (t *tree) statDir(ctx context.Context, path string, at location) (driver.Entry, error) {
	p, err := t.firstPage(ctx, path, at.bucket, dirPrefix(at.key))
	if err != nil {
		return driver.Entry{}, err
	}
	if at.key != "" && len(p.files) == 0 && !p.marked {
		return driver.Entry{}, shard.ErrNotExist
	}
	return driver.Entry{Name: path[strings.LastIndexByte(path, '/')+1:], Kind: driver.KindDir}, nil
}

func (s *Store) head(ctx context.Context, c *client, at location) (*s3.HeadObjectOutput, error) {
	in := &s3.HeadObjectInput{Bucket: &at.bucket, Key: &at.key, RequestPayer: s.payer()}
	if at.versionID != "" {
		in.VersionId = &at.versionID
	}
	measured := c.meter.Start(ctx, driver.LookRequest)
	out, err := c.api.HeadObject(ctx, in)
	failed := err
	if answerStatus(err) == http.StatusNotFound {
		failed = shard.ErrNotExist
	}
	measured.End(failed)
	return out, err
}

// firstPage returns the first page of all below a directory, which is asked for once in a List.
func (t *tree) firstPage(ctx context.Context, path, bucket, prefix string) (*page, error) {
	t.mu.Lock()
	p, ok := t.first[bucket+"/"+prefix]
	t.mu.Unlock()
	if ok {
		return p, nil
	}
	p, err := t.page(ctx, path, query{bucket: bucket, prefix: prefix})
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.first[bucket+"/"+prefix] = p
	return p, nil
}

// took counts a page, and makes sure that another follows it and not the same again.
func (t *tree) took(path string, pages *driver.Pages, p *page, wanted []driver.Entry) error {
	err := t.listing.Take(wanted)
	if err == nil && p.next != "" {
		err = pages.Next(p.next)
	}
	if err != nil {
		return &shard.Error{Op: listing.op, URI: t.URI(path), Err: err}
	}
	return nil
}

func (t *tree) wrap(ctx context.Context, path string, c *client, err error) error {
	return t.store.wrap(ctx, listing, t.URI(path), c, err)
}

// dirPrefix returns the common prefix of the keys below a directory: its name, with one slash at
// its end.
func dirPrefix(key string) string {
	if key == "" || strings.HasSuffix(key, "/") {
		return key
	}
	return key + "/"
}

// isExpress reports whether a bucket is of S3 Express, which lists without an order and only whole
// directories.
func isExpress(bucket string) bool { return strings.HasSuffix(bucket, "--x-s3") }
