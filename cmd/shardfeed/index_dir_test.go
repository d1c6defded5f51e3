package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/process"
)

func TestIndexDirectory(t *testing.T) {
	dir := t.TempDir()
	cases := []struct {
		name  string
		cache string
		make  func(t *testing.T, index string)
		free  bool
		want  directory
	}{
		{
			"not there yet", filepath.Join(dir, "a", "b"), nil, true,
			directory{State: "does not exist yet"},
		},
		{
			"in use", filepath.Join(dir, "used"),
			func(t *testing.T, index string) {
				write(t, filepath.Join(index, "one"), "12345")
				write(t, filepath.Join(index, "two"), "6789")
				write(t, filepath.Join(index, "below", "three"), "not counted")
			}, true,
			directory{State: "in use, 2 files", Files: 2, Bytes: 9},
		},
		{
			"a file in its place", filepath.Join(dir, "taken"),
			func(t *testing.T, index string) { write(t, index, "") }, false,
			directory{State: "cannot be used: " + filepath.Join(dir, "taken", "index") + ": not a directory"},
		},
		{
			"writable by others", filepath.Join(dir, "open"),
			func(t *testing.T, index string) {
				write(t, filepath.Join(index, "one"), "12345")
				if err := os.Chmod(index, 0o777); err != nil {
					t.Fatal(err)
				}
			}, false,
			directory{State: "cannot be used: " + filepath.Join(dir, "open", "index") + " can be written by its group or by others; run chmod -R go-w " +
				filepath.Join(dir, "open", "index") + " (not trusted)"},
		},
		{
			"not writable", "/proc", nil, false,
			directory{State: "cannot be written: runs do not use it"},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "not writable" && process.Writable("/proc") {
				t.Skip("this user may write there")
			}
			t.Setenv("SHARDFEED_CACHE_DIR", c.cache)
			c.want.Path = filepath.Join(c.cache, "index")
			if c.make != nil {
				c.make(t, c.want.Path)
			}
			got := indexDirectory((&flags{}).Places().Index)
			if c.free && got.Free == 0 {
				t.Error("the free space is missing")
			}
			got.Free = 0
			if got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestNoIndexDirectory(t *testing.T) {
	for _, name := range []string{"SHARDFEED_CACHE_DIR", "SLURM_TMPDIR", "XDG_CACHE_HOME", "HOME"} {
		t.Setenv(name, "")
	}
	if got := indexDirectory((&flags{}).Places().Index); got.Path != "" || got.State != "none: neither SHARDFEED_CACHE_DIR nor HOME is set" {
		t.Errorf("got %+v", got)
	}
	if got := (&flags{}).Places().Manifests; got != "" {
		t.Errorf("manifests lie in %q", got)
	}
	if code, stdout, stderr := command(t, "cat", shop, "--limit", "1", "--columns", "unique_id", "--save-state", filepath.Join(t.TempDir(), "s")); code != 0 || stdout == "" || stderr != "" {
		t.Errorf("exit %d, %q", code, stderr)
	}
}

func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
