package main

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed"
)

// No page is longer than a reader's patience, and each has its place in the site.
func TestDocPages(t *testing.T) {
	pages, root := pages(t)
	site, err := os.ReadFile(filepath.Join(root, "tools/docs/mkdocs.yml"))
	if err != nil {
		t.Fatal(err)
	}
	for page, text := range pages {
		if n := strings.Count(text, "\n"); n > 220 {
			t.Errorf("%s has %d lines, want at most 220", page, n)
		}
		if name, ok := strings.CutPrefix(page, "docs/"); ok && !strings.Contains(string(site), ": "+name+"\n") {
			t.Errorf("%s is not in the nav of tools/docs/mkdocs.yml", page)
		}
	}
}

var (
	link      = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	codeBlock = regexp.MustCompile("(?s)```.*?```")
)

// Links between files of the repository lead somewhere, anchors included.
func TestDocLinks(t *testing.T) {
	pages, root := pages(t)
	for _, more := range []string{
		"CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "llms.txt", "python/README.md", "examples/README.md", "bench/README.md", "deploy/README.md",
	} {
		text, err := os.ReadFile(filepath.Join(root, more))
		if err != nil {
			t.Error(err)
		}
		pages[more] = string(text)
	}
	for page, text := range pages {
		for _, match := range link.FindAllStringSubmatch(codeBlock.ReplaceAllString(text, ""), -1) {
			target, anchor, _ := strings.Cut(match[1], "#")
			if repository := "https://github.com/shardfeed/shardfeed/blob/main/"; strings.HasPrefix(target, repository) {
				target = strings.Repeat("../", strings.Count(page, "/")) + strings.TrimPrefix(target, repository)
			}
			if strings.Contains(target, "://") {
				continue
			}
			path := filepath.Join(filepath.Dir(page), target)
			if target == "" {
				path = page
			}
			if _, err := os.Stat(filepath.Join(root, path)); err != nil {
				t.Errorf("%s links to %s, which does not exist", page, match[1])
				continue
			}
			if anchor != "" && !slices.Contains(anchors(t, filepath.Join(root, path)), anchor) {
				t.Errorf("%s links to %s, which has no such heading", page, match[1])
			}
		}
	}
}

// anchors are the names that headings of a page get, and the objects whose docstrings it shows.
func anchors(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(string(text), -1) {
		name := regexp.MustCompile("[^a-z0-9 _-]").ReplaceAllString(strings.ToLower(heading[1]), "")
		names = append(names, strings.ReplaceAll(name, " ", "-"))
	}
	for _, object := range regexp.MustCompile(`(?m)^::: (.*)$`).FindAllStringSubmatch(string(text), -1) {
		names = append(names, object[1])
	}
	return names
}

// Every test that the page of guarantees names exists in the file that it links.
func TestGuarantees(t *testing.T) {
	pages, root := pages(t)
	named := regexp.MustCompile("\\[`(\\w+)`\\]\\(\\.\\./([^)]+)\\)").FindAllStringSubmatch(pages["docs/guarantees.md"], -1)
	if len(named) < 40 {
		t.Errorf("only %d tests are named", len(named))
	}
	for _, match := range named {
		name, file := match[1], match[2]
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Error(err)
		} else if !regexp.MustCompile(`(?m)^(func|def) ` + name + `\(`).Match(text) {
			t.Errorf("%s has no test %s", file, name)
		}
	}
}

// The functions and types of "Reading the source" exist in the packages of their lines.
func TestSourcePage(t *testing.T) {
	pages, root := pages(t)
	row := regexp.MustCompile("(?m)^\\|.*\\| `(\\w+)` \\| `(\\w+)` \\| (.*) \\|$")
	rows := row.FindAllStringSubmatch(pages["docs/source.md"], -1)
	if len(rows) < 12 {
		t.Errorf("only %d steps were found", len(rows))
	}
	for _, r := range rows {
		for _, dir := range link.FindAllStringSubmatch(r[3], -1) {
			source := sourceOf(t, filepath.Join(root, "docs", dir[1]))
			for pattern, name := range map[string]string{`(?m)^func (\([^)]*\) )?%s[(\[]`: r[1], `(?m)^(type |\t)%s\b`: r[2]} {
				if !regexp.MustCompile(fmt.Sprintf(pattern, name)).MatchString(source) {
					t.Errorf("%s has no %s", dir[1], name)
				}
			}
		}
	}
	modules := map[string]bool{}
	for _, file := range filesBelow(t, filepath.Join(root, "python/src/shardfeed"), ".py") {
		modules[filepath.Base(file)] = true
	}
	for _, file := range regexp.MustCompile("`(?:\\w+/)*(_\\w+\\.py)`").FindAllStringSubmatch(pages["docs/source.md"], -1) {
		if !modules[file[1]] {
			t.Errorf("there is no %s", file[1])
		}
	}
}

// An option is mentioned in the places of "Add an option" alone, at most six.
func TestPlacesOfAnOption(t *testing.T) {
	pages, root := pages(t)
	_, section, _ := strings.Cut(pages["docs/source.md"], "## Add an option")
	var places []string
	for _, row := range regexp.MustCompile("(?m)^\\| (`.+?`) \\|").FindAllStringSubmatch(section, -1) {
		places = append(places, row[1])
	}
	if len(places) == 0 || len(places) > 6 {
		t.Errorf("an option has the places %q", places)
	}
	named, used := regexp.MustCompile(`InvalidUTF8|invalid-utf8|invalid_utf8|ReplaceUTF8`), map[string]bool{}
	own := "`python/src/shardfeed/_select.py`, `python/src/shardfeed/_map.py`, `cmd/shardfeed/inspect.go`" // with options of their own
	for _, file := range append(filesBelow(t, root, ".go"), filesBelow(t, filepath.Join(root, "python/src"), ".py")...) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name, err := filepath.Rel(root, file)
		if err != nil || !named.Match(text) || strings.HasSuffix(name, "_test.go") {
			continue
		}
		within := func(place string) bool {
			dir := regexp.MustCompile("`(.+?/)`").FindAllStringSubmatch(place, -1)
			below := func(d []string) bool { return strings.HasPrefix(name, d[1]) }
			return strings.Contains(place, "`"+name+"`") || slices.ContainsFunc(dir, below)
		}
		at := slices.IndexFunc(places, within)
		switch {
		case at >= 0:
			used[places[at]] = true
		case !within(own):
			t.Errorf("%s mentions the option and is none of the places of an option", name)
		}
	}
	if len(used) != len(places) {
		t.Errorf("the option is in %d of the places %q", len(used), places)
	}
}

// The values of an option are refused in one file, and its text is parsed at one call.
func TestChecksOfAnOption(t *testing.T) {
	_, root := pages(t)
	elsewhere := map[string][]string{ // fields of other structs, and contradictions of other options
		"Addresses": {"iterable/sources.go"}, "Weight": {"iterable/sources.go"}, "Memory": {"iterable/take.go", "loader/map.go"},
		"Tail": {"iterable/stream.go", "loader/options.go"}, "BatchSize": {"loader/map.go", "validate.go"}, "Workers": {"loader/map.go"},
		"Scale": {"images/options.go", "batches.go"}, "Pack": {"iterable/internal/samples/pack.go"},
	}
	checks := filesWith(t, root,
		`(?:Within|OneOf)\((?:fmt\.Sprintf\()?"(\w+)`, `(?:Add|wrong|NewError)\((?:fmt\.Sprintf\()?"(\w+)[^"]*"(?:, \w+\))?, (?:nil, |err, )?.must`, `Field: "(\w+)", Text: .must`)
	checked := 0
	for _, f := range reflect.VisibleFields(reflect.TypeFor[shardfeed.Spec]()) {
		files := slices.DeleteFunc(checks[f.Name], func(file string) bool {
			return file == "iterable/saved_validate.go" || slices.Contains(elsewhere[f.Name], file)
		})
		if checked += len(files); len(files) > 1 {
			t.Errorf("%s is checked in %q", f.Name, files)
		}
	}
	if checked < 30 {
		t.Errorf("only %d checks were found", checked)
	}
	want := map[string][]string{
		"iterable.ParseSize": {"cmd/shardfeed/demo.go", "validate.go"},                 // demo opens its shop without a spec
		"rule.Parse":         {"iterable/internal/samples/validate.go", "validate.go"}, // once for the instant of a state
	}
	if parsers := filesWith(t, root, `\b(iterable\.ParseSize|rule\.Parse)\b`); !reflect.DeepEqual(parsers, want) {
		t.Errorf("texts are parsed in %q, want %q", parsers, want)
	}
}

// filesWith lists the files of Go, without tests, by what the group of one of the patterns matches
// in them.
func filesWith(t *testing.T, root string, patterns ...string) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	for _, file := range filesBelow(t, root, ".go") {
		name, err := filepath.Rel(root, file)
		if err != nil || strings.HasSuffix(name, "_test.go") || strings.Contains(name, "testdata") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, pattern := range patterns {
			for _, match := range regexp.MustCompile(pattern).FindAllSubmatch(text, -1) {
				if of := string(match[1]); !slices.Contains(found[of], name) {
					found[of] = append(found[of], name)
				}
			}
		}
	}
	return found
}

// filesBelow lists the files with an extension.
func filesBelow(t *testing.T, dir, ext string) (all []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ext {
			all = append(all, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// sourceOf is the text of a package without its tests.
func sourceOf(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no Go files, %v", dir, err)
	}
	var all strings.Builder
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	return all.String()
}

// The Go programs of the pages compile.
func TestDocGo(t *testing.T) {
	pages, root := pages(t)
	found := 0
	for _, page := range slices.Sorted(maps.Keys(pages)) {
		for i, block := range blocksOf(pages[page], "go") {
			found++
			t.Run(fmt.Sprintf("%s/%d", page, i), func(t *testing.T) {
				file := filepath.Join(t.TempDir(), "main.go")
				write(t, file, block)
				vet := exec.Command("go", "vet", file)
				vet.Dir = root
				if out, err := vet.CombinedOutput(); err != nil {
					t.Errorf("%v: %s", err, out)
				}
			})
		}
	}
	if found == 0 {
		t.Error("no Go program was found")
	}
}
