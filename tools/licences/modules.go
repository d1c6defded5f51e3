package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
)

// platforms are those of releases: GOOS, GOARCH and build tags.
var platforms = [][3]string{
	{"linux", "amd64", ""},
	{"linux", "arm64", ""},
	{"linux", "amd64", "nocuda"},
	{"linux", "arm64", "nocuda"},
	{"darwin", "amd64", ""},
	{"darwin", "arm64", ""},
}

// module is a linked module with its licences and notices.
type module struct {
	Path, Version, Dir string
	Main               bool

	packages map[string]bool // directories of the linked packages
	texts    []text
}

type text struct {
	file   string // below the module
	text   string
	notice bool
}

// title names a text: its module, and its file when it lies below the module's root.
func (m *module) title(t text) string {
	title := m.Path
	if m.Version != "" {
		title += " " + m.Version
	}
	if dir := filepath.ToSlash(filepath.Dir(t.file)); dir != "." {
		title += " (" + dir + ")"
	}
	return title
}

// linked returns the modules that the packages link on any of the platforms, in the order of their
// paths, Go's own library first.
func linked(packages []string) ([]*module, error) {
	byPath := map[string]*module{}
	for _, p := range platforms {
		if err := listInto(byPath, p, packages); err != nil {
			return nil, err
		}
	}
	var modules []*module
	for _, m := range byPath {
		modules = append(modules, m)
	}
	sort.Slice(modules, func(i, j int) bool { return modules[i].Path < modules[j].Path })
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, err
	}
	modules = append([]*module{{Path: "The Go standard library", Dir: strings.TrimSpace(string(root))}}, modules...)
	for _, m := range modules {
		if err := m.read(); err != nil {
			return nil, err
		}
	}
	return modules, nil
}

// listInto adds the modules that the packages link on a platform.
func listInto(byPath map[string]*module, platform [3]string, packages []string) error {
	list := exec.Command("go", append([]string{"list", "-deps", "-json=Dir,Module", "-tags", platform[2]}, packages...)...)
	list.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+platform[0], "GOARCH="+platform[1])
	var stderr bytes.Buffer
	list.Stderr = &stderr
	out, err := list.Output()
	if err != nil {
		return fmt.Errorf("go list: %w: %s", err, stderr.String())
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			Dir    string
			Module *module
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("go list: %w", err)
		}
		if p.Module == nil || p.Module.Main {
			continue
		}
		m := byPath[p.Module.Path]
		if m == nil {
			m = p.Module
			m.packages = map[string]bool{}
			byPath[m.Path] = m
		}
		m.packages[p.Dir] = true
	}
}

var (
	licenceName = regexp.MustCompile(`(?i)^(licen[cs]es?|copying|copyright|patents|unlicense)([-._].*)?$`)
	noticeName  = regexp.MustCompile(`(?i)^notice([-._].*)?$`)
)

// read finds the licences and notices in the module's root and in the directories of its linked
// packages up to it.
func (m *module) read() error {
	dirs := map[string]bool{m.Dir: true}
	for dir := range m.packages {
		for dir != m.Dir && strings.HasPrefix(dir, m.Dir) {
			dirs[dir] = true
			dir = filepath.Dir(dir)
		}
	}
	seen := map[string]bool{}
	for _, dir := range sorted(dirs) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if err := m.readFile(dir, e, seen); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *module) readFile(dir string, e fs.DirEntry, seen map[string]bool) error {
	name := e.Name()
	notice := noticeName.MatchString(name)
	if !e.Type().IsRegular() || !notice && !licenceName.MatchString(name) || strings.HasSuffix(name, ".go") {
		return nil
	}
	content, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return err
	}
	file, err := filepath.Rel(m.Dir, filepath.Join(dir, name))
	if err != nil {
		return err
	}
	t := text{file: file, text: strings.TrimSpace(strings.ReplaceAll(string(content), "\r\n", "\n")), notice: notice}
	if t.text != "" && !seen[t.text] {
		seen[t.text] = true
		m.texts = append(m.texts, t)
	}
	return nil
}

func sorted(set map[string]bool) []string {
	var list []string
	for s := range set {
		list = append(list, s)
	}
	sort.Strings(list)
	return list
}
