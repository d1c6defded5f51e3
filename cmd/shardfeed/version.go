package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// release is the version of the command, of the engine and of the Python package.
const release = "0.1.0"

// version returns the release, and what the build knows of itself.
func version() string {
	commit := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		commit = commitOf(info)
	}
	return fmt.Sprintf("%s (%s%s, %s/%s)", release, commit, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// commitOf returns the commit of a build and a comma, or "" for a build outside of a checkout.
func commitOf(info *debug.BuildInfo) string {
	var commit, changed string
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			commit = s.Value
		case "vcs.modified":
			if s.Value == "true" {
				changed = " with changes"
			}
		}
	}
	if len(commit) < 12 {
		return ""
	}
	return "commit " + commit[:12] + changed + ", "
}
