package cache

import (
	"crypto/rand"
	"errors"
	"os"
	"path"

	"github.com/shardfeed/shardfeed/internal/trusted"
)

// leftoverMark is part of the names of files that are not yet shard files.
const leftoverMark = ".new-"

// smallHead is the largest head that is written, which is cheaper than allocating it.
const smallHead = 64 << 10

// errRemoved reports that the directory of the cache was removed while it is open.
var errRemoved = errors.New("the directory was removed")

// createFile makes the shard file of a key. Before the file gets its name it is complete except for
// data, and has the shared lock. The result is nil without an error when another process made the
// file first, or when the caller has to open it.
func createFile(root *trusted.Dir, k key, mark stamp) (*os.File, error) {
	dir, err := openFamilyDir(root, path.Dir(k.name))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	f, err := createUnnamed(dir)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, createNamed(root, k, mark)
	}
	if err != nil {
		return nil, err
	}
	if err = fillHead(f, k, mark); err == nil {
		err = share(f)
	}
	if err == nil {
		err = nameIt(f, dir, path.Base(k.name))
	}
	if err == nil {
		return f, nil
	}
	f.Close()
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return nil, createNamed(root, k, mark)
	case errors.Is(err, os.ErrExist):
		return nil, nil
	}
	return nil, err
}

// openFamilyDir opens or makes the directory of the shard files whose names start with the same
// digit.
func openFamilyDir(root *trusted.Dir, name string) (*os.File, error) {
	dir, err := root.OpenDir(name)
	if !errors.Is(err, os.ErrNotExist) {
		return dir, err
	}
	switch err := root.Mkdir(name); {
	case errors.Is(err, os.ErrNotExist):
		return nil, errRemoved
	case err != nil && !errors.Is(err, os.ErrExist):
		return nil, err
	}
	return root.OpenDir(name)
}

// createNamed makes the file under another name, for file systems without unnamed ones.
func createNamed(root *trusted.Dir, k key, mark stamp) error {
	temp := k.name + leftoverMark + rand.Text()
	f, err := root.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	defer func() { _, _ = f.Close(), root.Remove(temp) }()
	if err := fillHead(f, k, mark); err != nil {
		return err
	}
	if err := root.Link(temp, k.name); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return nil
}

// fillHead writes header and table, so that both have their blocks on the disk, and sets the length
// of the file.
func fillHead(f *os.File, k key, mark stamp) error {
	l := fileLayoutOf(k)
	head := encodeHeader(k)
	mark.put(head)
	if l.head() <= smallHead {
		head = append(head, make([]byte, l.head()-int64(len(head)))...)
	} else if err := allocate(f, l.head()); err != nil {
		return err
	}
	if _, err := f.WriteAt(head, 0); err != nil {
		return err
	}
	return f.Truncate(l.file())
}
