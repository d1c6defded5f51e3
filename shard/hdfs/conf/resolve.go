package conf

import (
	"errors"
	"path"
	"strings"
)

// maxMounts is how many mount tables lead to one another.
const maxMounts = 8

// DefaultFS returns the file system of addresses without one, such as "hdfs://nameservice", or ""
// if none is configured.
func (c *Conf) DefaultFS() string {
	if fs := strings.TrimRight(c.Get("fs.defaultFS"), "/"); fs != "file:" {
		return fs
	}
	return ""
}

func (c *Conf) defaultAuthority() (string, error) {
	fs := c.DefaultFS()
	scheme, rest, _ := strings.Cut(fs, "://")
	authority, _, _ := strings.Cut(rest, "/")
	switch {
	case fs == "" && c.dir == "":
		return "", c.wrong("the address names no namenode, and no configuration was found: set HADOOP_CONF_DIR, or write hdfs://host:8020/path")
	case fs == "":
		return "", c.wrong("the address names no nameservice, and fs.defaultFS is not set")
	case scheme != "hdfs" || authority == "":
		return "", c.wrong("the address names no nameservice, and fs.defaultFS is %s", fs)
	}
	return authority, nil
}

// Resolve turns an address into one whose file system has a name: hdfs:///path gets the nameservice
// of fs.defaultFS, a viewfs address becomes what its mount table says. Other addresses stay as they
// are. A directory of a mount table that only holds mounts is ErrMounts.
func (c *Conf) Resolve(uri string) (string, error) {
	for range maxMounts {
		scheme, authority, file := split(uri)
		switch {
		case scheme == "viewfs":
			target, err := c.mounted(authority, file)
			if err != nil {
				return "", err
			}
			uri = target
		case scheme == "hdfs" && authority == "" && strings.HasPrefix(c.DefaultFS(), "viewfs://"):
			uri = c.DefaultFS() + file
		case scheme == "hdfs" && authority == "":
			name, err := c.defaultAuthority()
			if err != nil {
				return "", err
			}
			return "hdfs://" + name + file, nil
		default:
			return uri, nil
		}
	}
	return "", c.wrong("mount tables lead to one another in a circle at %s", uri)
}

// split cuts an address; the path keeps its leading slash.
func split(uri string) (scheme, authority, file string) {
	scheme, rest, ok := strings.Cut(uri, ":")
	if !ok {
		return "", "", uri
	}
	scheme = strings.ToLower(scheme)
	if after, ok := strings.CutPrefix(rest, "//"); ok {
		if i := strings.IndexByte(after, '/'); i >= 0 {
			return scheme, after[:i], after[i:]
		}
		return scheme, after, ""
	}
	return scheme, "", rest
}

// ErrNoLink is a path of a mount table that no link leads from.
var ErrNoLink = errors.New("it leads nowhere")

// ErrMounts is a directory of a mount table that holds nothing but mounts; see Conf.Mounts.
var ErrMounts = errors.New("it is a directory of mount points")

// Mounts returns the names that a mount table adds to a directory, sorted. If the directory itself
// is a mount, or is in one, these names add to, and hide, its own.
func (c *Conf) Mounts(uri string) []string {
	scheme, authority, file := split(uri)
	if scheme != "viewfs" {
		return nil
	}
	t, err := c.table(authority)
	if err != nil {
		return nil
	}
	return t.children(path.Clean("/" + file))
}
