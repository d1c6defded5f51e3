package hub

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/shardfeed/shardfeed/internal/regular"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/driver"
	"github.com/shardfeed/shardfeed/shard/driver/connect"
)

// The hub's own client keeps a data set in its cache as
//
//	datasets--ORG--NAME/refs/REVISION           the commit of a revision, as it was when downloaded
//	datasets--ORG--NAME/snapshots/COMMIT/PATH   a link to the content, whose name is its hash
func (c client) downloads(repo string) string {
	return filepath.Join(c.cache, "datasets--"+strings.ReplaceAll(repo, "/", "--"))
}

// downloadedCommit returns the commit of a revision when it was downloaded.
func (c client) downloadedCommit(a address) (string, error) {
	content, err := regular.ReadFile(filepath.Join(c.downloads(a.repo), "refs", filepath.FromSlash(path.Clean("/"+a.revision))))
	if errors.Is(err, fs.ErrNotExist) {
		return "", errOffline
	}
	commit := strings.TrimSpace(string(content))
	if err == nil && !commits.MatchString(commit) {
		err = fmt.Errorf("the download's reference %s has no commit", a.revision)
	}
	return commit, err
}

// downloadedFiles calls visit with what is downloaded of a directory.
func (c client) downloadedFiles(repo, commit, dir string, recursive bool, visit func(driver.Entry) bool) error {
	root := filepath.Join(c.downloads(repo), "snapshots", commit, filepath.FromSlash(path.Clean("/"+dir)))
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == root {
			return err
		}
		below, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		below = filepath.ToSlash(below)
		if d.IsDir() {
			if visit(driver.Entry{Name: below, Kind: driver.KindDir}); recursive {
				return nil
			}
			return fs.SkipDir
		}
		info, err := os.Stat(name)
		if err != nil {
			return err
		}
		visit(driver.Entry{Name: below, Size: info.Size(), Version: contentOf(name)})
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return errOffline
	}
	return err
}

// contentOf returns the name of the content that a download links to: its hash.
func contentOf(name string) string {
	target, err := os.Readlink(name)
	if err != nil {
		return "" // a client that makes no links
	}
	return filepath.Base(target)
}

// downloaded opens what the hub's own client has of a shard, if its content is the shard's.
func (c client) downloaded(ctx context.Context, files shard.Store, a address, sh shard.Shard) (shard.Object, bool) {
	name := filepath.Join(c.downloads(a.repo), "snapshots", a.revision, filepath.FromSlash(path.Clean("/"+a.path)))
	if !sh.Admits(contentOf(name)) {
		return nil, false
	}
	found, err := files.List(ctx, "file://"+connect.EscapePath(filepath.ToSlash(name)))
	if err != nil || len(found) != 1 || found[0].Size != sh.Size {
		return nil, false
	}
	o, err := files.Open(ctx, found[0])
	return o, err == nil
}
