package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSaveNeverReplaces: what is not a state stays as it is when --save-state names it, and not a
// row is printed. The same for plans.
func TestSaveNeverReplaces(t *testing.T) {
	dir := t.TempDir()
	shard, err := os.ReadFile(filepath.Join(shop, "part-00000.parquet"))
	if err != nil {
		t.Fatal(err)
	}
	state := string(plainState().JSON())
	if code, _, stderr := command(t, "plan", shop, "--save", filepath.Join(dir, "a plan")); code != 0 {
		t.Fatal(stderr)
	}
	plan, err := os.ReadFile(filepath.Join(dir, "a plan"))
	if err != nil {
		t.Fatal(err)
	}
	contents := map[string]string{
		"shard": string(shard), "text": "precious\n", "JSON": `{"v":1}`, "almost a state": state[:len(state)-2],
		"almost a plan": string(plan[:len(plan)/2]), "state": state, "plan": string(plan), "empty": "",
	}
	for _, verb := range []struct {
		name, flag string
		replaces   []string
	}{
		{"cat", "--save-state", []string{"state", "empty"}},
		{"plan", "--save", []string{"plan", "empty"}},
	} {
		for what, content := range contents {
			for _, linked := range []bool{false, true} {
				name := verb.name + " over " + what
				if linked {
					name += " through a link"
				}
				t.Run(name, func(t *testing.T) {
					file := filepath.Join(t.TempDir(), "file")
					write(t, file, content)
					given := file
					if linked {
						given = file + ".link"
						if err := os.Symlink(filepath.Base(file), given); err != nil {
							t.Fatal(err)
						}
					}
					code, stdout, stderr := command(t, verb.name, shop, verb.flag, given)
					got, err := os.ReadFile(file)
					if err != nil {
						t.Fatal(err)
					}
					for _, replaced := range verb.replaces {
						if replaced == what {
							if code != 0 || string(got) == content && what != "plan" {
								t.Errorf("exit %d, %q", code, stderr)
							}
							return
						}
					}
					if code != exitUsage || stdout != "" || !strings.Contains(stderr, verb.flag+" "+given+": the file exists and is not a ") {
						t.Errorf("exit %d, printed %q, said %q", code, stdout, stderr)
					}
					if string(got) != content {
						t.Error("the file was changed")
					}
				})
			}
		}
	}
}

// TestSaveThroughDanglingLink: a link that leads nowhere yet stays a link.
func TestSaveThroughDanglingLink(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink("file", link); err != nil {
		t.Fatal(err)
	}
	if err := stateFile(link).writeState(t.Context(), plainState()); err != nil {
		t.Fatal(err)
	}
	if _, err := readState(filepath.Join(dir, "file")); err != nil {
		t.Error(err)
	}
	if to, err := os.Readlink(link); to != "file" {
		t.Error(to, err)
	}
}

// TestAbandonedTemporaries: half-written files of killed processes go at the next save, and nothing
// else does.
func TestAbandonedTemporaries(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "state")
	begun := string(plainState().JSON()[:40])
	stay := map[string]string{
		".state-1": "a user's notes", ".state-x1": begun, ".other-1": begun, "state-1": begun, ".state-2.json": begun,
	}
	for name, content := range stay {
		write(t, filepath.Join(dir, name), content)
	}
	for name, content := range map[string]string{".state-3": begun, ".state-4": "", ".state-5": begun[:5]} {
		write(t, filepath.Join(dir, name), content)
	}
	live, err := os.Create(filepath.Join(dir, ".state-6"))
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	if err := lockFile(live); err != nil {
		t.Skip(err)
	}
	if err := stateFile(name).writeState(t.Context(), plainState()); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if _, ok := stay[e.Name()]; !ok && e.Name() != "state" && e.Name() != ".state-6" {
			t.Errorf("%s is left", e.Name())
		}
		delete(stay, e.Name())
	}
	if len(stay) > 0 {
		t.Errorf("%v are gone", stay)
	}
}
