package web

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/shardfeed/shardfeed/shard"
)

// versionOf returns what distinguishes the content that an answer describes from others: the ETag,
// with the time beside a weak one, else the time; "" if the server sends neither.
func versionOf(head http.Header) string {
	tag, modified := strings.TrimSpace(head.Get("ETag")), strings.TrimSpace(head.Get("Last-Modified"))
	if _, err := http.ParseTime(modified); err != nil {
		modified = ""
	}
	switch {
	case isStrong(tag):
		return tag
	case tag != "":
		return strings.TrimSpace(tag + " " + modified)
	}
	return modified
}

func isStrong(tag string) bool { return len(tag) > 2 && tag[0] == '"' && tag[len(tag)-1] == '"' }

// demand makes a request fail unless the file still has a version.
func demand(head http.Header, version string) {
	if isStrong(version) {
		head.Set("If-Match", version)
	} else if _, err := http.ParseTime(version); err == nil {
		head.Set("If-Unmodified-Since", version)
	}
}

// differs compares an answer with the shard.
func differs(head http.Header, size int64, from shard.Shard) error {
	now := versionOf(head)
	switch {
	case !from.Admits(now):
		return fmt.Errorf("%w: was %d bytes, %s, is %d bytes, %s", shard.ErrChanged, from.Size, describe(from.Version), size, describe(now))
	case size != from.Size:
		return fmt.Errorf("%w: was %d bytes, is %d", shard.ErrChanged, from.Size, size)
	}
	return nil
}

// describe says a version in a message.
func describe(version string) string {
	if version == "" {
		return "without an ETag or a time"
	}
	if t, err := http.ParseTime(version); err == nil {
		return "modified at " + t.UTC().Format(time.RFC3339)
	}
	return "ETag " + version
}
