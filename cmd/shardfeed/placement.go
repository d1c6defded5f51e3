package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/printable"
	"github.com/shardfeed/shardfeed/internal/table"
	"github.com/shardfeed/shardfeed/shard"
)

const (
	placedShards = 40 // whose placement is asked: as many as the tables of inspect list
	placedAtOnce = 8
	placedHosts  = 6 // that a line names
)

// A placement describes how a shard is stored on its servers.
type placement struct {
	URI         string   `json:"uri"`
	BlockSize   int64    `json:"block_size_bytes"`
	Replication int      `json:"replication"` // 0: by the policy
	Policy      string   `json:"policy"`      // of erasure coding, or ""
	Encrypted   bool     `json:"encrypted"`
	Blocks      int      `json:"blocks"`
	Hosts       []string `json:"hosts"` // that hold one of them
}

// placements asks how the first shards are stored on their servers, and leaves out stores that do
// not know.
func placements(ctx context.Context, store shard.Remote, shards []shard.Shard) ([]*placement, error) {
	shards = shards[:min(len(shards), placedShards)]
	found := make([]*placement, len(shards))
	tasks, ctx := errgroup.WithContext(ctx)
	tasks.SetLimit(placedAtOnce)
	for i, s := range shards {
		tasks.Go(func() error {
			p, err := store.Place(ctx, s)
			if errors.Is(err, errors.ErrUnsupported) {
				return nil
			}
			if err == nil {
				found[i] = newPlacement(s.URI, p)
			}
			return err
		})
	}
	err := tasks.Wait()
	return slices.DeleteFunc(found, func(p *placement) bool { return p == nil }), err
}

func newPlacement(uri string, p shard.Placement) *placement {
	hosts := map[string]bool{}
	for _, b := range p.Blocks {
		for _, h := range b.Hosts {
			hosts[h] = true
		}
	}
	return &placement{
		URI: uri, BlockSize: p.BlockSize, Replication: p.Replication, Policy: p.Policy, Encrypted: p.Encrypted,
		Blocks: len(p.Blocks), Hosts: slices.Sorted(maps.Keys(hosts)),
	}
}

// placementText formats a table, or returns "" if no store reports placements.
func placementText(all []*placement) string {
	if len(all) == 0 {
		return ""
	}
	lines := [][]string{{"shard", "block size", "blocks", "copies", "encrypted", "hosts"}}
	for _, p := range all {
		copies := p.Policy
		if copies == "" {
			copies = strconv.Itoa(p.Replication)
		}
		encrypted := "no"
		if p.Encrypted {
			encrypted = "yes"
		}
		lines = append(lines, []string{printable.Text(p.URI), mem.Bytes(p.BlockSize).String(), strconv.Itoa(p.Blocks), copies, encrypted, someHosts(p.Hosts)})
	}
	return "\n" + table.Text(lines, nil)
}

func someHosts(hosts []string) string {
	if len(hosts) <= placedHosts {
		return strings.Join(hosts, " ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(hosts[:placedHosts], " "), len(hosts)-placedHosts)
}
