package main

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/process"

	"github.com/shardfeed/shardfeed/internal/regular"

	"github.com/shardfeed/shardfeed/internal/text"
	"github.com/shardfeed/shardfeed/internal/trusted"
)

// A directory is a place for files, and whether it can be used.
type directory struct {
	Path  string `json:"path"`
	State string `json:"state"`
	Files int    `json:"files"`
	Bytes int64  `json:"bytes"`
	Free  int64  `json:"free_bytes"`
}

// indexDirectory looks at the index in path without changing it.
func indexDirectory(path string) directory {
	d := directory{Path: path}
	if d.Path == "" {
		d.State = "none: neither SHARDFEED_CACHE_DIR nor HOME is set"
		return d
	}
	readOnly, err := d.count()
	if err != nil {
		d.State = "cannot be used: " + regular.Error(err).Error()
		return d
	}
	exists := trusted.Nearest(d.Path)
	d.Free = process.FreeBytes(exists)
	switch {
	case readOnly:
		d.State = fmt.Sprintf("read-only, %s; no footers are added", text.Plural(int64(d.Files), "file"))
	case !process.Writable(exists):
		d.State = "cannot be written: runs do not use it"
	case exists != d.Path:
		d.State = "does not exist yet"
	default:
		d.State = fmt.Sprintf("in use, %s", text.Plural(int64(d.Files), "file"))
	}
	return d
}

// count adds up the files in the directory; a missing one is empty.
func (d *directory) count() (readOnly bool, err error) {
	dir, err := trusted.Open(d.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer dir.Close()
	entries, err := dir.ReadDir(".")
	if err != nil {
		return false, err
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() { // a file that is gone by now does not count
			d.Files++
			d.Bytes += info.Size()
		}
	}
	return dir.ReadOnly(), nil
}
