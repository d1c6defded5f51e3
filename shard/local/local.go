package local

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/driver"
)

// A Store lists and opens local files. The zero value is ready for use, and measures no reads.
type Store struct {
	meter *driver.Meter
	seen  *driver.Seen
}

// New returns a store that measures its reads.
func New() Store {
	return Store{driver.NewMeter(place), new(driver.Seen)}
}

// place names local files in figures.
const place = "file://"

var (
	_ shard.Metered    = Store{}
	_ shard.Identifier = Store{}
	_ shard.Instancer  = Store{}
)

// List returns the shards that a path, a file:// address or a pattern names; see driver.Walk. A
// relative path starts in the working directory, and ~ is a name like any other: the shell expands
// it.
//
// The path of a file:// address is literal if it exists, else percent-decoded as in RFC 8089:
// programs print both forms.
func (Store) List(ctx context.Context, pattern string) ([]shard.Shard, error) {
	if pattern == "" {
		return nil, &shard.Error{Op: "list", URI: pattern, Err: fmt.Errorf("%w: it is empty", shard.ErrBadURI)}
	}
	prefix, path, err := split(pattern)
	if err != nil {
		return nil, &shard.Error{Op: "list", URI: pattern, Err: err}
	}
	path = tidy(path)
	all, err := driver.Walk(ctx, tree{prefix: prefix}, path, 1)
	if decoded, ok := decode(prefix, path); ok && errors.Is(err, shard.ErrNotExist) {
		return driver.Walk(ctx, tree{prefix: prefix, spelled: path, decoded: decoded}, decoded, 1)
	}
	return all, err
}

// noNames are segments of a path that name nothing.
var noNames = regexp.MustCompile(`/(\.?/)+`)

// tidy drops segments without a name at the end of a path, and behind its first glob, as in
// dir/*//part: it is compared with names from there on.
func tidy(path string) string {
	i := strings.IndexAny(path, "*?[")
	if i < 0 {
		i = len(strings.TrimRight(path, "/"))
	}
	return path[:i] + noNames.ReplaceAllString(path[i:], "/")
}

// Open opens one file at the size and version that sh carries.
func (s Store) Open(ctx context.Context, sh shard.Shard) (shard.Object, error) {
	o, err := s.open(ctx, sh)
	if err != nil {
		return nil, &shard.Error{Op: "open", URI: sh.URI, Err: err, Hint: hint(err)}
	}
	return o, nil
}

func (s Store) open(ctx context.Context, sh shard.Shard) (*object, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	path, err := locate(sh.URI)
	if err != nil {
		return nil, err
	}
	info, err := os.Stat(path) // before it is opened: opening a pipe waits for its writer
	if err != nil {
		return nil, classify(err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%w: it is not a file", shard.ErrBadURI)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, classify(err)
	}
	o := &object{file: f, shard: sh, meter: s.meter, seen: s.seen}
	if err := o.check(); err != nil {
		f.Close()
		return nil, err
	}
	return o, nil
}

// ByStore measures the reads.
func (s Store) ByStore() []shard.StoreTraffic { return s.meter.ByStore() }

// Identity returns the absolute path of an address. Links are not followed.
func (Store) Identity(uri string) string {
	path, err := locate(uri)
	if err != nil {
		return uri
	}
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return filepath.Clean(path) // the working directory is gone: nothing relative will open either
}

// Above returns the directories around an address, by their absolute paths.
func (s Store) Above(address string) []string { return driver.Above("", s.Identity(address)) }

// TableAt reports the table whose root is a directory.
func (Store) TableAt(ctx context.Context, dir string) (shard.Table, error) {
	return driver.TableAt(ctx, tree{}, dir)
}

// Instance returns the inode and the time of change of the file that is there now.
func (Store) Instance(uri string) string {
	path, err := locate(uri)
	if err != nil {
		return ""
	}
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	return instance(info)
}

// locate returns the path of a file's address: literal if that exists, else decoded.
func locate(uri string) (string, error) {
	prefix, path, err := split(uri)
	if err != nil {
		return "", err
	}
	if decoded, ok := decode(prefix, path); ok {
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			return decoded, nil
		}
	}
	return path, nil
}

// split cuts an address into the part before the path, which messages keep, and the path.
func split(address string) (prefix, path string, err error) {
	scheme, path := shard.SplitScheme(address)
	switch {
	case scheme == "":
		return "", address, nil
	case scheme != "file":
		return "", "", fmt.Errorf("%w: %s:// is not a local file", shard.ErrBadURI, scheme)
	case strings.HasPrefix(path, "localhost/"):
		path = path[len("localhost"):]
	case !strings.HasPrefix(path, "/"):
		return "", "", fmt.Errorf("%w: a file address has three slashes and an absolute path, as in file:///data", shard.ErrBadURI)
	}
	return address[:len(address)-len(path)], path, nil
}

// decode returns the percent-decoded path of a file:// address, and whether it differs.
func decode(prefix, path string) (string, bool) {
	if prefix == "" {
		return "", false
	}
	decoded, err := url.PathUnescape(path)
	return decoded, err == nil && decoded != path
}

func version(info fs.FileInfo) string {
	return strconv.FormatInt(info.ModTime().UnixNano(), 10)
}

// changed compares an open file with its shard, and describes the difference.
func changed(s shard.Shard, info fs.FileInfo) error {
	switch now := version(info); {
	case info.Size() != s.Size:
		return fmt.Errorf("%w: was %d bytes, is %d", shard.ErrChanged, s.Size, info.Size())
	case !s.Admits(now):
		return fmt.Errorf("%w: was modified at %s, now at %s", shard.ErrChanged, instant(s.Version), instant(now))
	case replaced(s.Instance, instance(info)):
		return fmt.Errorf("%w: another file of the same size and time took its place", shard.ErrChanged)
	}
	return nil
}

// replaced reports whether two instances are two files: both inode and change time differ. Only the
// time differs after chmod or ln, and only the inode on some file systems in user space.
func replaced(was, now string) bool {
	wasNode, wasTime, ok := strings.Cut(was, ".")
	node, time, _ := strings.Cut(now, ".")
	return ok && wasNode != node && wasTime != time
}

func instant(version string) string {
	ns, err := strconv.ParseInt(version, 10, 64)
	if err != nil {
		return version
	}
	return time.Unix(0, ns).UTC().Format("2006-01-02T15:04:05.000000000Z")
}

// classify puts a system's error into the words of package shard, without the path.
func classify(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ENAMETOOLONG):
		return shard.ErrNotExist
	case errors.Is(err, fs.ErrPermission):
		return shard.ErrDenied
	case errors.Is(err, syscall.ESTALE): // another machine replaced the file on a network disk
		return fmt.Errorf("%w: %w", shard.ErrChanged, err)
	}
	return err
}

func hint(err error) string {
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		return "raise the limit of open files with ulimit -n"
	}
	return ""
}
