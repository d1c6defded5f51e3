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

// A found is a file that a scan of the directory found.
type found struct {
	name       string // below the directory
	allocated  int64
	decoded    bool // it holds decoded bytes
	superseded bool // another version of the shard was used later
	stamp
}

func (f found) room() room { return room{f.allocated, f.decoded} }

// inOrder sorts files in the order of eviction: superseded versions first, then decoded bytes,
// which can be made again, and then shards, each with the least recently used first.
func inOrder(all []found) []found {
	markSuperseded(all)
	slices.SortFunc(all, func(a, b found) int {
		return cmp.Or(trueFirst(a.superseded, b.superseded), trueFirst(a.decoded, b.decoded),
			a.used.Compare(b.used), cmp.Compare(a.name, b.name))
	})
	return all
}

func trueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// markSuperseded marks the versions of a shard that were used before another one. A use of decoded
// bytes is a use of the version.
func markSuperseded(all []found) {
	versions, latest := map[string]time.Time{}, map[string]time.Time{}
	for _, f := range all {
		family, version := familyOf(f.name), familyOf(f.name)+versionOf(f.name)
		if f.used.After(versions[version]) {
			versions[version] = f.used
		}
		if f.used.After(latest[family]) {
			latest[family] = f.used
		}
	}
	for i, f := range all {
		family := familyOf(f.name)
		all[i].superseded = versions[family+versionOf(f.name)].Before(latest[family])
	}
}

// walk lists the files of shards and decoded bytes in a directory, and returns the disk space of
// all files. clean removes leftovers of killed processes; the caller must then hold the directory's
// lock.
func walk(root *trusted.Dir, clean bool) (all []found, onDisk amount, err error) {
	families, err := root.ReadDir(".")
	if err != nil {
		return nil, onDisk, err
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
			return nil, onDisk, err
		}
		for _, n := range names {
			f, ok := look(root, path.Join(family.Name(), n.Name()), clean)
			onDisk.add(f.room())
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
	f = found{name: name, allocated: allocated(info), decoded: isDecoded(name)}
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

// removeLeftover removes an old unnamed file of a killed process.
func removeLeftover(root *trusted.Dir, name string) bool {
	info, err := root.Lstat(name)
	return err == nil && time.Since(info.ModTime()) > leftoverTime && root.Remove(name) == nil
}

// remove removes a shard file, or returns errBusy if it is used. The caller holds the lock.
func remove(root *trusted.Dir, name string) (freed int64, err error) {
	return removeIf(root, name, own)
}

// removeStale removes a file with the name of a key that is not its whole file, also while others
// have it mapped: they cannot use it, and keep it until they close it. The caller holds the lock.
func removeStale(root *trusted.Dir, k key) (freed int64, err error) {
	return removeIf(root, k.name, func(f *os.File) error {
		if err := checkWhole(f, k); err == nil {
			return errBusy
		} else if !errors.Is(err, errStale) {
			return err
		}
		return nil
	})
}

// removeIf removes a file unless may fails for it.
func removeIf(root *trusted.Dir, name string, may func(f *os.File) error) (freed int64, err error) {
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
	if err := may(f); err != nil {
		return 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return allocated(info), root.Remove(name)
}
