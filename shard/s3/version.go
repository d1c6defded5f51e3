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

// entityTag returns a version in the form of If-Match, or "" if it is not an entity tag.
func entityTag(version string) string {
	switch {
	case version == "", strings.HasPrefix(version, timePrefix):
		return ""
	case strings.HasPrefix(version, `W/"`):
		return version + `"`
	}
	return `"` + version + `"`
}

// check compares the head of an answer with the request for n bytes from off on: the version, the
// shard's size, and the range. Servers that ignore If-Match or Range exist.
func (o *object) check(out *s3.GetObjectOutput, off, n int64) error {
	first, length, total, err := int64(0), int64(0), aws.ToInt64(out.ContentLength), error(nil)
	if out.ContentRange != nil {
		first, length, total, err = contentRange(*out.ContentRange)
	}
	switch now := version(out.ETag, out.LastModified); {
	case foreign(out.ETag, out.LastModified, o.shard.Version):
		return fmt.Errorf("%w: it has no ETag (%s)", errForeign, kindOfAnswer(out))
	case !o.shard.Admits(now):
		return o.changed(now, total)
	case err != nil:
		return fmt.Errorf("%w: %w", errForeign, err)
	case out.ContentRange == nil && off > 0:
		return errNoRanges
	case first != off:
		return fmt.Errorf("%w: it starts with byte %d, not with byte %d", errForeign, first, off)
	case out.ContentRange != nil && length > n:
		return fmt.Errorf("%w: it has %d bytes from byte %d on, where %d were asked for", errForeign, length, off, n)
	case total > 0 && total != o.shard.Size:
		return o.changed(now, total)
	case out.ContentRange != nil && length > 0 && out.ContentLength != nil && *out.ContentLength != length:
		return fmt.Errorf("%w: it has %d bytes for a range of %d (%s)", errForeign, *out.ContentLength, length, kindOfAnswer(out))
	}
	// Without Content-Range it is the whole object, whose start is used.
	return o.store.seen.Hold(o.shard, version(out.ETag, out.LastModified))
}

// foreign reports whether an answer lacks what the shard's version was made of.
func foreign(tag *string, changed *time.Time, listed string) bool {
	if entityTag(listed) != "" {
		return strings.Trim(aws.ToString(tag), `"`) == ""
	}
	return listed != "" && listed != timePrefix+"unknown" && changed == nil && aws.ToString(tag) == ""
}

// kindOfAnswer describes the body of an answer.
func kindOfAnswer(out *s3.GetObjectOutput) string {
	if encoding := aws.ToString(out.ContentEncoding); encoding != "" {
		return "Content-Encoding " + encoding
	}
	return "Content-Type " + aws.ToString(out.ContentType)
}

// changed names both versions. A size of 0 or less is not known.
func (o *object) changed(now string, size int64) error {
	if size <= 0 || size == o.shard.Size {
		return fmt.Errorf("%w: was version %s, is %s", shard.ErrChanged, o.shard.Version, now)
	}
	return fmt.Errorf("%w: was version %s of %d bytes, is %s of %d bytes", shard.ErrChanged, o.shard.Version, o.shard.Size, now, size)
}

// confirm looks at the object after an answer of another version or size: if it still is the listed
// one, the answer was wrong.
func (o *object) confirm(ctx context.Context, c *client, err error) error {
	if !errors.Is(err, shard.ErrChanged) {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, o.store.o.ReadTimeout)
	defer cancel()
	out, lookErr := o.store.head(ctx, c, o.at)
	if lookErr != nil || aws.ToInt64(out.ContentLength) != o.shard.Size {
		return err
	}
	if now := version(out.ETag, out.LastModified); !o.shard.Admits(now) || o.store.seen.Hold(o.shard, now) != nil {
		return err
	}
	return fmt.Errorf("%w: %v, and a look at the object finds what was listed", errUnlike, err)
}

// explainChange asks what the object is now when the server only said that it is another.
func (o *object) explainChange(ctx context.Context, c *client, err error) error {
	if !isChanged(err) || errors.Is(err, shard.ErrChanged) {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, o.store.o.ReadTimeout)
	defer cancel()
	out, lookErr := o.store.head(ctx, c, o.at)
	if lookErr != nil { // gone meanwhile, or not accessible; the change matters
		return fmt.Errorf("%w: it is no longer version %s: %w", shard.ErrChanged, o.shard.Version, err)
	}
	return o.changed(version(out.ETag, out.LastModified), aws.ToInt64(out.ContentLength))
}

var rangeText = regexp.MustCompile(`^bytes (\d+)-(\d*)[^/]*/(\d+|\*)$`)

// contentRange reads "bytes 0-99/1234"; a total of * is -1, and a length that is not told 0.
func contentRange(text string) (first, length, total int64, err error) {
	m := rangeText.FindStringSubmatch(text)
	if m != nil {
		first, err = strconv.ParseInt(m[1], 10, 64)
		if last, lastErr := strconv.ParseInt(m[2], 10, 64); lastErr == nil {
			length = last - first + 1
		}
		if total = -1; m[3] != "*" && err == nil {
			total, err = strconv.ParseInt(m[3], 10, 64)
		}
	}
	if m == nil || err != nil {
		return 0, 0, 0, fmt.Errorf("its Content-Range cannot be read: %.100q", text)
	}
	return first, length, total, nil
}
