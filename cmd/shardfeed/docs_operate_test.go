package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/shuffle"
)

// The table of formats names those of the sources, in each language that has them.
func TestUpgradePage(t *testing.T) {
	pages, root := pages(t)
	rows := map[string]string{}
	for _, row := range regexp.MustCompile(`(?m)^\| ([a-z][^|]*) \| ([^|]*) \| [^|]* \|$`).FindAllStringSubmatch(pages["docs/upgrade.md"], -1) {
		rows[row[1]] = row[2]
	}
	for format, constants := range map[string]map[string]string{
		"package and engine, over the socket": {
			"internal/engine/wire/hello.go": `(?m)^(?:const |\t)Version += (\d+)`, "python/src/shardfeed/_engine/_protocol.py": `(?m)^VERSION = (\d+)`,
		},
		"states (checkpoints)": {"shuffle/state.go": `(?m)^const stateVersion = (\d+)`, "python/src/shardfeed/_state.py": `(?m)^VERSION = (\d+)`},
		"order of rows":        {"shuffle/params.go": `Version += "(` + shuffle.Version + `)"`},
		"order of mixtures":    {"shuffle/params.go": `Mixed += "(.*?)"`},
		"tokens":               {"tokenize/tokenizer.go": `(?m)^const version = "(.*?) `},
		"saved plans (files)":  {"iterable/internal/saved/file.go": `File\{Version: (\d+),`, "iterable/internal/saved/inventory.go": `f\.Version != (\d+)`},
		"cache":                {"cache/cache.go": `formatDir = "(.*?)"`},
		"index of footers":     {"places.go": `"shardfeed", "(.*?)"`},
	} {
		for file, pattern := range constants {
			text, err := os.ReadFile(filepath.Join(root, file))
			if err != nil {
				t.Fatal(err)
			}
			found := regexp.MustCompile(pattern).FindSubmatch(text)
			if found == nil {
				t.Errorf("%s has no %s", file, pattern)
			} else if now := string(found[1]); !slices.Contains(strings.FieldsFunc(rows[format], func(r rune) bool { return strings.ContainsRune("`, ", r) }), now) {
				t.Errorf("docs/upgrade.md has %q as %s, and %s has %s", rows[format], format, file, now)
			}
		}
	}
}

// Pages name wheels and archives of this release.
func TestReleaseOfPages(t *testing.T) {
	pages, _ := pages(t)
	for _, page := range []string{"docs/install.md", "README.md"} {
		for _, found := range regexp.MustCompile(`shardfeed[-_](\d+\.\d+\.\d+)[-_]`).FindAllStringSubmatch(pages[page], -1) {
			if found[1] != release {
				t.Errorf("%s names %s, the release is %s", page, found[0], release)
			}
		}
	}
}

// The support matrix has the versions that the wheel asks for and that tests run with.
func TestSupportMatrix(t *testing.T) {
	pages, root := pages(t)
	for file, versions := range map[string]map[string]string{
		"python/pyproject.toml":        {`requires-python = ">=(3\.\d+)"`: "CPython %s or newer"},
		"python/requirements-test.txt": {`(?m)^torch==(\d+\.\d+)`: "runs with %s, measurements"},
		"python/hatch_build.py":        {`manylinux_2_(\d+)_`: "glibc 2.%s or newer"},
		"tools/release":                {`PYTHONS:-python(3\.\d+) `: "on each of %s to"},
		"go.mod":                       {`(?m)^go (1\.\d+)`: "Go %s or newer"},
	} {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		for pattern, want := range versions {
			found := regexp.MustCompile(pattern).FindSubmatch(text)
			if found == nil {
				t.Errorf("%s has no %s", file, pattern)
			} else if want = fmt.Sprintf(want, found[1]); !strings.Contains(pages["docs/install.md"], want) {
				t.Errorf("docs/install.md does not have %q, which %s says", want, file)
			}
		}
	}
}

// Each error text of the page of troubleshooting is in the sources.
func TestErrorsOfTroubleshooting(t *testing.T) {
	pages, root := pages(t)
	var all strings.Builder
	for _, file := range slices.Concat(filesBelow(t, root, ".go"), filesBelow(t, filepath.Join(root, "python"), ".py")) {
		if strings.HasSuffix(file, "_test.go") || strings.Contains(file, "python/tests/") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	sources := all.String()
	headings := regexp.MustCompile("(?m)^### (.*)$").FindAllStringSubmatch(pages["docs/troubleshooting.md"], -1)
	if len(headings) < 15 {
		t.Errorf("only %d errors were found", len(headings))
	}
	for _, heading := range headings {
		for _, text := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(heading[1], -1) {
			if !strings.Contains(sources, text[1]) {
				t.Errorf("no source has the text %q", text[1])
			}
		}
	}
}
