package hub

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/driver"
	"github.com/shardfeed/shardfeed/shard/driver/connect"
	"github.com/shardfeed/shardfeed/shard/web"
)

// commit returns the commit of the address's revision.
func (c client) commit(ctx context.Context, a address) (string, error) {
	if commits.MatchString(a.revision) {
		return a.revision, nil
	}
	if c.offline {
		return c.downloadedCommit(a)
	}
	body, _, err := c.web.Document(ctx, c.endpoint+"/api/datasets/"+a.repo+"/revision/"+url.PathEscape(a.revision))
	if err != nil {
		return "", err
	}
	var answer struct {
		SHA string `json:"sha"`
	}
	if err := json.Unmarshal(body, &answer); err != nil || !commits.MatchString(answer.SHA) {
		return "", fmt.Errorf("%w: it names no commit: it starts with %.60q", errForeign, body)
	}
	return answer.SHA, nil
}

// A file is an entry of the hub's lists.
type file struct {
	Type string `json:"type"` // "file" or "directory"
	Path string `json:"path"` // within the data set
	Size int64  `json:"size"`
	OID  string `json:"oid"`
	LFS  *struct {
		OID string `json:"oid"`
	} `json:"lfs"`
}

// entry describes a file below a directory.
func (f file) entry(dir string) driver.Entry {
	e := driver.Entry{Name: f.Path, Size: f.Size, Version: f.OID}
	if dir != "" {
		e.Name = strings.TrimPrefix(f.Path, dir+"/")
	}
	if f.LFS != nil {
		e.Version = f.LFS.OID
	}
	switch f.Type {
	case "directory":
		e = driver.Entry{Name: e.Name, Kind: driver.KindDir}
	case "file":
	default:
		e.Kind = driver.KindOther
	}
	return e
}

// A tree is a data set at a commit as driver.Walk sees it, for one List.
type tree struct {
	client  client
	address address
	commit  string
	listing *driver.Listing

	mu     sync.Mutex
	seen   map[string]map[string]driver.Entry // of directories, by name; nil: there is no such directory
	walked bool                               // a whole directory was asked for
}

func newTree(c client, a address, commit string, listing *driver.Listing) *tree {
	return &tree{client: c, address: a, commit: commit, listing: listing, seen: make(map[string]map[string]driver.Entry)}
}

// URI returns the address of a path at the commit.
func (t *tree) URI(path string) string { return t.address.uri(t.commit, clean(path)) }

// clean returns a path, "" for the root's ".".
func clean(name string) string {
	if name == "." {
		return ""
	}
	return name
}

// Stat finds a name in the list of its directory.
func (t *tree) Stat(ctx context.Context, name string) (driver.Entry, error) {
	if clean(name) == "" {
		return driver.Entry{Kind: driver.KindDir}, nil
	}
	dir, base := clean(path.Dir(name)), path.Base(name)
	t.mu.Lock()
	defer t.mu.Unlock() // names of braces mostly share a directory, which is asked for once
	names, ok := t.seen[dir]
	if !ok {
		names = make(map[string]driver.Entry)
		err := t.pages(ctx, dir, false, func(e driver.Entry) bool { names[e.Name] = e; return true })
		switch {
		case errors.Is(err, shard.ErrNotExist) && web.CodeOf(err) == "EntryNotFound":
			names = nil
		case err != nil:
			return driver.Entry{}, err
		}
		t.seen[dir] = names
	}
	e, ok := names[base]
	if !ok {
		return driver.Entry{}, shard.ErrNotExist
	}
	return e, nil
}

// card describes a data set to readers of its page.
const card = "README.md"

// ReadAll lists a directory with all below it, and without the card.
func (t *tree) ReadAll(ctx context.Context, dir, _ string, keep driver.Keep) (all []driver.Entry, err error) {
	t.mu.Lock()
	t.walked = true
	t.mu.Unlock()
	err = t.pages(ctx, clean(dir), true, func(e driver.Entry) bool {
		wanted := keep(e.Name, e.Kind == driver.KindDir) && e.Kind == driver.KindFile && (e.Name != card || clean(dir) != "")
		if wanted {
			all = append(all, e)
		}
		return wanted
	})
	if err != nil {
		if web.CodeOf(err) == "EntryNotFound" {
			return nil, shard.ErrNotExist
		}
		return nil, err
	}
	return all, nil
}

// pages calls visit with the entries of a directory, and counts those for which it returns true.
func (t *tree) pages(ctx context.Context, dir string, recursive bool, visit func(driver.Entry) bool) error {
	if t.client.offline {
		return t.client.downloadedFiles(t.address.repo, t.commit, dir, recursive, visit)
	}
	location := t.client.endpoint + "/api/datasets/" + t.address.repo + "/tree/" + t.commit
	if dir != "" {
		location += "/" + connect.EscapePath(dir)
	}
	location += fmt.Sprintf("?recursive=%t&expand=false", recursive)
	var chain driver.Pages
	for location != "" {
		body, head, err := t.client.web.Document(ctx, location)
		if err != nil {
			return err
		}
		var page []file
		if err := json.Unmarshal(body, &page); err != nil {
			return fmt.Errorf("%w: it starts with %.60q", errForeign, body)
		}
		var taken []driver.Entry
		for _, f := range page {
			if e := f.entry(dir); visit(e) {
				taken = append(taken, e)
			}
		}
		if err := t.listing.Take(taken); err != nil {
			return err
		}
		if location, err = t.client.next(head); err != nil {
			return err
		}
		if location != "" {
			if err := chain.Next(location); err != nil {
				return err
			}
		}
	}
	return nil
}

// next returns the address of the next page, which is one of the hub: the token is sent to it.
func (c client) next(head http.Header) (string, error) {
	for link := range strings.SplitSeq(head.Get("Link"), ",") {
		target, relation, _ := strings.Cut(link, ";")
		if !strings.Contains(relation, `rel="next"`) {
			continue
		}
		target = strings.Trim(strings.TrimSpace(target), "<>")
		if !strings.HasPrefix(target, c.endpoint+"/") {
			return "", fmt.Errorf("%w: the next page of a list is on another server", errForeign)
		}
		return target, nil
	}
	return "", nil
}
