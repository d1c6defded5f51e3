package s3

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/shardfeed/shardfeed/shard"
)

// timePrefix starts the version of an object whose server gives no entity tags: the time of its
// last change, in seconds.
const timePrefix = "time:"

// version is an object's entity tag without quotes. It is compared and never understood.
func version(tag *string, changed *time.Time) string {
	if v := strings.Trim(aws.ToString(tag), `"`); v != "" {
		return v
	}
	if changed == nil {
		return timePrefix + "unknown"
	}
	return timePrefix + strconv.FormatInt(changed.Unix(), 10)
}

// entityTag is a version as If-Match has it, or "" where it is none.
func entityTag(version string) string {
	switch {
	case version == "", strings.HasPrefix(version, timePrefix):
		return ""
	case strings.HasPrefix(version, `W/"`):
		return version + `"`
	}
	return `"` + version + `"`
}

// check compares the head of an answer with the request: the version, the shard's size, and the
// first byte. Servers that ignore If-Match or Range exist.
func (o *object) check(out *s3.GetObjectOutput, off int64) error {
	first, total, err := int64(0), aws.ToInt64(out.ContentLength), error(nil)
	if out.ContentRange != nil {
		first, total, err = contentRange(*out.ContentRange)
	}
	switch now := version(out.ETag, out.LastModified); {
	case now != o.shard.Version && o.shard.Version != "":
		return o.changed(now, total)
	case err != nil:
		return fmt.Errorf("%w: %w", shard.ErrCorrupt, err)
	case out.ContentRange == nil && off > 0:
		return fmt.Errorf("%w: the server does not serve ranges: it answered without Content-Range", shard.ErrCorrupt)
	case total > 0 && total != o.shard.Size:
		return o.changed(now, total)
	case first != off:
		return fmt.Errorf("%w: the server answered with byte %d and on, not with byte %d and on", shard.ErrCorrupt, first, off)
	}
	return nil // without Content-Range it is all of it, of which the beginning is taken
}

// changed names both versions. A size of 0 or less is not known.
func (o *object) changed(now string, size int64) error {
	if size <= 0 || size == o.shard.Size {
		return fmt.Errorf("%w: was version %s, is %s", shard.ErrChanged, o.shard.Version, now)
	}
	return fmt.Errorf("%w: was version %s of %d bytes, is %s of %d bytes", shard.ErrChanged, o.shard.Version, o.shard.Size, now, size)
}

// explainChange asks what the object is now when the server only said that it is another.
func (o *object) explainChange(ctx context.Context, c *client, err error) error {
	if !isChanged(err) || errors.Is(err, shard.ErrChanged) {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, o.store.o.ReadTimeout)
	defer cancel()
	out, lookErr := o.store.head(ctx, c, o.at)
	if lookErr != nil { // gone meanwhile, or not to be looked at; the change is what matters
		return fmt.Errorf("%w: it is no longer version %s: %w", shard.ErrChanged, o.shard.Version, err)
	}
	return o.changed(version(out.ETag, out.LastModified), aws.ToInt64(out.ContentLength))
}

var rangeText = regexp.MustCompile(`^bytes (\d+)-[^/]*/(\d+|\*)$`)

// contentRange reads "bytes 0-99/1234"; a total of * is -1.
func contentRange(text string) (first, total int64, err error) {
	if m := rangeText.FindStringSubmatch(text); m != nil {
		first, err = strconv.ParseInt(m[1], 10, 64)
		if total = -1; m[2] != "*" && err == nil {
			total, err = strconv.ParseInt(m[2], 10, 64)
		}
		if err == nil {
			return first, total, nil
		}
	}
	return 0, 0, fmt.Errorf("the server's Content-Range cannot be read: %.100q", text)
}
