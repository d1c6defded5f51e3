package delta

import (
	"net/url"
	"path"
	"strings"

	"github.com/shardfeed/shardfeed/shard"
)

// locate returns the address of a path in the log, which is a percent-encoded URI: relative to the
// table, or absolute as in shallow clones.
func locate(dir, encoded string) string {
	decoded, err := url.PathUnescape(encoded)
	if err != nil {
		decoded = encoded
	}
	scheme, _ := shard.SplitScheme(decoded)
	switch {
	case scheme == "file":
		return "file://" + literal("/"+strings.TrimLeft(decoded[len("file:"):], "/"))
	case scheme != "":
		return decoded
	case !strings.HasPrefix(decoded, "/"):
		return within(dir, decoded)
	}
	return root(dir) + literalIn(dir, decoded)
}

// within is the address of a path within a directory.
func within(dir, name string) string {
	return strings.TrimRight(dir, "/") + "/" + literalIn(dir, name)
}

// root is the part of an address before an absolute path.
func root(dir string) string {
	scheme, rest := shard.SplitScheme(dir)
	if scheme == "" {
		return ""
	}
	authority, _, _ := strings.Cut(rest, "/")
	return dir[:len(dir)-len(rest)] + authority
}

// literalIn is a decoded path as the store of a directory takes it.
func literalIn(dir, name string) string {
	if scheme, _ := shard.SplitScheme(dir); scheme == "file" {
		return literal(name)
	}
	return name
}

// literal is a path in an address of scheme file, which is decoded again.
func literal(name string) string { return strings.ReplaceAll(name, "%", "%25") }

// sidecarURI is the address of a sidecar file. Its path in the log may be only a name.
func sidecarURI(dir, encoded string) string {
	if path.Base(encoded) == encoded {
		return locate(dir, logDir+"/_sidecars/"+encoded)
	}
	return locate(dir, encoded)
}
