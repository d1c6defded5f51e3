package bucket

import (
	"context"
	"strings"
	"sync"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/driver"
)

// When many names of one directory are looked for, as braces do (part-{0000..9999}), the directory
// is listed instead.
const (
	looksBeforeList = 16
	maxSiblingPages = 64 // a directory with more is looked at name by name after all
)

// siblings caches the names of one directory.
type siblings struct {
	mu    sync.Mutex // held while the directory is listed: who looks for another of its names waits for the answer
	looks int
	tried bool                    // the directory was listed, or cannot be
	names map[string]driver.Entry // nil unless all are known
}

// sibling describes a name from the list of its directory. ok is false when that is not listed; a
// name that the list does not have is ErrNotExist.
func (t *Tree) sibling(ctx context.Context, path string, at Location) (e driver.Entry, ok bool, err error) {
	if at.Pinned {
		return e, false, nil
	}
	dir, name := path[:strings.LastIndexByte(path, '/')+1], path[strings.LastIndexByte(path, '/')+1:]
	s := t.siblingsIn(dir)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.looks++; s.looks <= looksBeforeList {
		return e, false, nil
	}
	if !s.tried {
		s.tried = true
		s.names = t.listNames(ctx, dir, at.Bucket, at.Key[:len(at.Key)-len(name)])
	}
	if s.names == nil {
		return e, false, ctx.Err()
	}
	if e, ok := s.names[name]; ok {
		return e, true, nil
	}
	return e, true, shard.ErrNotExist
}

func (t *Tree) siblingsIn(dir string) *siblings {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.dirs[dir]
	if s == nil {
		s = &siblings{}
		t.dirs[dir] = s
	}
	return s
}

// listNames describes all names of a directory, or returns nil if they are too many or may not be
// listed: then each name is looked up.
func (t *Tree) listNames(ctx context.Context, path, bucket, prefix string) map[string]driver.Entry {
	names := make(map[string]driver.Entry)
	q := Query{Bucket: bucket, Prefix: prefix, Level: true}
	for range maxSiblingPages {
		p, err := t.source.Page(ctx, path, q)
		if err != nil {
			return nil
		}
		for _, dir := range p.Dirs {
			name := strings.TrimSuffix(dir[len(prefix):], "/")
			if file, isFile := names[name]; !isFile || file.Size == 0 {
				names[name] = driver.Entry{Name: name, Kind: driver.KindDir}
			}
		}
		for _, e := range p.Files { // an object comes before a directory of its name, unless it marks it
			e.Name = e.Name[len(prefix):]
			if names[e.Name].Kind != driver.KindDir || e.Size > 0 {
				names[e.Name] = e
			}
		}
		if p.Next == "" {
			return names
		}
		q.Token = p.Next
	}
	return nil
}
