package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// docs/reference/command has a page for each verb with the text of its --help. UPDATE_DOCS=1 writes
// the pages.
func TestCommandReference(t *testing.T) {
	dir := "../../docs/reference/command"
	want := reference(t)
	if os.Getenv("UPDATE_DOCS") != "" {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		for name, text := range want {
			write(t, filepath.Join(dir, name), text)
		}
	}
	for name, text := range want {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || string(got) != text {
			t.Errorf("%s is not what --help prints: UPDATE_DOCS=1 go test ./cmd/shardfeed -run TestCommandReference writes it (%v)", name, err)
		}
	}
	found, err := os.ReadDir(dir)
	if err != nil || len(found) != len(want) {
		t.Errorf("%d pages, want %d, %v", len(found), len(want), err)
	}
}

// reference returns the pages by file name.
func reference(t *testing.T) map[string]string {
	t.Helper()
	root := (&app{stdout: os.Stdout, stderr: os.Stderr}).root()
	pages := map[string]string{}
	var index strings.Builder
	index.WriteString("# Command\n\nWhat `shardfeed --help` prints, and a page for each command.\n\n")
	index.WriteString(helpBlock(t) + "\n| command | what it does |\n| --- | --- |\n")
	for _, verb := range root.Commands() {
		if !verb.IsAvailableCommand() || verb.Name() == "completion" {
			continue
		}
		fmt.Fprintf(&index, "| [`%s`](%s.md) | %s |\n", verb.Name(), verb.Name(), verb.Short)
		pages[verb.Name()+".md"] = verbPage(t, verb)
	}
	pages["index.md"] = index.String()
	return pages
}

// verbPage is the help of a verb, and of the verbs below it.
func verbPage(t *testing.T, verb *cobra.Command) string {
	t.Helper()
	var page strings.Builder
	fmt.Fprintf(&page, "# shardfeed %s\n\n%s", verb.Name(), helpBlock(t, verb.Name()))
	for _, below := range verb.Commands() {
		if below.IsAvailableCommand() {
			fmt.Fprintf(&page, "\n## shardfeed %s %s\n\n%s", verb.Name(), below.Name(), helpBlock(t, verb.Name(), below.Name()))
		}
	}
	return page.String()
}

func helpBlock(t *testing.T, verb ...string) string {
	t.Helper()
	code, text, stderr := command(t, append(verb, "--help")...)
	if code != 0 || stderr != "" {
		t.Fatalf("%v --help: exit %d, %s", verb, code, stderr)
	}
	return "```text\n" + strings.TrimSpace(text) + "\n```\n"
}
