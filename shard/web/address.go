package web

import (
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/shardfeed/shardfeed/shard"
)

// An address is one of a file, or a pattern of several, as the user spelled it.
type address struct {
	origin string // as https://host:443
	path   string // from the slash behind the host on
	query  string // with its question mark, or ""
}

// parse cuts an address into its parts.
func parse(uri string) (address, error) {
	scheme, rest := shard.SplitScheme(uri)
	if scheme != "http" && scheme != "https" {
		return address{}, fmt.Errorf("%w: it is not an http:// or https:// address", shard.ErrBadURI)
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	host, rest := rest[:end], rest[end:]
	a := address{origin: scheme + "://" + host, path: rest}
	if i := strings.IndexByte(rest, '?'); i >= 0 {
		a.path, a.query = rest[:i], rest[i:]
	}
	u, err := url.Parse(a.origin)
	switch {
	case strings.Contains(host, "@"):
		return address{}, fmt.Errorf("%w: an address cannot hold credentials; give the storage option %sAuthorization", shard.ErrBadURI, headerOption)
	case err != nil || u.Hostname() == "":
		return address{}, fmt.Errorf("%w: it has no host, as https://host/file.parquet has", shard.ErrBadURI)
	case strings.Contains(rest, "#"):
		return address{}, fmt.Errorf("%w: a # does not reach the server; in a name it is %%23", shard.ErrBadURI)
	}
	return a, nil
}

func (a address) uri(path string) string { return a.origin + path + a.query }

// locate returns the URL of a path of the address.
func (a address) locate(path string) (*url.URL, error) {
	u, err := url.Parse(a.uri(path))
	if err != nil {
		return nil, fmt.Errorf("%w: it is not a URL: %q", shard.ErrBadURI, path)
	}
	return u, nil
}

// isDirectory reports whether a path is known to lead to no file.
func isDirectory(file string) bool {
	return file == "" || strings.HasSuffix(file, "/") || path.Base(file) == ".."
}

// identity is the address as servers see it: schemes and hosts have no case, and a default port may
// be left out.
func (a address) identity() string {
	origin := strings.ToLower(a.origin)
	for _, port := range []string{"http://:80", "https://:443"} {
		scheme, number, _ := strings.Cut(port, "://")
		if strings.HasPrefix(origin, scheme+"://") {
			origin = strings.TrimSuffix(origin, number)
		}
	}
	return origin + a.path + a.query
}
