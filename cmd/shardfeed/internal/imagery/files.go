package imagery

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/shardfeed/shardfeed/internal/regular"

	"github.com/shardfeed/shardfeed/images/codec"
)

// Files writes images into a directory, each once: a file that is there already stays as it
// is, and is an error unless it has the same bytes.
type Files struct {
	dir    string // as the user wrote it
	root   *os.Root
	digits int // of a row's number, so that names sort as rows do
	taken  map[string]bool
}

// OpenFiles opens the directory, or makes it. Row numbers are below rows.
func OpenFiles(dir string, rows int64) (*Files, error) {
	if err := os.Mkdir(dir, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, regular.Error(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, regular.Error(err)
	}
	return &Files{dir: dir, root: root, digits: len(strconv.FormatInt(max(0, rows-1), 10)), taken: map[string]bool{}}, nil
}

func (f *Files) Close() error { return f.root.Close() }

// row is a row's number as names of files have it.
func (f *Files) row(n uint64) string { return fmt.Sprintf("%0*d", f.digits, n) }

// maxNameBytes leaves room in a file's name, of 255 bytes at most, for the numbers and the ending.
const maxNameBytes = 150

// unique returns a column's part of file names: letters, digits, dots, dashes and underscores,
// distinct from other columns'.
func (f *Files) unique(column string) string {
	if f == nil {
		return ""
	}
	safe := strings.Map(func(r rune) rune {
		if r < 0x80 && (r == '.' || r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z') {
			return r
		}
		return '_'
	}, column)
	safe = safe[:min(len(safe), maxNameBytes)]
	name := safe
	for n := 2; f.taken[strings.ToLower(name)]; n++ { // some file systems ignore case
		name = fmt.Sprintf("%s_%d", safe, n)
	}
	f.taken[strings.ToLower(name)] = true
	return name
}

var endings = map[codec.Format]string{codec.JPEG: ".jpg", codec.PNG: ".png", codec.WebP: ".webp", codec.GIF: ".gif", codec.BMP: ".bmp", codec.TIFF: ".tiff"}

// write writes a file, and returns its path.
func (f *Files) write(name string, format codec.Format, file []byte) (string, error) {
	name += endings[format]
	path := filepath.Join(f.dir, name)
	w, err := f.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		there, err := f.root.ReadFile(name)
		if err != nil {
			return "", fmt.Errorf("%s: %w", path, pathless(err))
		}
		if !bytes.Equal(there, file) {
			return "", fmt.Errorf("%s exists and holds something else: --decode-images replaces no file; name an empty directory", path)
		}
		return path, nil
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, pathless(err))
	}
	_, err = w.Write(file)
	if err = errors.Join(err, w.Close()); err != nil {
		_ = f.root.Remove(name) // half a file would be taken for one of somebody else the next time
		return "", fmt.Errorf("%s: %w", path, pathless(err))
	}
	return path, nil
}

// pathless is an error without the path that it has, which is relative to the root.
func pathless(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}
