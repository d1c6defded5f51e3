package s3

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/shardfeed/shardfeed/shard"
)

// A location is where an address leads: a key in a bucket, maybe at one version.
type location struct {
	bucket, key, versionID string
}

// versionParam precedes a version id at an address's end; other question marks are the key's.
const versionParam = "?versionId="

// parse cuts an address into its parts. Keys are neither decoded nor cleaned.
func parse(uri string) (location, error) {
	scheme, rest := shard.SplitScheme(uri)
	if scheme != "s3" && scheme != "s3a" && scheme != "s3n" {
		return location{}, fmt.Errorf("%w: it is not an s3:// address", shard.ErrBadURI)
	}
	rest, versionID := cutVersion(rest)
	bucket, key := cutBucket(rest)
	switch {
	case bucket == "":
		return location{}, fmt.Errorf("%w: it has no bucket, as s3://bucket/path has", shard.ErrBadURI)
	case strings.Contains(bucket, "@"):
		return location{}, fmt.Errorf("%w: an address cannot hold credentials; give a profile, or set AWS_ACCESS_KEY_ID and "+
			"AWS_SECRET_ACCESS_KEY", shard.ErrBadURI)
	case !validBucket(bucket):
		return location{}, fmt.Errorf("%w: %q cannot be a bucket's name", shard.ErrBadURI, bucket)
	case versionID != "" && (key == "" || strings.HasSuffix(key, "/")):
		return location{}, fmt.Errorf("%w: a directory has no version", shard.ErrBadURI)
	}
	return location{bucket, key, versionID}, nil
}

func cutVersion(rest string) (before, versionID string) {
	i := strings.LastIndex(rest, versionParam)
	if i < 0 || strings.Contains(rest[i:], "/") {
		return rest, ""
	}
	return rest[:i], rest[i+len(versionParam):]
}

// cutBucket splits at the first slash; the name of an access point
// (arn:aws:s3:region:account:accesspoint/name) may hold one itself.
func cutBucket(rest string) (bucket, key string) {
	bucket, key, _ = strings.Cut(rest, "/")
	if strings.HasPrefix(bucket, "arn:") && strings.HasSuffix(bucket, ":accesspoint") {
		name, after, _ := strings.Cut(key, "/")
		return bucket + "/" + name, after
	}
	return bucket, key
}

// bucketName refuses what neither a host name nor a path segment could carry, and no more: some
// servers allow more than AWS does.
var bucketName = regexp.MustCompile(`^[a-zA-Z0-9._-]{1,255}$`)

func validBucket(name string) bool {
	if strings.HasPrefix(name, "arn:") {
		return strings.Count(name, ":") >= 5
	}
	return bucketName.MatchString(name) && name != "." && name != ".."
}

func (l location) identity() string {
	text := "s3://" + l.bucket + "/" + l.key
	if l.versionID != "" {
		text += versionParam + l.versionID
	}
	return text
}
