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
	"github.com/shardfeed/shardfeed/shard/driver/bucket"
)

// folderMark ends the names by which old Hadoop clients mark directories.
const folderMark = "_$folder$"

// input asks for a page. Keys travel percent-encoded: XML cannot carry all of them. S3 Express
// knows neither that nor prefixes that end within a name.
func (s *Store) input(q bucket.Query) *s3.ListObjectsV2Input {
	in := &s3.ListObjectsV2Input{Bucket: &q.Bucket, Prefix: &q.Prefix, RequestPayer: s.payer(), EncodingType: types.EncodingTypeUrl}
	if isExpress(q.Bucket) {
		in.Prefix, in.EncodingType = aws.String(q.Prefix[:strings.LastIndexByte(q.Prefix, '/')+1]), ""
	}
	if n := s.pageKeys; n > 0 {
		in.MaxKeys = &n
	}
	if q.Level {
		in.Delimiter = aws.String("/")
	}
	if q.After != "" {
		in.StartAfter = &q.After
	}
	if q.Token != "" {
		in.ContinuationToken = &q.Token
	}
	return in
}

// Page asks for a page of keys.
func (t *source) Page(ctx context.Context, path string, q bucket.Query) (*bucket.Page, error) {
	in := t.store.input(q)
	var out *s3.ListObjectsV2Output
	c, err := t.store.call(ctx, q.Bucket, func(ctx context.Context, c *client) (err error) {
		if out, err = c.list(ctx, in); err == nil && !isList(out) {
			err = fmt.Errorf("%w: it is not a list of keys", errForeign)
		}
		return err
	})
	if err != nil {
		return nil, t.wrap(ctx, path, c, err)
	}
	p, err := readPage(out, q.Prefix)
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
func readPage(out *s3.ListObjectsV2Output, prefix string) (*bucket.Page, error) {
	decode := func(s *string) (string, error) { return aws.ToString(s), nil }
	if out.EncodingType == types.EncodingTypeUrl {
		decode = func(s *string) (string, error) { return url.QueryUnescape(aws.ToString(s)) }
	}
	p := &bucket.Page{Files: make([]driver.Entry, 0, len(out.Contents))}
	for _, o := range out.Contents {
		key, err := decode(o.Key)
		if err != nil {
			return nil, fmt.Errorf("the server's list holds a key that cannot be read: %.200q", aws.ToString(o.Key))
		}
		if !strings.HasPrefix(key, prefix) {
			continue
		}
		p.Last = max(p.Last, key)
		size := aws.ToInt64(o.Size)
		switch {
		case strings.HasSuffix(key, "/") || size == 0 && strings.HasSuffix(key, folderMark):
			p.Marked = true
		default:
			p.Files = append(p.Files, driver.Entry{Name: key, Size: size, Version: version(o.ETag, o.LastModified)})
		}
	}
	for _, d := range out.CommonPrefixes {
		dir, err := decode(d.Prefix)
		if err != nil {
			return nil, fmt.Errorf("the server's list holds a key that cannot be read: %.200q", aws.ToString(d.Prefix))
		}
		if strings.HasPrefix(dir, prefix) && dir != prefix { // a directory within itself would never end
			p.Dirs = append(p.Dirs, dir)
		}
	}
	if !aws.ToBool(out.IsTruncated) {
		return p, nil
	}
	if p.Next = aws.ToString(out.NextContinuationToken); p.Next == "" {
		return nil, fmt.Errorf("the server's list is incomplete: more follows, but it has no token for the next page")
	}
	return p, nil
}
