package web

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/shardfeed/shardfeed/shard"
)

// A Protocol is how a service of objects differs from a web server. [Plain] is a web server's.
type Protocol interface {
	// Sign adds the proof of who asks to a request. Its errors wrap the kinds of package shard.
	Sign(r *http.Request) error
	// Demand makes a request fail unless the file still has a version.
	Demand(head http.Header, version string)
	// Version returns what distinguishes the content that an answer describes from others, or "".
	Version(head http.Header) string
}

// Plain is the protocol of web servers: versions are ETags or times, and nothing is signed.
type Plain struct{}

// Sign adds nothing.
func (Plain) Sign(*http.Request) error { return nil }

// Version returns what distinguishes the content that an answer describes from others: the ETag,
// with the time beside a weak one, else the time; "" if the server sends neither.
func (Plain) Version(head http.Header) string {
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

// Demand makes a request fail unless the file still has a version.
func (Plain) Demand(head http.Header, version string) {
	if isStrong(version) {
		head.Set("If-Match", version)
	} else if _, err := http.ParseTime(version); err == nil {
		head.Set("If-Unmodified-Since", version)
	}
}

// differs compares an answer with the shard.
func differs(now string, size int64, from shard.Shard) error {
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
	if !strings.HasSuffix(version, `"`) {
		return "version " + version
	}
	return "ETag " + version
}
