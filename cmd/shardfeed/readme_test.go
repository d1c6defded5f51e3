package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Every command of the README runs, and every file that it names exists.
func TestReadme(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(root, "testdata"), filepath.Join(dir, "testdata")); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	t.Setenv("SHARDFEED_CACHE_DIR", filepath.Join(dir, "cache"))
	commands := readmeCommands(string(content), "sh")
	if len(commands) < 8 {
		t.Errorf("only %d commands were found", len(commands))
	}
	for _, args := range commands {
		if code, stdout, stderr := command(t, args...); code != 0 || stdout == "" || stderr != "" {
			t.Errorf("%q: exit %d, %d bytes printed, stderr %q", args, code, len(stdout), stderr)
		}
	}
	checkSourceChapter(t, root, string(content))
}

// readmeCommands are the arguments of the commands in the blocks of a language: sh for those that need nothing but the repository, bash for
// those that need servers.
func readmeCommands(readme, language string) [][]string {
	var all [][]string
	for _, block := range strings.Split(readme, "```"+language+"\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		for line := range strings.Lines(block) {
			line, _, _ = strings.Cut(line, "#")
			line = strings.TrimPrefix(line, "go run ./cmd/")
			if args := strings.Fields(line); len(args) > 1 && args[0] == "shardfeed" {
				all = append(all, args[1:])
			}
		}
	}
	return all
}

// checkSourceChapter looks for each file of the chapter about the source in the packages that its step names.
func checkSourceChapter(t *testing.T, root, readme string) {
	_, chapter, _ := strings.Cut(readme, "## Reading the source")
	for _, step := range regexp.MustCompile(`(?m)^\d+\. `).Split(chapter, -1) {
		var dirs, files []string
		for _, name := range regexp.MustCompile("`([a-z0-9_/.]+)`").FindAllStringSubmatch(step, -1) {
			switch name := name[1]; {
			case !strings.HasSuffix(name, ".go"):
				dirs = append(dirs, name)
			case strings.Contains(name, "/"):
				dirs, files = append(dirs, filepath.Dir(name)), append(files, filepath.Base(name))
			default:
				files = append(files, name)
			}
		}
		for _, file := range files {
			exists := func(dir string) bool {
				_, err := os.Stat(filepath.Join(root, dir, file))
				return err == nil
			}
			if !slices.ContainsFunc(append(dirs, "shard"), exists) {
				t.Errorf("the README names %s, which is in none of %q", file, dirs)
			}
		}
	}
}
