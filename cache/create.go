package cache

import (
	"errors"
	"os"
	"path/filepath"
)

// leftoverMark stands in the names of files that are not yet shard files.
const leftoverMark = ".new-"

// smallHead is how much of a new file is written rather than allocated: for less, one write is the cheaper of both.
const smallHead = 64 << 10

// createFile makes the shard file of a key: whole but for data, and locked as shared, before it has its name. It returns nil without an error
// when another process was first, and where the file has to be opened once more.
func createFile(dir string, k key, mark stamp) (*os.File, error) {
	path := filepath.Join(dir, k.name)
	f, err := createUnnamed(filepath.Dir(path))
	if errors.Is(err, os.ErrNotExist) {
		if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil && !errors.Is(err, os.ErrExist) {
			return nil, err
		}
		f, err = createUnnamed(filepath.Dir(path))
	}
	if errors.Is(err, errors.ErrUnsupported) {
		return nil, createNamed(path, k, mark)
	}
	if err != nil {
		return nil, err
	}
	if err = fillHead(f, k, mark); err == nil {
		err = share(f)
	}
	if err == nil {
		err = nameIt(f, path)
	}
	if err == nil {
		return f, nil
	}
	f.Close()
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return nil, createNamed(path, k, mark)
	case errors.Is(err, os.ErrExist):
		return nil, nil
	}
	return nil, err
}

// createNamed makes the file under another name, for file systems without unnamed ones.
func createNamed(path string, k key, mark stamp) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+leftoverMark+"*")
	if err != nil {
		return err
	}
	defer func() { _, _ = f.Close(), os.Remove(f.Name()) }()
	if err := fillHead(f, k, mark); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return nil
}

// fillHead writes header and table, so that both have their room on the disk, and gives the file its length.
func fillHead(f *os.File, k key, mark stamp) error {
	l := layoutOf(k)
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
