package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every command in a sh block of the README and the pages of docs/ runs.
func TestReadme(t *testing.T) {
	pages, root := pages(t)
	found := 0
	for page, text := range pages {
		commands := commandsOf(text, "sh")
		found += len(commands)
		if len(commands) == 0 {
			continue
		}
		t.Run(page, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.Symlink(filepath.Join(root, "testdata"), filepath.Join(dir, "testdata")); err != nil {
				t.Fatal(err)
			}
			t.Chdir(dir)
			t.Setenv("SHARDFEED_CACHE_DIR", filepath.Join(dir, "cache"))
			for _, args := range commands {
				if code, stdout, stderr := command(t, args...); code != 0 || stdout == "" || stderr != "" {
					t.Errorf("%q: exit %d, %d bytes printed, stderr %q", args, code, len(stdout), stderr)
				}
			}
		})
	}
	if found < 8 {
		t.Errorf("only %d commands were found", found)
	}
}

// pages returns the README and the pages of docs/ by their paths below the repository's root.
func pages(t *testing.T) (byPath map[string]string, root string) {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	byPath = map[string]string{}
	read := func(path string) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			t.Fatal(err)
		}
		byPath[name] = string(text)
	}
	read(filepath.Join(root, "README.md"))
	err = filepath.WalkDir(filepath.Join(root, "docs"), func(path string, _ os.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".md" {
			read(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return byPath, root
}

// blocksOf returns the code blocks of a language.
func blocksOf(page, language string) []string {
	var blocks []string
	for _, rest := range strings.Split(page, "```"+language+"\n")[1:] {
		block, _, _ := strings.Cut(rest, "```")
		blocks = append(blocks, block)
	}
	return blocks
}

// commandsOf returns the arguments of the commands in the blocks of a language: sh needs only the
// repository, bash needs servers.
func commandsOf(page, language string) [][]string {
	var all [][]string
	for _, block := range blocksOf(page, language) {
		for line := range strings.Lines(block) {
			if args := words(strings.TrimPrefix(line, "go run ./cmd/")); len(args) > 1 && args[0] == "shardfeed" {
				all = append(all, args[1:])
			}
		}
	}
	return all
}

// words are the words of a shell's line without its comment. Quotes keep what they enclose.
func words(line string) []string {
	var all []string
	var word strings.Builder
	var quote rune
	begun := false
	for _, c := range line + " " {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(c)
		case c == '\'' || c == '"':
			quote, begun = c, true
		case c == '#' && !begun:
			return all
		case c == ' ' || c == '\n':
			if begun {
				all = append(all, word.String())
			}
			word.Reset()
			begun = false
		default:
			word.WriteRune(c)
			begun = true
		}
	}
	return all
}
