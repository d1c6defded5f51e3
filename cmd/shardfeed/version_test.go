package main

import (
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"testing"
)

func TestCommitOf(t *testing.T) {
	commit := debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"}
	changed, unchanged := debug.BuildSetting{Key: "vcs.modified", Value: "true"}, debug.BuildSetting{Key: "vcs.modified", Value: "false"}
	for want, settings := range map[string][]debug.BuildSetting{
		"":                                   nil,
		"commit 0123456789ab, ":              {commit, unchanged},
		"commit 0123456789ab with changes, ": {changed, commit},
	} {
		t.Run(want, func(t *testing.T) {
			if got := commitOf(&debug.BuildInfo{Settings: settings}); got != want {
				t.Errorf("got %q", got)
			}
		})
	}
	if got := commitOf(&debug.BuildInfo{Settings: []debug.BuildSetting{{Key: "vcs.revision", Value: "short"}}}); got != "" {
		t.Errorf("a short revision: got %q", got)
	}
}

// The command, the Python package and the changelog are of one release.
func TestRelease(t *testing.T) {
	if got := version(); !strings.HasPrefix(got, release+" (") {
		t.Errorf("version is %q, want release %s first", got, release)
	}
	for path, line := range map[string]string{
		"../../python/src/shardfeed/_version.py": fmt.Sprintf("__version__ = %q", release),
		"../../CHANGELOG.md":                     "## " + release,
	} {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(content), "\n"+line+"\n") {
			t.Errorf("%s has no line %q", path, line)
		}
	}
}
