package imagery

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/images/codec"
)

// Names of columns may hold anything; names of files are plain, of bounded length, and each column
// has its own.
func TestImageFileNames(t *testing.T) {
	f := &Files{taken: map[string]bool{}}
	for _, c := range []struct{ column, want string }{
		{"img", "img"},
		{"../../etc/passwd", ".._.._etc_passwd"},
		{"a b", "a_b"},
		{"a/b", "a_b_2"},
		{"A_B", "A_B_3"},
		{"bild.größe", "bild.gr__e"},
		{"-x\x00\n", "-x__"},
		{strings.Repeat("x", 300), strings.Repeat("x", maxNameBytes)},
	} {
		t.Run(c.column[:min(len(c.column), 20)], func(t *testing.T) {
			if got := f.unique(c.column); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// Links in the directory lead nowhere outside it.
func TestImageFilesStayInside(t *testing.T) {
	dir := t.TempDir()
	victim := filepath.Join(dir, "victim")
	if err := os.Mkdir(filepath.Join(dir, "out"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, filepath.Join(dir, "out", "0-img.jpg")); err != nil {
		t.Fatal(err)
	}
	f, err := OpenFiles(filepath.Join(dir, "out"), 1)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.write("0-img", codec.JPEG, []byte("x")); err == nil {
		t.Error("it was written through a link")
	}
	if _, err := os.Lstat(victim); err == nil {
		t.Error("the link's target was made")
	}
}
