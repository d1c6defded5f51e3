package main

import (
	"regexp"
	"strings"
	"testing"
)

// The commands for services that speak S3 parse.
func TestServices(t *testing.T) {
	pages, _ := pages(t)
	_, section, found := strings.Cut(pages["docs/s3.md"], "## Services that speak S3\n")
	section, _, more := strings.Cut(section, "\n## ")
	if !found || !more {
		t.Fatal("docs/s3.md has no such section")
	}
	commands := regexp.MustCompile("`shardfeed ([^`]*)`").FindAllStringSubmatch(section, -1)
	if len(commands) < 6 {
		t.Errorf("only %d commands were found", len(commands))
	}
	for _, one := range commands {
		args := words(one[1])
		if err := parses(args); err != nil {
			t.Errorf("%q: %v", args, err)
		}
	}
}
