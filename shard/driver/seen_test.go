package driver

import (
	"errors"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/shard"
)

func TestSeen(t *testing.T) {
	file := func(uri string) shard.Shard { return shard.Shard{URI: uri, Immutable: true} }
	listed := file("c")
	listed.Version = "v1"
	plain := file("d")
	plain.Immutable = false
	s := new(Seen)
	for _, c := range []struct {
		shard   shard.Shard
		version string
		changed bool
	}{
		{file("a"), "", false},
		{file("a"), "v1", false},
		{file("b"), "v2", false},
		{file("a"), "v1", false},
		{file("a"), "v2", true},
		{file("a"), "", false},
		{file("a"), "v1", false},
		{file("b"), "v1", true},
		{listed, "v1", false},
		{listed, "v2", false},
		{plain, "v1", false},
		{plain, "v2", false},
	} {
		err := s.Hold(c.shard, c.version)
		if errors.Is(err, shard.ErrChanged) != c.changed || c.changed && !strings.Contains(err.Error(), "is "+c.version) {
			t.Errorf("%s at %q: %v", c.shard.URI, c.version, err)
		}
	}
	if err := (*Seen)(nil).Hold(file("a"), "v1"); err != nil {
		t.Error(err)
	}
}
