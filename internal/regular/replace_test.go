package regular

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestReplace(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "rows")
	refuses := func(why error) func(io.Writer) error {
		return func(to io.Writer) error {
			_, _ = io.WriteString(to, "half")
			return &fs.PathError{Op: "write", Path: to.(*os.File).Name(), Err: why}
		}
	}
	for _, c := range []struct {
		name, path string
		fill       func(io.Writer) error
		want       string
	}{
		{"full disk", path, refuses(syscall.ENOSPC), path + ": no space left on device: make room there, or name a file on another disk"},
		{"quota", path, refuses(syscall.EDQUOT), path + ": disk quota exceeded: make room there, or name a file on another disk"},
		{"broken disk", path, refuses(syscall.EIO), path + ": input/output error"},
		{"the function's own error", path, func(io.Writer) error { return errors.New("no rows") }, "no rows"},
		{"no directory", dir + "/none/rows", refuses(nil), dir + "/none/rows: no such file or directory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := Replace(c.path, c.fill); err == nil || err.Error() != c.want {
				t.Errorf("got %v, want %s", err, c.want)
			}
			if left, _ := os.ReadDir(dir); len(left) > 0 {
				t.Errorf("it left %v", left)
			}
		})
	}
	for _, text := range []string{"one", "two"} {
		if err := Replace(path, func(to io.Writer) error { _, err := io.WriteString(to, text); return err }); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); string(got) != text {
			t.Errorf("got %q, %v, want %q", got, err, text)
		}
	}
}
