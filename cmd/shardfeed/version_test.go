package main

import (
	"fmt"
	"runtime/debug"
	"testing"
)

func TestBuildVersion(t *testing.T) {
	commit := debug.BuildSetting{Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"}
	cases := []struct {
		module   string
		settings []debug.BuildSetting
		want     string
	}{
		{"v1.2.3", nil, "v1.2.3"},
		{"v1.2.3", []debug.BuildSetting{commit}, "v1.2.3"},
		{"(devel)", nil, "devel"},
		{"", []debug.BuildSetting{commit}, "devel 0123456789ab"},
		{"(devel)", []debug.BuildSetting{{Key: "vcs.revision", Value: "short"}}, "devel"},
	}
	for _, c := range cases {
		t.Run(fmt.Sprint(c.module, len(c.settings)), func(t *testing.T) {
			info := &debug.BuildInfo{Main: debug.Module{Version: c.module}, Settings: c.settings}
			if got := buildVersion(info); got != c.want {
				t.Errorf("%q with %v: got %q, want %q", c.module, c.settings, got, c.want)
			}
		})
	}
}
