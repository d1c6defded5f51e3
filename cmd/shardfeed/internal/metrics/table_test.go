package metrics

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/shardfeed/shardfeed/cache"
	"github.com/shardfeed/shardfeed/internal/engine"
	"github.com/shardfeed/shardfeed/internal/wait"
	"github.com/shardfeed/shardfeed/shard"
)

// full is a snapshot in which each metric has a value.
func full() engine.Snapshot {
	return engine.Snapshot{
		Engine: engine.Process{Build: "1.2.3", Processors: 4},
		Memory: engine.Memory{Limit: 100, Purposes: map[string]engine.MemoryUse{"shuffle": {Reserved: 7, Used: 6}}},
		Ranks:  []engine.RankWork{{Rank: 3, Rows: 5, Batches: 1, Wait: wait.Report{Seconds: 2.5, Of: 9, Parts: map[string]float64{"storage": 2.5}}}},
		Sessions: []engine.SessionWork{
			{Iterating: true, Rank: 3, Wait: wait.Report{Now: &wait.Waiting{Cause: "decode", Seconds: 2}}},
			{},
			{Iterating: true, Rank: 3, Wait: wait.Report{Now: &wait.Waiting{Cause: "storage", Seconds: 90}}},
		},
		Caches: []engine.CacheWork{{Directory: "/a", Limit: 5, Held: 3, Stats: cache.Stats{Hits: 2}}, {Directory: "/b", Stats: cache.Stats{Hits: 3}}},
		Stores: []shard.StoreTraffic{{Store: "s3://b", Traffic: shard.Traffic{Reads: 8, Window: 16}, Answers: 7}},
	}
}

func TestNamesFollowConventions(t *testing.T) {
	families, err := registry(full).Gather()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	var found []string
	for _, f := range families {
		found = append(found, f.GetName())
	}
	for _, m := range table() {
		if !slices.Contains(found, m.name) {
			t.Errorf("%s has no value", m.name)
		}
	}
}

// Several caches are one sum, and each word of a label has one value.
func TestSums(t *testing.T) {
	e := New("127.0.0.1:0", quiet)
	e.Start(full)
	defer func() { _ = e.Close() }()
	text := scrape(t, e.URL())
	for _, want := range []string{
		`shardfeed_cache_reads_total{result="hit"} 5`, "shardfeed_cache_limit_bytes 5", "shardfeed_iterations 2", `shardfeed_memory_used_bytes{purpose="shuffle"} 6`,
		`shardfeed_memory_used_bytes{purpose="ring"} 0`, `shardfeed_store_requests_total{kind="read",store="s3://b"} 8`, `shardfeed_build_info{version="1.2.3"} 1`,
		`shardfeed_waiting_seconds{cause="storage",rank="3"} 90`,
	} {
		if !strings.Contains(text, "\n"+want+"\n") {
			t.Errorf("%s is not in %s", want, text)
		}
	}
}

var listed = regexp.MustCompile("(?m)^\\| `(shardfeed_[a-z_]+)` \\| (\\w+) \\|([^|]*)\\|")

// The page names each metric with its type and labels, in the order of the table, and no other.
func TestPageIsComplete(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for _, m := range listed.FindAllStringSubmatch(string(page), -1) {
		got = append(got, strings.Join([]string{m[1], m[2], strings.TrimSpace(m[3])}, " "))
	}
	for _, m := range table() {
		kind, labels := "counter", "`"+strings.Join(m.labels, "`, `")+"`"
		if m.kind == prometheus.GaugeValue {
			kind = "gauge"
		}
		if len(m.labels) == 0 {
			labels = ""
		}
		want = append(want, strings.TrimSpace(strings.Join([]string{m.name, kind, labels}, " ")))
	}
	for i := range got {
		got[i] = strings.TrimSpace(got[i])
	}
	if !slices.Equal(got, want) {
		t.Errorf("the page lists\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
