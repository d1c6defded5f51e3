package webhdfs

import (
	"fmt"
	"net"
	"net/url"
	"path"
	"strings"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/hdfs/conf"
)

// apiRoot is the path of the interface on each server.
const apiRoot = "/webhdfs/v1"

// An address is a webhdfs:// or swebhdfs:// URI, cut.
type address struct {
	secure    bool
	authority string // nameservice or host[:port]
	gateway   string // path before apiRoot, or ""
	prefix    string // the URI up to the path, as the user wrote it
	path      string // within HDFS, as the user wrote it
}

// parse cuts an address. Gateway is the path of the gateway for addresses that do not have one.
func parse(uri, gateway string) (address, error) {
	scheme, rest := shard.SplitScheme(uri)
	if scheme != "webhdfs" && scheme != "swebhdfs" {
		return address{}, fmt.Errorf("%w: %s:// is not read over HTTP, webhdfs:// and swebhdfs:// are", shard.ErrBadURI, scheme)
	}
	a := address{secure: scheme == "swebhdfs", gateway: gateway}
	a.authority, a.path = rest, ""
	if i := strings.IndexByte(rest, '/'); i >= 0 {
		a.authority, a.path = rest[:i], rest[i:]
	}
	if strings.Contains(a.authority, "@") {
		return address{}, fmt.Errorf("%w: an address holds no user or password; give them as options", shard.ErrBadURI)
	}
	if a.authority == "" {
		return address{}, fmt.Errorf("%w: it names no host, as in webhdfs://host:9870/path", shard.ErrBadURI)
	}
	if i := strings.Index(a.path+"/", apiRoot+"/"); i >= 0 && gateway == "" {
		a.gateway = strings.TrimRight(path.Clean("/"+a.path[:i]), "/")
		a.path = a.path[i+len(apiRoot):]
	}
	a.prefix = uri[:len(uri)-len(a.path)]
	return a, nil
}

// bases are the addresses of the servers, of which one is active: "http://host:port/gateway".
func (a address) bases(c *conf.Conf) ([]string, error) {
	if c == nil {
		c = conf.New(nil)
	}
	var bases []string
	if host, port, err := net.SplitHostPort(a.authority); err == nil && host != "" && port != "" {
		bases = []string{a.scheme() + a.authority} // a web server's own port
	} else {
		n, err := c.Nameservice(a.authority)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", shard.ErrBadURI, err)
		}
		bases = n.Web(a.secure)
	}
	for i, b := range bases {
		bases[i] = b + a.gateway
		if u, err := url.Parse(bases[i]); err != nil || u.Host == "" || u.String() != bases[i] || u.Path != a.gateway {
			return nil, fmt.Errorf("%w: %q is neither a host nor the path of a gateway", shard.ErrBadURI, strings.TrimPrefix(bases[i], a.scheme()))
		}
	}
	return bases, nil
}

func (a address) scheme() string {
	if a.secure {
		return "https://"
	}
	return "http://"
}

// clean returns a path in its canonical form.
func clean(file string) string { return path.Clean("/" + file) }

// escape makes a path fit for a URL: no byte is left that a server could take for a separator.
func escape(file string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/-_.~="
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(file) {
		if c := file[i]; strings.IndexByte(plain, c) >= 0 {
			b.WriteByte(c)
		} else {
			b.WriteString(string([]byte{'%', digits[c>>4], digits[c&15]}))
		}
	}
	return b.String()
}
