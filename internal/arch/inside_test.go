package arch

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestInside keeps docs/inside.md complete: each file of rowgroup and iterable belongs to one idea,
// and each pattern there names a file.
func TestInside(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(moduleRoot(t), "docs/inside.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range packages(t) {
		_, section, found := strings.Cut(string(page), "\n## "+rel(p.ImportPath)+":")
		if !found {
			continue
		}
		section, _, _ = strings.Cut(section, "\n## ")
		ideas := filePatterns(section)
		if len(ideas) == 0 {
			t.Errorf("%s: docs/inside.md names no files", rel(p.ImportPath))
		}
		used := map[string]bool{}
		files, err := filepath.Glob(filepath.Join(p.Dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range files {
			name := filepath.Base(path)
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			var of []string
			for _, pattern := range ideas {
				if ok, err := filepath.Match(pattern, name); err != nil {
					t.Fatal(err)
				} else if ok {
					of, used[pattern] = append(of, pattern), true
				}
			}
			if len(of) != 1 {
				t.Errorf("%s/%s: docs/inside.md names it under %q, want one idea", rel(p.ImportPath), name, of)
			}
		}
		for _, pattern := range ideas {
			if !used[pattern] {
				t.Errorf("%s: docs/inside.md names %s, which does not exist", rel(p.ImportPath), pattern)
			}
		}
	}
}

var filePattern = regexp.MustCompile("`([a-z0-9_*]+\\.go)`")

// filePatterns returns the patterns of Go files in a text.
func filePatterns(text string) (all []string) {
	for _, m := range filePattern.FindAllStringSubmatch(text, -1) {
		all = append(all, m[1])
	}
	return all
}

var docFile = regexp.MustCompile(`[\w/]*\w\.go\b`)

// TestDocFiles keeps the files that a package's doc.go names true: they are in its directory, or
// below it.
func TestDocFiles(t *testing.T) {
	for _, p := range packages(t) {
		text, err := os.ReadFile(filepath.Join(p.Dir, "doc.go"))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range docFile.FindAllString(string(text), -1) {
			if _, err := os.Stat(filepath.Join(p.Dir, name)); err != nil {
				t.Errorf("%s/doc.go names %s, which is not there", rel(p.ImportPath), name)
			}
		}
	}
}
