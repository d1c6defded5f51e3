package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Every command in the manifests and scripts of deploy/, and in the pages about them, has a verb,
// flags and values that this program takes.
func TestDeployCommands(t *testing.T) {
	files, root := pages(t)
	texts := map[string]string{"docs/kubernetes.md": files["docs/kubernetes.md"], "docs/slurm.md": files["docs/slurm.md"]}
	err := filepath.WalkDir(filepath.Join(root, "deploy"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		texts[strings.TrimPrefix(path, root+"/")] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for file, text := range texts {
		for _, args := range deployed(t, file, text) {
			found[args[0]]++
			if err := parses(args); err != nil {
				t.Errorf("%s: shardfeed %s: %v", file, strings.Join(args, " "), err)
			}
		}
	}
	for verb, least := range map[string]int{"warm": 5, "serve": 2, "cache": 2} {
		if found[verb] < least {
			t.Errorf("%d commands with %s were found, want at least %d", found[verb], verb, least)
		}
	}
}

var (
	listed  = regexp.MustCompile(`\["shardfeed",[^\]]*\]`)                 // a container's command, on one line
	inShell = regexp.MustCompile(`(?m)(?:^|[ +;&|])shardfeed ([^\n;&|]*)`) // one in a script
	noted   = regexp.MustCompile(`(?m)(?:^|[ ])# .*$`)
	quoted  = strings.NewReplacer(`"`, "", "'", "")
	indexed = strings.NewReplacer("$(JOB_COMPLETION_INDEX)", "1") // what an Indexed Job sets
)

// deployed returns the arguments of the commands in a file.
func deployed(t *testing.T, file, text string) (commands [][]string) {
	t.Helper()
	for _, list := range listed.FindAllString(text, -1) {
		var command []string
		if err := json.Unmarshal([]byte(list), &command); err != nil {
			t.Errorf("%s: %s: %v", file, list, err)
		}
		for i, word := range command {
			command[i] = indexed.Replace(word)
		}
		commands = append(commands, command[1:])
	}
	if filepath.Ext(file) == ".md" {
		text = strings.Join(append(blocksOf(text, "bash"), blocksOf(text, "diff")...), "\n")
	}
	text = strings.ReplaceAll(noted.ReplaceAllString(text, ""), "\\\n", " ")
	for _, match := range inShell.FindAllStringSubmatch(text, -1) {
		commands = append(commands, strings.Fields(quoted.Replace(match[1])))
	}
	return commands
}

// parses reports whether the command takes these arguments. It does not run it.
func parses(args []string) error {
	a := &app{stdin: strings.NewReader(""), stdout: io.Discard, stderr: io.Discard}
	root := a.root()
	verb, rest, err := root.Find(args)
	if err != nil {
		return err
	}
	if verb.HasSubCommands() {
		return fmt.Errorf("%s needs one of its verbs", verb.CommandPath())
	}
	ran := false
	verb.RunE = func(*cobra.Command, []string) error {
		ran = true
		return nil
	}
	root.SetArgs(args)
	root.SetOut(io.Discard)
	root.SetErr(io.Discard)
	if err := root.ExecuteContext(context.Background()); err != nil {
		return err
	}
	if !ran {
		return fmt.Errorf("%q does not run", rest)
	}
	return nil
}

func TestDeployCommandsAreSeen(t *testing.T) {
	for text, want := range map[string]string{
		`command: ["shardfeed", "warm", "$(URI)", "--columns", "a,b"]`: "[warm $(URI) --columns a,b]",
		`["shardfeed", "warm", "t",
		   "--node", "$(JOB_COMPLETION_INDEX)"]`: "[warm t --node 1]",
		"  shardfeed cache du\n":                                               "[cache du]",
		"srun shardfeed warm \"$table\" \\\n  --columns a\n":                   "[warm $table --columns a]",
		"shardfeed cache gc && shardfeed cache du\n":                           "[cache gc] [cache du]",
		"# shardfeed warms\nSHARDFEED_CACHE_DIR=/shardfeed\nname: shardfeed\n": "",
	} {
		var got []string
		for _, args := range deployed(t, "deploy/x.yaml", text) {
			got = append(got, fmt.Sprint(args))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	for _, wrong := range [][]string{{"warn", "s3://b/t"}, {"warm"}, {"warm", "t", "--colums", "a"}, {"cache"}, {"cache", "gc", "--older-than"}, {"serve", "now"}} {
		if err := parses(wrong); err == nil {
			t.Errorf("%q parses", wrong)
		}
	}
}
