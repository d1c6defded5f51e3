package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tree writes files below a temporary directory.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func read(t *testing.T, path string, packages []string, files map[string]string) *module {
	t.Helper()
	m := &module{Path: path, Version: "v1.0.0", Dir: tree(t, files), packages: map[string]bool{}}
	for _, p := range packages {
		m.packages[filepath.Join(m.Dir, p)] = true
	}
	if err := m.read(); err != nil {
		t.Fatal(err)
	}
	return m
}

// Texts come from the root and from linked packages, each once; those of packages that are not
// linked do not count.
func TestLicences(t *testing.T) {
	a := read(t, "example.com/a", []string{"in/side"}, map[string]string{
		"LICENSE": "terms of a\n", "NOTICE.txt": "a says\r\nso", "license.go": "package a",
		"in/LICENSE-MIT": "terms of in", "in/side/COPYING": "terms of a", "out/LICENSE": "terms of out",
	})
	b := read(t, "example.com/b", nil, map[string]string{"Licence.md": "terms of a"})
	got, err := licences([]*module{a, b})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"example.com/a v1.0.0\nexample.com/b v1.0.0\n\nterms of a\n", "example.com/a v1.0.0 (in)\n\nterms of in\n"} {
		if !strings.Contains(string(got), want) {
			t.Errorf("got\n%s\nwithout\n%s", got, want)
		}
	}
	for _, unwanted := range []string{"terms of out", "package a", "a says"} {
		if strings.Contains(string(got), unwanted) {
			t.Errorf("got\n%s\nwith %q", got, unwanted)
		}
	}
	if got := string(notice([]*module{a, b})); !strings.HasPrefix(got, ours) || !strings.Contains(got, "example.com/a v1.0.0\n\na says\nso\n") {
		t.Errorf("notice: %s", got)
	}
}

func TestNoLicence(t *testing.T) {
	m := read(t, "example.com/a", nil, map[string]string{"NOTICE": "no terms", "LICENSE": "  \n"})
	if _, err := licences([]*module{m}); err == nil || !strings.Contains(err.Error(), "example.com/a has no licence file") {
		t.Errorf("got %v", err)
	}
}
