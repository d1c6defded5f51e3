package segmentdir

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/shardfeed/shardfeed/internal/trusted"
)

// tempPrefix marks segments that are being written. The writer locks its file, so a file without a
// lock belongs to a writer that has ended. A file older than tempAge counts as abandoned where
// files cannot be locked. Locks of files younger than newAge are not examined: the writer makes its
// file first and then locks it.
const (
	tempPrefix = "tmp-"
	tempAge    = time.Hour
	newAge     = 10 * time.Second
)

// Dir is a directory as one kind of segment sees it.
type Dir struct {
	*trusted.Dir
	suffix string
}

// Open opens a directory, and creates it if missing. Segments have the given suffix.
func Open(path, suffix string) (*Dir, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	dir, err := trusted.Create(path)
	if err != nil {
		return nil, err
	}
	d := &Dir{Dir: dir, suffix: suffix}
	if !d.ReadOnly() {
		d.removeTemps()
	}
	return d, nil
}

// Newest lists the segments, the newest first.
func (d *Dir) Newest() ([]fs.FileInfo, error) {
	entries, err := d.ReadDir(".")
	if err != nil {
		return nil, err
	}
	var files []fs.FileInfo
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), d.suffix) {
			continue
		}
		if info, err := e.Info(); err == nil { // else another process has merged it away
			files = append(files, info)
		}
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int {
		return cmp.Or(b.ModTime().Compare(a.ModTime()), strings.Compare(a.Name(), b.Name()))
	})
	return files, nil
}

// Write adds a segment, which appears whole or not at all, and returns its name. It removes what
// writers that were killed left behind.
func (d *Dir) Write(b []byte) (name string, err error) {
	d.removeTemps()
	id := rand.Text()
	temp := tempPrefix + id
	f, err := d.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, d.Remove(temp))
		}
	}()
	_ = lock(f)
	_, err = f.Write(b)
	if err = errors.Join(err, f.Close()); err != nil {
		return "", err
	}
	name = fmt.Sprintf("%d-%s%s", time.Now().UnixNano(), id, d.suffix)
	return name, d.Rename(temp, name)
}

func (d *Dir) removeTemps() {
	entries, _ := d.ReadDir(".")
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), tempPrefix) {
			continue
		}
		info, err := e.Info()
		if err != nil {
			continue
		}
		if age := time.Since(info.ModTime()); age > tempAge || age > newAge && d.abandoned(e.Name()) {
			_ = d.Remove(e.Name())
		}
	}
}

// abandoned reports whether no process has a file locked.
func (d *Dir) abandoned(name string) bool {
	f, err := d.OpenFile(name, os.O_RDWR)
	if err != nil {
		return false
	}
	defer f.Close()
	return lock(f) == nil
}
