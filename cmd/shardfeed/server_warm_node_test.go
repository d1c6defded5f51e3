package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed"
	"github.com/shardfeed/shardfeed/iterable"
)

// What a node warms by its plan is what its ranks read: no epoch of theirs asks the servers for
// anything, and the nodes together fetch little more than everything once.
func TestServerWarmNode(t *testing.T) {
	f := families(t)[1]
	sources := filepath.Join(t.TempDir(), "sources.json")
	text := fmt.Sprintf(`{"one": {"addresses": [%q]}, "all": {"addresses": [%q], "filters": "len(title) > 3"}}`, f.address+"/part-0000[01].parquet", f.address)
	if err := os.WriteFile(sources, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		what   []string // in place of the address
		order  []string
		spread float64 // what the nodes fetch in all, of all bytes, at most
	}{
		{"shuffled", []string{f.address}, []string{"--lanes", "8"}, 1.15},
		{"in units", []string{f.address}, []string{"--lanes", "8", "--unit-rows", "40"}, 1.15},
		{"shared lanes", []string{f.address}, []string{"--lanes", "6", "--batch-size", "9"}, 1.7},
		{"under a rule", []string{f.address, "--where", "price > 50"}, []string{"--lanes", "4"}, 1.3},
		{"carried over", []string{f.address, "--tail", "carry"}, []string{"--lanes", "4", "--batch-size", "50"}, 1.3},
		{"a mixture", []string{"--sources", sources}, []string{"--stop", "all"}, 1.7},
	} {
		t.Run(c.name, func(t *testing.T) {
			what := append(append([]string{}, c.what...), append(f.flags, "--columns", "unique_id,token_ids")...)
			var all warmth
			object(t, &all, append([]string{"warm", "--cache-dir", t.TempDir()}, what...)...)
			plan := filepath.Join(t.TempDir(), "run.plan")
			must(t, append(append([]string{"plan", "--shuffle", "--world-size", "4", "--save", plan}, what...), c.order...)...)
			batch := []string{}
			if i := strings.Index(strings.Join(c.order, " "), "--batch-size"); i >= 0 {
				batch = c.order[len(c.order)-2:]
			}
			pinned := append(append([]string{"--plan", plan, "--seed", "3", "--world-size", "4"}, what...), batch...)
			var bytes int64
			for node := range 2 {
				dir := t.TempDir()
				var w, again warmth
				warm := append([]string{"warm", "--cache-dir", dir, "--node", fmt.Sprint(node), "--nodes", "2"}, pinned...)
				object(t, &w, warm...)
				object(t, &again, warm...)
				if !w.Complete || w.Bytes == 0 || w.Bytes >= all.Bytes || again.Fetched != 0 || again.There != w.Bytes {
					t.Errorf("node %d: %+v, then %+v", node, &w, &again)
				}
				bytes += w.Bytes
				for rank := 2 * node; rank < 2*node+2; rank++ {
					var m measurement
					object(t, &m, append([]string{"bench", "--cache-dir", dir, "--epochs", "3", "--rank", fmt.Sprint(rank)}, pinned...)...)
					if m.Rows == 0 || m.Storage.Reads != 0 || m.Storage.Lists != 0 {
						t.Errorf("rank %d: %d rows, %+v", rank, m.Rows, m.Storage)
					}
				}
			}
			if share := float64(bytes) / float64(all.Bytes); share < 0.99 || share > c.spread {
				t.Errorf("the nodes fetch %.2f of all bytes, at most %.2f is right", share, c.spread)
			}
		})
	}
}

// The same ranks by name, without a plan; and what cannot be warmed by ranks.
func TestServerWarmRanksByName(t *testing.T) {
	f := families(t)[1]
	order := []string{"--shuffle", "--seed", "3", "--lanes", "8", "--world-size", "4"}
	var byNode, byRanks, one warmth
	dir := t.TempDir()
	t.Setenv("SHARDFEED_CACHE_DIR", dir)
	object(t, &byNode, f.args("warm", append(order, "--cache-dir", dir, "--node", "1", "--nodes", "2")...)...)
	object(t, &byRanks, f.args("warm", append(order, "--cache-dir", dir, "--ranks", "2-3")...)...)
	object(t, &one, f.args("warm", append(order, "--cache-dir", dir, "--rank", "3")...)...)
	if byNode.Bytes != byRanks.Bytes || byRanks.Fetched != 0 || one.Fetched != 0 || one.Bytes == 0 || one.Bytes >= byRanks.Bytes {
		t.Errorf("%+v, %+v, %+v", &byNode, &byRanks, &one)
	}
	if held := heldLanes(t, f); !slices.Equal(held, []byte{0b1111_0000}) {
		t.Errorf("the lanes %b are noted, want the last four of eight", held)
	}
	var m measurement
	object(t, &m, f.args("bench", append(order, "--cache-dir", dir, "--rank", "3")...)...)
	if m.Rows == 0 || m.Storage.Reads != 0 {
		t.Errorf("%d rows, %+v", m.Rows, m.Storage)
	}
	plan := filepath.Join(t.TempDir(), "files.plan")
	must(t, f.args("plan", "--save", plan)...)
	for want, args := range map[string][]string{
		"--node and --ranks need --shuffle, or a --plan that was saved with it": {"--node", "0", "--nodes", "2", "--plan", plan},
		"--node must be at least 0 and below --nodes 2, got 2":                  append(order, "--node", "2", "--nodes", "2"),
		"--node needs --nodes of at least 1, got 0":                             append(order, "--node", "2"),
		"--nodes must divide --world-size 4, got 3":                             append(order, "--node", "2", "--nodes", "3"),
		`--ranks must be as 8-15, below --world-size 4, got "2-4"`:              append(order, "--ranks", "2-4"),
		`--ranks must be as 8-15, below --world-size 4, got "3-2"`:              append(order, "--ranks", "3-2"),
		"--node, --ranks and --rank say the same":                               append(order, "--ranks", "2", "--rank", "1"),
	} {
		if code, _, stderr := command(t, f.args("warm", args...)...); code != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("exit %d, %s, want %s", code, stderr, want)
		}
	}
}

// heldLanes is what an engine finds noted of the order of TestServerWarmRanksByName.
func heldLanes(t *testing.T, f family) []byte {
	t.Helper()
	spec := shardfeed.Spec{Addresses: []string{f.address}, Order: shardfeed.Order{Shuffle: true, Seed: 3, Lanes: 8}, Caching: shardfeed.Caching{NoteLanes: true}}
	var secret struct {
		Key, Secret string
		Client      struct {
			URL string `json:"endpoint_url"`
		} `json:"client_kwargs"`
	}
	text, err := os.ReadFile(strings.TrimPrefix(f.flags[1], "@"))
	if err = errors.Join(err, json.Unmarshal(text, &secret)); err != nil {
		t.Fatal(err)
	}
	spec.Storage = map[string]string{"key": secret.Key, "secret": secret.Secret, "endpoint-url": secret.Client.URL}
	ds, err := shardfeed.Open(t.Context(), spec, shardfeed.Events{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := ds.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}()
	state, err := ds.Start(4, iterable.StreamOptions{BatchSize: 256})
	if err != nil {
		t.Fatal(err)
	}
	return ds.HeldLanes(state)
}
