package mem

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/driver"
)

// tree is the store's names as driver.Walk sees them: sorted once for each List.
type tree struct {
	names []string
	files map[string]file
}

func (s *Store) tree() tree {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return tree{slices.Sorted(maps.Keys(s.files)), maps.Clone(s.files)}
}

func (t tree) URI(path string) string { return prefix + path }

func (t tree) Stat(ctx context.Context, path string) (driver.Entry, error) {
	if err := ctx.Err(); err != nil {
		return driver.Entry{}, err
	}
	if e, ok := t.entry(clean(path)); ok {
		return e, nil
	}
	return driver.Entry{}, shard.ErrNotExist
}

// entry describes a name: a file, or a directory if names are below it. The root always exists.
func (t tree) entry(name string) (driver.Entry, bool) {
	e := driver.Entry{Name: name[strings.LastIndexByte(name, '/')+1:]}
	if f, ok := t.files[name]; ok && (len(f.content) > 0 || len(t.below(name)) == 0) { // an empty file can mark a directory
		e.Size, e.Version = int64(len(f.content)), f.version
		return e, true
	}
	e.Kind = driver.KindDir
	return e, name == "" || len(t.below(name)) > 0
}

func (t tree) below(dir string) []string {
	if dir == "" {
		return t.names
	}
	from, _ := slices.BinarySearch(t.names, dir+"/")
	to, _ := slices.BinarySearch(t.names, dir+"0") // what follows a slash
	return t.names[from:to]
}

func (t tree) ReadAll(ctx context.Context, path, _ string, keep driver.Keep) ([]driver.Entry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	dir := clean(path)
	below := t.below(dir)
	if len(below) == 0 && dir != "" {
		return nil, shard.ErrNotExist
	}
	var all []driver.Entry
	for _, full := range below {
		if name := strings.TrimPrefix(full[len(dir):], "/"); keep(name, false) {
			e, _ := t.entry(full)
			e.Name = name
			all = append(all, e)
		}
	}
	return all, nil
}
