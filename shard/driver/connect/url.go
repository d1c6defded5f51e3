package connect

import (
	"net/url"
	"strings"
)

// IsURL reports whether text is the address of a server of HTTP.
func IsURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// EscapePath escapes the segments of a path for a URL.
func EscapePath(path string) string {
	segments := strings.Split(path, "/")
	for i, s := range segments {
		segments[i] = url.PathEscape(s)
	}
	return strings.Join(segments, "/")
}
