package trusted

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrUntrusted is a directory or a file that another user could have written.
var ErrUntrusted = errors.New("not trusted")

// Nearest is the path, or the closest directory above it that exists.
func Nearest(path string) string {
	for {
		if _, err := os.Stat(path); err == nil || path == filepath.Dir(path) {
			return path
		}
		path = filepath.Dir(path)
	}
}

// A Dir is an open directory that is trusted. Its methods are safe for concurrent use.
type Dir struct {
	root     *os.Root
	path     string
	readOnly bool
}

// Open opens a directory that exists. The error wraps ErrUntrusted when another user could have
// written it.
func Open(path string) (*Dir, error) {
	named, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if named.Mode()&fs.ModeSymlink != 0 {
		return nil, untrusted(path, "is a symbolic link; remove it")
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	d := &Dir{root: root, path: path}
	if err := d.check(named); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return d, nil
}

// Create is Open for a directory that may be missing: it then creates it for only this user. Its
// parent must exist.
func Create(path string) (*Dir, error) {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		if _, missing := os.Lstat(path); missing != nil { // on a read-only file system mkdir fails even if it exists
			return nil, err
		}
	}
	return Open(path)
}

// check looks at the directory that was opened, which must be the one that had the name.
func (d *Dir) check(named fs.FileInfo) error {
	self, err := d.root.Open(".")
	if err != nil {
		return err
	}
	defer self.Close()
	info, err := self.Stat()
	if err != nil {
		return err
	}
	if !os.SameFile(named, info) {
		return untrusted(d.path, "was replaced while it was opened")
	}
	d.readOnly = !writable(self)
	return checkInfo(d.path, info)
}

// Path is the directory's name.
func (d *Dir) Path() string { return d.path }

// ReadOnly reports whether this process cannot write to the directory.
func (d *Dir) ReadOnly() bool { return d.readOnly }

// OpenFile opens a file below the directory, which must be regular and trusted as the directory is.
func (d *Dir) OpenFile(name string, flag int) (*os.File, error) {
	f, err := d.root.OpenFile(name, flag|noWait, 0o600)
	if err != nil {
		return nil, err
	}
	if err := CheckFile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// OpenDir opens a directory below the directory, which must be trusted as well.
func (d *Dir) OpenDir(name string) (*os.File, error) {
	f, err := d.root.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		err = checkInfo(f.Name(), info)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// ReadDir lists a directory below the directory; "." is the directory itself.
func (d *Dir) ReadDir(name string) ([]fs.DirEntry, error) {
	f, err := d.root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.ReadDir(-1)
}

// Lstat, Mkdir, Link, Rename and Remove call os.Root's methods.
func (d *Dir) Lstat(name string) (fs.FileInfo, error) { return d.root.Lstat(name) }

func (d *Dir) Mkdir(name string) error { return d.root.Mkdir(name, 0o700) }

func (d *Dir) Link(oldName, newName string) error { return d.root.Link(oldName, newName) }

func (d *Dir) Rename(oldName, newName string) error { return d.root.Rename(oldName, newName) }

func (d *Dir) Remove(name string) error { return d.root.Remove(name) }

// Close closes the directory. Files that were opened stay open.
func (d *Dir) Close() error { return d.root.Close() }

// CheckFile returns an error that wraps ErrUntrusted unless an open file is regular and only this
// user or root could have written it.
func CheckFile(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return untrusted(f.Name(), "is not a regular file; remove it")
	}
	return checkInfo(f.Name(), info)
}

func untrusted(path, why string) error { return fmt.Errorf("%s %s (%w)", path, why, ErrUntrusted) }
