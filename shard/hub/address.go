package hub

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/shardfeed/shardfeed/shard"
)

// An address is hf://datasets/ORG/NAME@REVISION/PATH.
type address struct {
	repo     string // ORG/NAME
	revision string
	path     string // within the data set; may be a pattern
}

// refs are the revisions whose names have slashes that need no encoding.
var refs = regexp.MustCompile(`^refs/(convert/[\w-]+|pr/\d+)(/|$)`)

// names matches the name of an organization or a data set.
var names = regexp.MustCompile(`^[\w.-]+$`)

func parse(uri string) (address, error) {
	_, rest := shard.SplitScheme(uri)
	kind, rest, _ := strings.Cut(rest, "/")
	org, rest, _ := strings.Cut(rest, "/")
	name, path, _ := strings.Cut(rest, "/")
	name, revision, given := strings.Cut(name, "@")
	switch {
	case kind != "datasets":
		return address{}, fmt.Errorf("%w: an address of the hub starts with hf://datasets/", shard.ErrBadURI)
	case !names.MatchString(org) || !names.MatchString(name):
		return address{}, fmt.Errorf("%w: it names no data set, as hf://datasets/ORG/NAME does", shard.ErrBadURI)
	case !given:
		revision = "main"
	default:
		if ref := refs.FindString(revision + "/" + path); ref != "" {
			path = strings.TrimPrefix(revision+"/"+path, ref)
			revision = strings.TrimSuffix(ref, "/")
		} else if text, err := url.PathUnescape(revision); err != nil || text == "" {
			return address{}, fmt.Errorf("%w: there is no revision behind the @", shard.ErrBadURI)
		} else {
			revision = text
		}
	}
	return address{org + "/" + name, revision, strings.TrimSuffix(path, "/")}, nil
}

// uri is the address of a path, at a commit.
func (a address) uri(commit, path string) string {
	text := "hf://datasets/" + a.repo + "@" + commit
	if path != "" {
		text += "/" + path
	}
	return text
}

// commits are the names of commits.
var commits = regexp.MustCompile(`^[0-9a-f]{40}$`)
