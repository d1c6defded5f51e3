package s3

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/driver"
	"github.com/shardfeed/shardfeed/shard/driver/bucket"
)

// A source makes the requests of a bucket.Tree. Paths are addresses without their scheme.
type source struct {
	store  *Store
	prefix string // of addresses: "s3://" as the user spelled it
}

func newTree(s *Store, prefix string) *bucket.Tree {
	return treeOf(s, prefix, driver.NewListing(s.o.Events.Listed))
}

func treeOf(s *Store, prefix string, listing *driver.Listing) *bucket.Tree {
	return bucket.NewTree(&source{s, prefix}, prefix, listing)
}

// Locate cuts a path into its parts.
func (t *source) Locate(path string) (bucket.Location, error) {
	at, err := parse("s3://" + path)
	return bucket.Location{Bucket: at.bucket, Key: at.key, Pinned: at.versionID != "", Unordered: isExpress(at.bucket)}, err
}

// Refusal classifies an error. A HEAD has no body that says why.
func (t *source) Refusal(err error) bucket.Refusal {
	switch {
	case isMute(err):
		return bucket.Silent
	case !errors.Is(err, shard.ErrDenied):
		return bucket.NotRefused
	case answerCode(err) == "AccessDenied":
		return bucket.Bare
	}
	return bucket.Explained
}

// Look asks for the head of an object.
func (t *source) Look(ctx context.Context, path string) (driver.Entry, error) {
	at, err := parse("s3://" + path)
	if err != nil {
		return driver.Entry{}, err
	}
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

func (t *source) wrap(ctx context.Context, path string, c *client, err error) error {
	return t.store.wrap(ctx, listing, t.prefix+path, c, err)
}

// isExpress reports whether a bucket is of S3 Express, which lists without an order and only whole
// directories.
func isExpress(bucket string) bool { return strings.HasSuffix(bucket, "--x-s3") }
