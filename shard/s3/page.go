package s3

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/shardfeed/shardfeed/shard/driver"
)

// A query asks for one page of a bucket's keys.
type query struct {
	bucket, prefix string
	level          bool   // only up to the next slash: directories are named once
	after          string // only keys behind this one, or ""
	token          string // goes on where a page ended, or ""
}

// A page is one answer: up to a thousand keys in order.
type page struct {
	files  []driver.Entry // named by their whole keys
	dirs   []string       // whole, with their slash
	last   string         // the last key, of a file or not; "" in an empty page
	marked bool           // the mark of a directory was among them
	next   string         // token of the page that follows, or ""
}

// folderMark ends the names by which old Hadoop clients mark directories.
const folderMark = "_$folder$"

// input asks for a page. Keys travel percent-encoded: XML cannot carry all of them. S3 Express
// knows neither that nor prefixes that end within a name.
func (s *Store) input(q query) *s3.ListObjectsV2Input {
	in := &s3.ListObjectsV2Input{Bucket: &q.bucket, Prefix: &q.prefix, RequestPayer: s.payer(), EncodingType: types.EncodingTypeUrl}
	if isExpress(q.bucket) {
		in.Prefix, in.EncodingType = aws.String(q.prefix[:strings.LastIndexByte(q.prefix, '/')+1]), ""
	}
	if n := s.pageKeys; n > 0 {
		in.MaxKeys = &n
	}
	if q.level {
		in.Delimiter = aws.String("/")
	}
	if q.after != "" {
		in.StartAfter = &q.after
	}
	if q.token != "" {
		in.ContinuationToken = &q.token
	}
	return in
}

func (t *tree) page(ctx context.Context, path string, q query) (*page, error) {
	in := t.store.input(q)
	var out *s3.ListObjectsV2Output
	c, err := t.store.call(ctx, q.bucket, func(ctx context.Context, c *client) (err error) {
		if out, err = c.list(ctx, in); err == nil && !isList(out) {
			err = fmt.Errorf("%w: it is not a list of keys", errForeign)
		}
		return err
	})
	if err != nil {
		return nil, t.wrap(ctx, path, c, err)
	}
	p, err := readPage(out, q.prefix)
	if err != nil {
		return nil, t.wrap(ctx, path, c, err)
	}
	return p, nil
}

func (c *client) list(ctx context.Context, in *s3.ListObjectsV2Input) (*s3.ListObjectsV2Output, error) {
	measured := c.meter.Start(ctx, driver.ListRequest)
	out, err := c.api.ListObjectsV2(ctx, in)
	measured.End(err)
	return out, err
}

// isList distinguishes the answer to a list from other XML, such as a proxy's page, which parses as
// an empty list.
func isList(out *s3.ListObjectsV2Output) bool {
	return out.Name != nil || out.KeyCount != nil || out.MaxKeys != nil || out.IsTruncated != nil || len(out.Contents)+len(out.CommonPrefixes) > 0
}

// readPage takes what a server sent apart. Keys that the prefix does not start are left out: a
// server that sends them misunderstood.
func readPage(out *s3.ListObjectsV2Output, prefix string) (*page, error) {
	decode := func(s *string) (string, error) { return aws.ToString(s), nil }
	if out.EncodingType == types.EncodingTypeUrl {
		decode = func(s *string) (string, error) { return url.QueryUnescape(aws.ToString(s)) }
	}
	p := &page{files: make([]driver.Entry, 0, len(out.Contents))}
	for _, o := range out.Contents {
		key, err := decode(o.Key)
		if err != nil {
			return nil, fmt.Errorf("the server's list holds a key that cannot be read: %.200q", aws.ToString(o.Key))
		}
		if !strings.HasPrefix(key, prefix) {
			continue
		}
		p.last = max(p.last, key)
		size := aws.ToInt64(o.Size)
		switch {
		case strings.HasSuffix(key, "/") || size == 0 && strings.HasSuffix(key, folderMark):
			p.marked = true
		default:
			p.files = append(p.files, driver.Entry{Name: key, Size: size, Version: version(o.ETag, o.LastModified)})
		}
	}
	for _, d := range out.CommonPrefixes {
		dir, err := decode(d.Prefix)
		if err != nil {
			return nil, fmt.Errorf("the server's list holds a key that cannot be read: %.200q", aws.ToString(d.Prefix))
		}
		if strings.HasPrefix(dir, prefix) && dir != prefix { // a directory within itself would never end
			p.dirs = append(p.dirs, dir)
		}
	}
	if !aws.ToBool(out.IsTruncated) {
		return p, nil
	}
	if p.next = aws.ToString(out.NextContinuationToken); p.next == "" {
		return nil, fmt.Errorf("the server's list is incomplete: more follows, but it has no token for the next page")
	}
	return p, nil
}
