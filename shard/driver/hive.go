package driver

import (
	"net/url"
	"path"
	"strings"

	"github.com/shardfeed/shardfeed/shard"
)

// hiveNull is how Hive and Spark write a null as a directory's name.
const hiveNull = "__HIVE_DEFAULT_PARTITION__"

// parsePartitions returns the key=value directories of a slash-separated path, in path order. The
// last element is the file's own name and gives none. Keys and values are percent-decoded as Hive
// encodes them; an invalid escape stays as it is.
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

// percentDecode decodes each valid %XX and leaves the rest alone, as Spark's unescapePathName does.
func percentDecode(s string) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '%')
		if i < 0 {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:i])
		s = s[i:]
		if len(s) >= 3 {
			if c, err := url.PathUnescape(s[:3]); err == nil {
				b.WriteString(c)
				s = s[3:]
				continue
			}
		}
		b.WriteByte('%')
		s = s[1:]
	}
}
