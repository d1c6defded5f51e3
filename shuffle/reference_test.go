package shuffle

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// TestReference holds the order against testdata/reference.py, which was written from the
// specification and shares no code.
func TestReference(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 to run the reference")
	}
	var in bytes.Buffer
	var want []string
	for n := range cases(t, 120) {
		c := randomCase(t, n)
		want = append(want, referenceCase(t, c, &in))
	}
	cmd := exec.Command(python, "testdata/reference.py")
	cmd.Stdin = &in
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(got) != len(want) {
		t.Fatalf("%d orders of %d:\n%s", len(got), len(want), out)
	}
	for n := range want {
		if got[n] != want[n] {
			t.Errorf("case %d: the reference has %s, the package %s", n, got[n], want[n])
		}
	}
}

// referenceCase writes the case's line and returns the answer that this package gives.
func referenceCase(t *testing.T, c orderCase, in *bytes.Buffer) string {
	shards := make([][]int64, len(c.plan.manifest.Shards))
	for i := range shards {
		shards[i] = []int64{}
	}
	for _, g := range c.plan.manifest.Groups {
		shards[g.Shard] = append(shards[g.Shard], g.Rows)
	}
	o, p := c.options, c.plan.params
	var samples []int64
	if c.plan.manifest.Rule != "" {
		for _, u := range c.plan.units.All() {
			samples = append(samples, u.Samples)
		}
	}
	err := json.NewEncoder(in).Encode(map[string]any{
		"shards": shards, "unit_rows": o.UnitRows, "buffer": o.Buffer, "world": o.WorldSize, "max_world": o.MaxWorldSize, "lanes": o.Lanes,
		"start": p.Start, "spread": p.Spread, "assign": p.Assign, "tail": p.Tail, "seed": c.plan.seed, "epoch": c.e.number,
		"samples": samples, "numbered": c.plan.manifest.Numbered,
	})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(p.Lanes, p.Quantum, p.Life, " ", orderHash(t, c.e))
}
