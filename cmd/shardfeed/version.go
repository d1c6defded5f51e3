package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// version is what the build knows of itself: the module's version, or the commit that it was built
// from.
func version() string {
	v := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		v = buildVersion(info)
	}
	return fmt.Sprintf("%s (%s, %s/%s)", v, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

func buildVersion(info *debug.BuildInfo) string {
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	v := info.Main.Version
	if v == "" || v == "(devel)" {
		v = "devel"
		if commit := settings["vcs.revision"]; len(commit) >= 12 {
			v += " " + commit[:12]
		}
	}
	return v
}
