package cache

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/shardfeed/shardfeed/shard"
)

// lockPoll is how often maintenance looks whether the directory's lock is free.
const lockPoll = 20 * time.Millisecond

// List returns what the cache in dir holds, sorted by URI and then by time of use. It may run beside jobs, as all maintenance may; a
// directory that is not there holds nothing.
func List(ctx context.Context, dir string) ([]Entry, error) {
	all, _, err := walkDir(dir)
	if err != nil {
		return nil, err
	}
	markSuperseded(all)
	entries := make([]Entry, 0, len(all))
	for _, f := range all {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		x, err := openFound(dir, f)
		if err != nil {
			continue // it was removed meanwhile, or it is none: Verify tells
		}
		held, err := x.held()
		if err == nil {
			entries = append(entries, Entry{
				URI: x.uri, Size: x.key.size, Version: x.version, Held: held, Allocated: f.allocated,
				Used: f.used, KeptUntil: f.until, Superseded: f.superseded, Path: f.path,
			})
		}
		x.close()
	}
	slices.SortFunc(entries, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.URI, b.URI), a.Used.Compare(b.Used), cmp.Compare(a.Path, b.Path))
	})
	return entries, nil
}

// walkDir is walk for a directory as the user names it, which need not be there.
func walkDir(dir string) (all []found, onDisk int64, err error) {
	there, err := existing(dir)
	if err != nil {
		return nil, 0, err
	}
	if _, err := diskOf(there); err != nil { // a system without a cache says so
		return nil, 0, err
	}
	all, onDisk, err = walk(filepath.Join(dir, formatDir), false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	return all, onDisk, err
}

// openFound opens a file that a walk found, as the shard that its own header names.
func openFound(dir string, f found) (*file, error) {
	k, err := keyAt(f.path)
	if err != nil {
		return nil, err
	}
	root := filepath.Join(dir, formatDir)
	if filepath.Join(root, k.name) != f.path {
		return nil, errHeader
	}
	return openFile(root, k)
}

// keyAt reads the key out of a file's header.
func keyAt(path string) (key, error) {
	f, err := os.Open(path)
	if err != nil {
		return key{}, err
	}
	defer f.Close()
	start := make([]byte, namesAt)
	if _, err := f.ReadAt(start, 0); err != nil {
		return key{}, errors.Join(errHeader, err)
	}
	n, err := headerLength(start)
	if err != nil {
		return key{}, err
	}
	header := make([]byte, n)
	if _, err := f.ReadAt(header, 0); err != nil {
		return key{}, errors.Join(errHeader, err)
	}
	k, err := parseHeader(header)
	k.name = nameOf(k)
	return k, err
}

// held sums the runs of the table.
func (x *file) held() (n int64, err error) {
	err = shard.Guard(func() error {
		for b := range x.table {
			n += x.run(int64(b), x.entry(int64(b))).N
		}
		return nil
	})
	return n, err
}

// Usage returns how much room the cache in dir takes.
func Usage(dir string) (Space, error) {
	s := Space{Path: filepath.Join(dir, formatDir)}
	all, onDisk, err := walkDir(dir)
	if err != nil {
		return s, err
	}
	s.Shards, s.Bytes = len(all), onDisk
	there, err := existing(dir)
	if err != nil {
		return s, err
	}
	disk, err := diskOf(there)
	if err != nil {
		return s, err
	}
	s.Free = disk.free
	if _, err := os.Stat(filepath.Join(s.Path, usageName)); err != nil {
		return s, nil // nobody has opened it
	}
	u, err := mapUsage(s.Path)
	if err != nil {
		return s, err
	}
	defer u.close()
	s.Limit, err = u.limit()
	return s, err
}

// Verify reads all that the cache in dir holds. What is not what was written is no longer held afterwards. Progress, if set, is told the
// bytes that were read.
func Verify(ctx context.Context, dir string, progress func(n int64)) (Report, error) {
	if progress == nil {
		progress = func(int64) {}
	}
	var r Report
	all, _, err := walkDir(dir)
	if err != nil {
		return r, err
	}
	buffer := make([]byte, blockSize)
	for _, f := range all {
		x, err := openFound(dir, f)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			if !errors.Is(err, errStale) || stillThere(f.path) {
				r.BadURIs = append(r.BadURIs, f.path)
			}
			continue
		}
		err = r.verify(ctx, x, buffer, progress)
		x.close()
		if err != nil {
			return r, err
		}
	}
	return r, nil
}

// stillThere tells a file that is cut from one that is being removed.
func stillThere(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return share(f) == nil
}

// verify reads one shard file.
func (r *Report) verify(ctx context.Context, x *file, buffer []byte, progress func(n int64)) error {
	r.Shards++
	bad := r.Bad
	for b := range int64(len(x.table)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		err := shard.Guard(func() error {
			e := x.entry(b)
			run := x.run(b, e)
			if run.N == 0 {
				return nil
			}
			err := x.readAt(buffer[:run.N], run.Off)
			r.Blocks, r.Bytes = r.Blocks+1, r.Bytes+run.N
			if (err != nil || sumOf(buffer[:run.N]) != e.sum()) && x.damage(b, e) {
				r.Bad++
			}
			progress(run.N)
			return nil
		})
		if err != nil { // it was cut while we read it
			r.Bad++
			break
		}
	}
	if r.Bad > bad {
		r.BadURIs = append(r.BadURIs, x.uri)
	}
	return nil
}

// Collect removes from the cache in dir what o says, and what killed processes left. Shards that a job reads now stay.
func Collect(ctx context.Context, dir string, o CollectOptions) (Freed, error) {
	return clean(ctx, dir, func(all []found, onDisk int64) (victims []found) {
		now := time.Now()
		for _, f := range inOrder(all) {
			old := o.OlderThan > 0 && now.Sub(f.used) > o.OlderThan
			tooMuch := o.ToBytes > 0 && onDisk > o.ToBytes
			if old || tooMuch || o.Superseded && f.superseded {
				victims = append(victims, f)
				onDisk -= f.allocated
			}
		}
		return victims
	})
}

// Clear removes all that the cache in dir holds and nobody reads now.
func Clear(ctx context.Context, dir string) (Freed, error) {
	return clean(ctx, dir, func(all []found, _ int64) []found { return all })
}

// clean removes what choose chooses of the shard files, and puts the account of the directory right.
func clean(ctx context.Context, dir string, choose func(all []found, onDisk int64) []found) (freed Freed, err error) {
	if _, _, err := walkDir(dir); err != nil {
		return freed, err
	}
	root := filepath.Join(dir, formatDir)
	if _, err := os.Stat(root); errors.Is(err, fs.ErrNotExist) {
		return freed, nil
	}
	lock, err := openLock(root)
	if err != nil {
		return freed, err
	}
	defer lock.Close()
	if err := waitFor(ctx, lock); err != nil {
		return freed, err
	}
	u, err := mapUsage(root)
	if err != nil {
		return freed, err
	}
	defer u.close()
	var all []found
	var onDisk int64
	err = u.recount(func() (int64, error) {
		all, onDisk, err = walk(root, true)
		return onDisk, err
	})
	if err != nil {
		return freed, err
	}
	return u.removeAll(ctx, choose(all, onDisk))
}

// removeAll removes shard files and takes them off the account.
func (u *usage) removeAll(ctx context.Context, victims []found) (freed Freed, err error) {
	for _, f := range victims {
		if err := ctx.Err(); err != nil {
			return freed, err
		}
		switch n, err := remove(f.path); {
		case errors.Is(err, errBusy):
			freed.InUse++
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return freed, err
		default:
			freed.Shards, freed.Bytes = freed.Shards+1, freed.Bytes+n
			if err := u.removed(n); err != nil {
				return freed, err
			}
		}
	}
	return freed, nil
}

// waitFor takes the directory's lock.
func waitFor(ctx context.Context, lock *os.File) error {
	tick := time.NewTicker(lockPoll)
	defer tick.Stop()
	for {
		if err := own(lock); !errors.Is(err, errBusy) {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
