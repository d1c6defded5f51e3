package cache

import (
	"cmp"
	"errors"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/shardfeed/shardfeed/internal/trusted"
)

// A found is a shard file that a look at the directory found.
type found struct {
	name       string // below the directory
	allocated  int64
	superseded bool // another version of the shard was used later
	stamp
}

// inOrder is the order of eviction: superseded versions first, then the least recently used shards.
func inOrder(all []found) []found {
	markSuperseded(all)
	slices.SortFunc(all, func(a, b found) int {
		if a.superseded != b.superseded {
			if a.superseded {
				return -1
			}
			return 1
		}
		return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.name, b.name))
	})
	return all
}

// markSuperseded finds the versions of a shard that were used before another one of it.
func markSuperseded(all []found) {
	latest := map[string]time.Time{}
	for _, f := range all {
		family := familyOf(path.Base(f.name))
		if f.used.After(latest[family]) {
			latest[family] = f.used
		}
	}
	for i, f := range all {
		all[i].superseded = f.used.Before(latest[familyOf(path.Base(f.name))])
	}
}

// walk lists the shard files of a directory, with what all files have on the disk. Clean removes
// what killed processes left, which takes the directory's lock.
func walk(root *trusted.Dir, clean bool) (all []found, onDisk int64, err error) {
	families, err := root.ReadDir(".")
	if err != nil {
		return nil, 0, err
	}
	for _, family := range families {
		if !family.IsDir() {
			if clean && strings.HasPrefix(family.Name(), trialMark) {
				removeLeftover(root, family.Name())
			}
			continue
		}
		names, err := root.ReadDir(family.Name())
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, 0, err
		}
		for _, n := range names {
			f, ok := look(root, path.Join(family.Name(), n.Name()), clean)
			onDisk += f.allocated
			if ok {
				all = append(all, f)
			}
		}
	}
	return all, onDisk, nil
}

// look describes one file. Ok is false if it is gone or not a shard file.
func look(root *trusted.Dir, name string, clean bool) (f found, ok bool) {
	info, err := root.Lstat(name)
	if err != nil {
		return f, false
	}
	f = found{name: name, allocated: allocated(info)}
	if !shardName.MatchString(path.Base(name)) {
		if clean && removeLeftover(root, name) {
			f.allocated = 0
		}
		return f, false
	}
	header := make([]byte, namesAt)
	if file, err := root.OpenFile(name, os.O_RDONLY); err == nil {
		_, err = file.ReadAt(header, 0)
		file.Close()
		if err != nil {
			clear(header)
		}
	}
	f.stamp = stampOf(header) // a torn header gives any time, which is as good as another
	return f, true
}

// removeLeftover removes an old file whose process was killed before it gave it its name.
func removeLeftover(root *trusted.Dir, name string) bool {
	info, err := root.Lstat(name)
	return err == nil && time.Since(info.ModTime()) > leftoverTime && root.Remove(name) == nil
}

// remove removes a shard file, or returns errBusy if it is used. The caller holds the lock.
func remove(root *trusted.Dir, name string) (freed int64, err error) {
	f, err := root.OpenFile(name, os.O_RDWR)
	if errors.Is(err, trusted.ErrUntrusted) { // it is not in use: openFile refuses it
		info, err := root.Lstat(name)
		if err != nil {
			return 0, err
		}
		return allocated(info), root.Remove(name)
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if err := own(f); err != nil {
		return 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return allocated(info), root.Remove(name)
}
