package cache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/shardfeed/shardfeed/internal/crc"
	"github.com/shardfeed/shardfeed/internal/trusted"
	"github.com/shardfeed/shardfeed/shard"
)

// List returns the entries of the cache in dir, sorted by URI and then by time of use. Like all
// maintenance it may run beside jobs. A missing directory holds nothing.
func List(ctx context.Context, dir string) ([]Entry, error) {
	root, all, _, err := walkDir(dir)
	if err != nil || root == nil {
		return nil, err
	}
	defer root.Close()
	markSuperseded(all)
	entries := make([]Entry, 0, len(all))
	for _, f := range all {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		x, err := openFound(root, f)
		if err != nil {
			continue // it was removed meanwhile, or is not a shard file, which Verify reports
		}
		held, err := x.held()
		if err == nil {
			entries = append(entries, Entry{
				URI: x.uri, Size: x.key.size, Version: x.version, Decoded: f.decoded, Held: held, Allocated: f.allocated,
				Used: f.used, KeptUntil: f.until, Superseded: f.superseded, Path: filepath.Join(root.Path(), f.name),
			})
		}
		x.close()
	}
	slices.SortFunc(entries, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.URI, b.URI), a.Used.Compare(b.Used), cmp.Compare(a.Path, b.Path))
	})
	return entries, nil
}

// walkDir is walk for a directory as the user names it. Root is nil if it holds no cache; otherwise
// the caller closes it.
func walkDir(dir string) (root *trusted.Dir, all []found, onDisk amount, err error) {
	if _, err := diskNear(dir); err != nil { // fails on a system without a cache
		return nil, nil, onDisk, err
	}
	root, err = openRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, onDisk, nil
	}
	if err != nil {
		return nil, nil, onDisk, err
	}
	all, onDisk, err = walk(root, false)
	if err != nil {
		return nil, nil, onDisk, errors.Join(err, root.Close())
	}
	return root, all, onDisk, nil
}

// openFound opens a file that a walk found, as the shard that its header names.
func openFound(root *trusted.Dir, f found) (*file, error) {
	k, err := keyAt(root, f.name)
	if err != nil {
		return nil, err
	}
	if k.name != f.name {
		return nil, errHeader
	}
	return openFile(root, k)
}

func keyAt(root *trusted.Dir, name string) (key, error) {
	f, err := root.OpenFile(name, os.O_RDONLY)
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

func (x *file) held() (n int64, err error) {
	err = shard.Guard(func() error {
		for b := range x.table {
			n += x.run(int64(b), x.entry(int64(b))).N
		}
		return nil
	})
	return n, err
}

// Usage returns how much disk space the cache in dir takes.
func Usage(dir string) (Space, error) {
	s := Space{Path: filepath.Join(dir, formatDir)}
	root, all, onDisk, err := walkDir(dir)
	if err != nil {
		return s, err
	}
	if root != nil {
		defer root.Close()
		s.ReadOnly = root.ReadOnly()
	}
	for _, f := range all {
		count(f.decoded, &s.Shards, &s.Decoded)
	}
	s.Bytes, s.DecodedBytes = onDisk.all, onDisk.decoded
	disk, err := diskNear(dir)
	if err != nil {
		return s, err
	}
	s.Free = disk.free
	if root == nil || root.ReadOnly() || !hasUsage(root) {
		return s, nil
	}
	u, err := mapUsage(root)
	if err != nil {
		return s, err
	}
	defer u.close()
	s.Limit, err = u.limit()
	return s, err
}

// count counts a file of a shard or of decoded bytes.
func count(decoded bool, shards, decodedFiles *int) {
	if decoded {
		*decodedFiles++
	} else {
		*shards++
	}
}

// Verify reads everything that the cache in dir holds, and drops the blocks that fail their
// checksum. Progress, if set, is called with the number of bytes read.
func Verify(ctx context.Context, dir string, progress func(n int64)) (Report, error) {
	if progress == nil {
		progress = func(int64) {}
	}
	var r Report
	root, all, _, err := walkDir(dir)
	if err != nil || root == nil {
		return r, err
	}
	defer root.Close()
	buffer := make([]byte, blockSize)
	for _, f := range all {
		x, err := openFound(root, f)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			if !errors.Is(err, errStale) || stillThere(root, f.name) {
				r.BadURIs = append(r.BadURIs, filepath.Join(root.Path(), f.name))
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

// stillThere distinguishes a file that is cut from one that is being removed.
func stillThere(root *trusted.Dir, name string) bool {
	f, err := root.OpenFile(name, os.O_RDONLY)
	if errors.Is(err, trusted.ErrUntrusted) {
		return true
	}
	if err != nil {
		return false
	}
	defer f.Close()
	return share(f) == nil
}

func (r *Report) verify(ctx context.Context, x *file, buffer []byte, progress func(n int64)) error {
	count(x.decoded(), &r.Shards, &r.Decoded)
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
			if (err != nil || crc.Of(buffer[:run.N]) != e.sum()) && x.damage(b, e) {
				r.Bad++
			}
			progress(run.N)
			return nil
		})
		if err != nil { // it was cut during the read
			r.Bad++
			break
		}
	}
	if r.Bad > bad {
		r.BadURIs = append(r.BadURIs, x.uri)
	}
	return nil
}

// Collect removes the shards that o selects and the leftovers of killed processes. Shards that a
// job reads now stay.
func Collect(ctx context.Context, dir string, o CollectOptions) (Freed, error) {
	return clean(ctx, dir, func(all []found, onDisk int64) (victims []found) {
		now := time.Now()
		for _, f := range inOrder(all) {
			old := o.OlderThan > 0 && now.Sub(f.used) > o.OlderThan
			tooMuch := o.ToBytes > 0 && onDisk > o.ToBytes
			if old || tooMuch || o.Superseded && f.superseded || o.Decoded && f.decoded {
				victims = append(victims, f)
				onDisk -= f.allocated
			}
		}
		return victims
	})
}

// Clear removes everything that the cache in dir holds, except shards that a job reads now.
func Clear(ctx context.Context, dir string) (Freed, error) {
	return clean(ctx, dir, func(all []found, _ int64) []found { return all })
}

// clean removes the shard files that choose selects, and corrects the account of the directory.
func clean(ctx context.Context, dir string, choose func(all []found, onDisk int64) []found) (freed Freed, err error) {
	root, _, _, err := walkDir(dir)
	if err != nil || root == nil {
		return freed, err
	}
	defer root.Close()
	if root.ReadOnly() {
		return freed, fmt.Errorf("%s: %w", root.Path(), errReadOnly)
	}
	lock, err := openLock(root)
	if err != nil {
		return freed, err
	}
	defer lock.Close()
	if err := lockDir(ctx, lock); err != nil {
		return freed, err
	}
	u, err := mapUsage(root)
	if err != nil {
		return freed, err
	}
	defer u.close()
	var all []found
	var onDisk amount
	err = u.recount(func() (amount, error) {
		all, onDisk, err = walk(root, true)
		return onDisk, err
	})
	if err != nil {
		return freed, err
	}
	return u.removeAll(ctx, root, choose(all, onDisk.all))
}

func (u *usage) removeAll(ctx context.Context, root *trusted.Dir, victims []found) (freed Freed, err error) {
	for _, f := range victims {
		if err := ctx.Err(); err != nil {
			return freed, err
		}
		switch n, err := remove(root, f.name); {
		case errors.Is(err, errBusy):
			freed.InUse++
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return freed, err
		default:
			count(f.decoded, &freed.Shards, &freed.Decoded)
			freed.Bytes += n
			if err := u.removed(room{n, f.decoded}); err != nil {
				return freed, err
			}
		}
	}
	return freed, nil
}
