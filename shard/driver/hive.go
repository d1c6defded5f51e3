package driver

import (
	"net/url"
	"path"
	"regexp"
	"strings"

	"github.com/shardfeed/shardfeed/shard"
)

// hiveNull is how Hive and Spark write a null as a directory's name.
const hiveNull = "__HIVE_DEFAULT_PARTITION__"

// parsePartitions returns the key=value directories of a slash-separated path, in path order,
// without the file's own name. Keys and values are percent-decoded as Hive encodes them; an invalid
// escape is kept.
func parsePartitions(file string) []shard.Partition {
	var all []shard.Partition
	for dir := range strings.SplitSeq(path.Dir(file), "/") {
		key, value, ok := strings.Cut(dir, "=")
		if !ok || key == "" {
			continue
		}
		p := shard.Partition{Key: percentDecode(key), Null: value == hiveNull}
		if !p.Null {
			p.Value = percentDecode(value)
		}
		all = append(all, p)
	}
	return all
}

// escaped is a byte as Hive encodes it.
var escaped = regexp.MustCompile(`%[0-9a-fA-F]{2}`)

// percentDecode decodes each valid %XX and keeps the rest, like Spark's unescapePathName.
func percentDecode(s string) string {
	return escaped.ReplaceAllStringFunc(s, func(code string) string {
		c, _ := url.PathUnescape(code)
		return c
	})
}
