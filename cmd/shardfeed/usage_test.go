package main

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// Flags stand under the title of their group, in the order of registration; those without a group
// come first.
func TestUsageGroups(t *testing.T) {
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	fs.SortFlags = false
	setting{set: "cache", name: "z", field: new(bool), help: "last"}.register(fs)
	setting{set: "cache", name: "a", field: new(bool), help: "very last"}.register(fs)
	fs.Bool("own", false, "first")
	if err := fs.Parse([]string{"--z", "--own"}); err != nil || !fs.Changed("z") || fs.Changed("a") {
		t.Errorf("a flag in a group is not parsed: %v", err)
	}
	var b strings.Builder
	usageOfFlags(&b, fs)
	want := "\nFlags:\n      --own   first\n\n" + cacheGroup + ":\n      --z   last\n      --a   very last\n"
	if b.String() != want {
		t.Errorf("got %s", b.String())
	}
}
