package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/shard"
)

// placer knows how shards lie whose address begins with "x".
type placer struct {
	shard.Remote
	err error
}

func (p placer) Place(_ context.Context, s shard.Shard) (shard.Placement, error) {
	if !strings.HasPrefix(s.URI, "x") {
		return shard.Placement{}, errors.ErrUnsupported
	}
	return shard.Placement{
		BlockSize: 128 << 20, Replication: 2, Encrypted: s.URI == "x1",
		Blocks: []shard.Block{{Hosts: []string{"b", "a"}}, {Hosts: []string{"a", "c"}}},
	}, p.err
}

func TestPlacements(t *testing.T) {
	got, err := placements(t.Context(), placer{}, []shard.Shard{{URI: "x0"}, {URI: "y"}, {URI: "x1"}})
	if err != nil || len(got) != 2 {
		t.Fatalf("got %v, %v", got, err)
	}
	want := `
shard  block size  blocks  copies  encrypted  hosts
x0     128.0 MiB   2       2       no         a b c
x1     128.0 MiB   2       2       yes        a b c
`
	if text := placementText(got); text != want {
		t.Errorf("got %s", text)
	}
	if text := placementText(nil); text != "" {
		t.Errorf("of nothing: %q", text)
	}
	if _, err := placements(t.Context(), placer{err: context.DeadlineExceeded}, []shard.Shard{{URI: "x0"}}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestPlacementsAreBounded(t *testing.T) {
	var shards []shard.Shard
	for i := range 3 * placedShards {
		shards = append(shards, shard.Shard{URI: fmt.Sprint("x", i)})
	}
	if got, err := placements(t.Context(), placer{}, shards); err != nil || len(got) != placedShards || got[placedShards-1].URI != "x39" {
		t.Errorf("got %d, %v", len(got), err)
	}
	text := placementText([]*placement{{Policy: "RS-6-3-1024k", Hosts: strings.Fields("a b c d e f g h i")}})
	if !strings.Contains(text, "RS-6-3-1024k") || !strings.Contains(text, "a b c d e f and 3 more") {
		t.Errorf("got %s", text)
	}
}
