package driver

import (
	"context"
	"errors"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/shardfeed/shardfeed/shard"
)

// Names by which table formats are known: what a table's root holds, and in Hive ACID tables the
// directories of each write.
const (
	deltaLog      = "_delta_log"
	hudiDir       = ".hoodie"
	hudiPartition = ".hoodie_partition_metadata"
	icebergDir    = "metadata"
	icebergFile   = ".metadata.json"
	hiveACID      = "Hive ACID"
)

var acidDir = regexp.MustCompile(`^(base_\d{7,}|(delete_)?delta_\d{7,}_\d{7,}(_\d{4,})?)(_v\d{7,})?$`)

// isACID reports whether a directory holds one write of a Hive ACID table.
func isACID(dir string) bool {
	name := path.Base(dir)
	return (strings.HasPrefix(name, "base_") || strings.HasPrefix(name, "de")) && acidDir.MatchString(name)
}

// tableMark returns the table format that a path shows, and the prefix of the path that shows it,
// or "".
func tableMark(file string, dir bool) (format, mark string) {
	from, last := 0, ""
	for from <= len(file) {
		to, isDir := len(file), dir
		if i := strings.IndexByte(file[from:], '/'); i >= 0 {
			to, isDir = from+i, true
		}
		name := file[from:to]
		if format := nameMark(last, name, isDir); format != "" {
			return format, file[:to]
		}
		from, last = to+1, name
	}
	return "", ""
}

// nameMark returns the format that a name in a directory shows, or "".
func nameMark(dir, name string, isDir bool) string {
	switch {
	case isDir && name == deltaLog:
		return "Delta"
	case isDir && name == hudiDir, !isDir && name == hudiPartition:
		return "Hudi"
	case !isDir && dir == icebergDir && isIceberg(name):
		return "Iceberg"
	case isDir && isACID(name):
		return hiveACID
	}
	return ""
}

// isIceberg reports whether a file of a metadata directory is a version of a table's metadata,
// which may be compressed: v1.metadata.json, 00000-UUID.gz.metadata.json, v1.metadata.json.gz.
func isIceberg(name string) bool {
	return strings.HasSuffix(strings.TrimSuffix(name, ".gz"), icebergFile)
}

// TableAt reports the table whose root is a directory of a tree; see shard.TableStore.
func TableAt(ctx context.Context, tree Tree, dir string) (shard.Table, error) {
	if isACID(dir) {
		return shard.Table{Format: hiveACID, Mark: tree.URI(dir)}, nil
	}
	at := strings.TrimRight(dir, "/") + "/"
	marks := []string{deltaLog, hudiDir, icebergDir}
	found, err := findDirs(ctx, tree, at, marks)
	if err != nil {
		return shard.Table{}, err
	}
	for i, name := range marks {
		if found[i] && name != icebergDir {
			return shard.Table{Format: nameMark("", name, true), Mark: tree.URI(at + name)}, nil
		}
	}
	if !found[slices.Index(marks, icebergDir)] {
		return shard.Table{}, nil
	}
	files, err := icebergFiles(ctx, tree, at+icebergDir)
	if len(files) == 0 || err != nil {
		return shard.Table{}, err
	}
	return shard.Table{Format: "Iceberg", Mark: tree.URI(at + icebergDir + "/" + files[0].Name)}, nil
}

// A DirFinder is a Tree that looks for several directories with one request.
type DirFinder interface {
	// FindDirs reports which names are directories in a directory. One that may not be read is
	// shard.ErrDenied.
	FindDirs(ctx context.Context, dir string, names []string) ([]bool, error)
}

// findDirs reports which names are directories in a directory, as far as the user may see.
func findDirs(ctx context.Context, tree Tree, dir string, names []string) ([]bool, error) {
	if f, ok := tree.(DirFinder); ok {
		found, err := f.FindDirs(ctx, dir, names)
		if err != nil && absent(err) {
			return make([]bool, len(names)), nil
		}
		return found, err
	}
	found := make([]bool, len(names))
	for i, name := range names {
		e, err := tree.Stat(ctx, dir+name+"/")
		if !absent(err) {
			return nil, err
		}
		found[i] = err == nil && e.Kind == KindDir
	}
	return found, nil
}

func icebergFiles(ctx context.Context, tree Tree, dir string) ([]Entry, error) {
	all, err := tree.ReadAll(ctx, dir, "", func(name string, dir bool) bool {
		return !dir && !strings.Contains(name, "/") && isIceberg(name)
	})
	return all, known(err)
}

// absent reports whether a look found nothing, as far as the user may see.
func absent(err error) bool {
	return err == nil || errors.Is(err, shard.ErrNotExist) || errors.Is(err, shard.ErrDenied)
}

func known(err error) error {
	if absent(err) {
		return nil
	}
	return err
}

// Above returns the addresses of the directories around a path, the nearest first, given the
// address's part before the path; see shard.TableStore.
func Above(prefix, file string) []string {
	var all []string
	for file = strings.TrimRight(file, "/"); file != ""; {
		i := strings.LastIndexByte(file, '/')
		if i < 0 {
			break
		}
		if file = strings.TrimRight(file[:i], "/"); file == "" {
			all = append(all, prefix+"/")
		} else {
			all = append(all, prefix+file)
		}
	}
	return all
}

// A tableWatch notes whether a directory, or a path in it, shows a table. It is safe for concurrent
// use.
type tableWatch struct {
	dir string

	mu           sync.Mutex
	format, mark string // of the mark that sorts first
}

func watchTable(dir string) *tableWatch {
	if isACID(dir) {
		return &tableWatch{dir: dir, format: hiveACID, mark: dir}
	}
	return &tableWatch{dir: strings.TrimRight(dir, "/") + "/"}
}

func (t *tableWatch) see(file string, dir bool) {
	format, mark := tableMark(file, dir)
	if format == "" {
		return
	}
	mark = t.dir + mark
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.format == "" || mark < t.mark {
		t.format, t.mark = format, mark
	}
}
