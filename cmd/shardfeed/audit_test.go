package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/checkpoints"

	"github.com/shardfeed/shardfeed"
	"github.com/shardfeed/shardfeed/audit"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/shuffle"
)

const auditShop = "../../testdata/shop"

// An auditRank is a rank of a run whose states are audited.
type auditRank struct {
	State   *shuffle.State
	Records []audit.Record
}

// train gives a rank steps of 32 rows.
func (r *auditRank) train(t *testing.T, ds *shardfeed.Dataset, tail shuffle.Tail, rank, world, steps int) {
	t.Helper()
	s, err := ds.Stream(t.Context(), shuffle.Worker{Rank: rank, WorldSize: world, Workers: 1}, iterable.StreamOptions{BatchSize: 32, Epochs: 9, State: r.State, Tail: tail})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	own := audit.Record{World: world, Rank: rank}
	if r.State != nil {
		own.Epoch, own.From = r.State.Epoch, r.State.Position
	}
	for range steps {
		d, err := s.Next(t.Context())
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		epoch, from, to := uint64(d.Epoch), d.Position, d.Position+32*int64(world)
		switch rows := d.State.Rows; {
		case tail != shuffle.Carry:
			to = min(to, rows)
		case to > rows: // an iteration of the next epoch begins with this step
			epoch, from, to = epoch+1, from-rows, to-rows
		}
		if epoch != own.Epoch {
			r.Records = append(r.Records, own)
			own = audit.Record{Epoch: epoch, World: world, Rank: rank, From: from}
		}
		own.To = to
		own.Add(audit.Sum{Rows: int64(d.Valid), Lost: int64(d.Lost), Padded: int64(d.Rows - d.Valid), Hash: d.Hash})
		state := d.State
		r.State = &state
		d.Release()
	}
	r.Records = append(r.Records, own)
}

// save writes the state as state_dict() returns it, below the key loaders.
func (r *auditRank) save(t *testing.T, name string) {
	t.Helper()
	content, err := json.Marshal(map[string]any{"step": 7, "loaders": []any{map[string]any{"version": 1, "shardfeed": r.State, "audit": r.Records}}})
	if err != nil {
		t.Fatal(err)
	}
	write(t, name, string(content))
}

// auditStates trains on two ranks, then on three, and returns the directory with the states
// STEP-RANK.json of four checkpoints: a and b in epoch 0, c and d in epoch 1.
func auditStates(t *testing.T, spec shardfeed.Spec) string {
	t.Helper()
	dir := t.TempDir()
	spec.Tail = cmp.Or(spec.Tail, shuffle.Pad)
	if spec.Sources == nil {
		spec.Addresses = []string{auditShop}
	}
	ds, err := shardfeed.Open(t.Context(), spec, shardfeed.Events{})
	if err != nil {
		t.Fatal(err)
	}
	defer ds.Close(t.Context())
	ranks := make([]auditRank, 2)
	leg := func(name string, from []auditRank, steps int) []auditRank {
		after := slices.Clone(from)
		for rank := range after {
			after[rank].Records = slices.Clone(from[rank].Records)
			after[rank].train(t, ds, spec.Tail, rank, len(from), steps)
			after[rank].save(t, filepath.Join(dir, name+"-"+string(rune('0'+rank))+".json"))
		}
		return after
	}
	leg("a", ranks, 5)
	first := leg("b", ranks, 10)
	leg("c", append(first, first[0]), 20)
	leg("d", append(first, first[0]), 21)
	return dir
}

func statesOf(dir string, names ...string) (args []string) {
	args = append(args, "audit", auditShop)
	for _, name := range names {
		args = append(args, "--state", filepath.Join(dir, name+".json"))
	}
	return args
}

// The states of all ranks of a run prove each epoch, and faults in them are found.
func TestAuditOfStates(t *testing.T) {
	for name, spec := range map[string]shardfeed.Spec{
		"shuffled": {Order: shardfeed.Order{Shuffle: true, Seed: 7}}, "files": {},
	} {
		dir := auditStates(t, spec)
		for _, c := range []struct {
			states []string
			code   int
			lines  []string // parts of the lines
		}{
			{[]string{"a-*"}, 0, []string{"epoch 0: 320 of 2,026 rows, each exactly once, on 2 ranks\n"}},
			{[]string{"[ab]-*"}, 0, []string{"epoch 0: 640 of 2,026 rows, each exactly once, on 2 ranks\n"}},
			{[]string{"d-*"}, 0, []string{"epoch 0: 2,026 rows, each exactly once, on 2 then 3 ranks\n", "epoch 1: 576 of 2,026 rows, each exactly once, on 3 ranks\n"}},
			{[]string{"*"}, 0, []string{"epoch 0: 2,026 rows, each exactly once, on 2 then 3 ranks\n", "epoch 1: 576 of 2,026 rows, each exactly once, on 3 ranks\n"}},
			{[]string{"b-0"}, 0, []string{"epoch 0: the audit has not seen all ranks, on 2 ranks; not seen: positions 0 to 640 (1 of 2 ranks)\n"}},
			{[]string{"b-0", "a-0"}, 0, []string{"epoch 0: the audit has not seen all ranks, on 2 ranks; not seen: positions 0 to 640 (1 of 2 ranks)\n"}},
			{[]string{"b-0", "a-1"}, 1, []string{"rank 1 of 2 has only an older state than rank 0: epoch 0, position 320 in "}},
			{[]string{"d-0", "c-1", "d-2"}, 1, []string{"epoch 0: the audit has not seen all ranks, on 2 then 3 ranks; not seen: positions 0 to 640 (1 of 2 ranks)", "rank 1 of 3 has only an older state than rank 0: epoch 1, position 480 in "}},
			{[]string{"c-0", "c-0", "c-2"}, 0, []string{"epoch 0: ", "not seen: positions 0 to 480 (2 of 3 ranks)"}},
		} {
			code, stdout, stderr := command(t, statesOf(dir, c.states...)...)
			lines := slices.Collect(strings.Lines(stdout))
			if code != c.code || len(lines) != len(c.lines) || (stderr == "") != (code == 0) {
				t.Errorf("%s %v: exit %d\n%s%s", name, c.states, code, stdout, stderr)
				continue
			}
			for i, want := range c.lines {
				if !strings.Contains(lines[i], want) {
					t.Errorf("%s %v: %swant %s", name, c.states, lines[i], want)
				}
			}
		}
	}
}

// Epochs of all orders, with rules, blocks and batches by length, are proved with the run's flags.
func TestAuditOfOrders(t *testing.T) {
	sources := filepath.Join(t.TempDir(), "sources.json")
	write(t, sources, `{"early": {"addresses": ["`+auditShop+`/part-0000[0-3].parquet"], "weight": 3}, "late": {"addresses": ["`+auditShop+`/part-0000[4-7].parquet"], "weight": 1}}`)
	var mixed []shardfeed.Source
	if err := (&sourcesFile{list: &mixed}).Set(sources); err != nil {
		t.Fatal(err)
	}
	shuffled := shardfeed.Order{Shuffle: true, Seed: 7}
	carry, drop := shuffled, shuffled
	carry.Tail, drop.Tail = shuffle.Carry, shuffle.Drop
	for _, c := range []struct {
		spec  shardfeed.Spec
		args  []string
		lines []string
	}{
		{shardfeed.Spec{Order: drop}, nil, []string{"epoch 0: 1,984 of 2,026 rows, each exactly once, on 2 then 3 ranks", "epoch 1: 672 of 2,026 rows, each exactly once, on 3 ranks"}},
		{shardfeed.Spec{Order: carry}, nil, nil},
		{shardfeed.Spec{Order: shardfeed.Order{Tail: shuffle.Short}}, nil, nil},
		{shardfeed.Spec{Order: shuffled, Choice: shardfeed.Choice{Filters: "price > 10"}}, []string{"--where", "price > 10"}, nil},
		{shardfeed.Spec{Order: shuffled, Pack: &shardfeed.Pack{Columns: map[string]int{"token_ids": 32}}}, []string{"--pack", "token_ids=32"}, nil},
		{shardfeed.Spec{Order: shuffled, Sources: mixed}, []string{"--sources", sources}, nil},
	} {
		dir := auditStates(t, c.spec)
		args := append([]string{"audit", "--json", "--state", filepath.Join(dir, "*.json")}, c.args...)
		if c.spec.Sources == nil {
			args = append(args, auditShop)
		}
		code, stdout, stderr := command(t, args...)
		var got proof
		if err := json.Unmarshal([]byte(stdout), &got); err != nil {
			t.Fatal(err, stderr)
		}
		if code != 0 || !got.Proved || got.States != 10 || len(got.Epochs) != 2 {
			t.Errorf("%v: exit %d, %s%s", c.args, code, stdout, stderr)
		}
		for i, want := range c.lines {
			if got.Epochs[i].Text != want {
				t.Errorf("%s, want %s", got.Epochs[i].Text, want)
			}
		}
	}
}

// readRank reads the state of a rank back.
func readRank(t *testing.T, name string) auditRank {
	t.Helper()
	states, err := checkpoints.Read([]string{name}, "")
	if err != nil {
		t.Fatal(err)
	}
	return auditRank{&states[0].State, states[0].Records}
}

// Planted errors are found, with the rank where it is known, also in an epoch that is not over.
func TestAuditFindsErrorsInStates(t *testing.T) {
	dir := auditStates(t, shardfeed.Spec{Order: shardfeed.Order{Shuffle: true, Seed: 7}})
	for want, plant := range map[string]func(r *auditRank){
		"epoch 0: 608 of 2,026 rows, on 2 ranks; rank 1 of 2 has 288 rows":     func(r *auditRank) { r.Records[0].Rows -= 32 },
		"as many rows came as the order has, but not the same":                 func(r *auditRank) { r.Records[0].Hash++ },
		"positions 64 to 640 on rank 1 of 2: positions 64 to 640 came on both": func(r *auditRank) { r.Records[0].From += 64 },
		"two records of positions 0 to 640 that differ":                        func(r *auditRank) { r.Records[0].Rank = 0; r.Records[0].Padded++ },
	} {
		r := readRank(t, filepath.Join(dir, "b-1.json"))
		plant(&r)
		r.save(t, filepath.Join(dir, "planted.json"))
		code, stdout, stderr := command(t, statesOf(dir, "b-0", "planted")...)
		if code != exitFailed || !strings.Contains(stdout, want) || !strings.Contains(stderr, "in the audit: see above") {
			t.Errorf("exit %d, %s%swant %s", code, stdout, stderr, want)
		}
	}
}

// What cannot be audited is one clear error.
func TestAuditRefuses(t *testing.T) {
	dir := auditStates(t, shardfeed.Spec{Order: shardfeed.Order{Shuffle: true, Seed: 7}})
	other := auditStates(t, shardfeed.Spec{Order: shardfeed.Order{Shuffle: true, Seed: 8}})
	good := filepath.Join(dir, "b-0.json")
	bad := filepath.Join(dir, "bad.json")
	r := readRank(t, good)
	state := string(r.State.JSON())
	whole := func(records string) string { return `{"version":1,"shardfeed":` + state + `,"audit":` + records + `}` }
	for _, c := range []struct{ content, want string }{
		{"", "not JSON: unexpected end of JSON input"},
		{"PK\x03\x04", "write what state_dict() returned with json.dump"},
		{whole("[{"), "not JSON"},
		{`{"model": [1, null, {"a": {}}]}`, "holds no state"},
		{state, "bad.json: the state has no records for the audit"},
		{`{"loader":{"version":1,"shardfeed":` + state + `}}`, "bad.json at loader: the state has no records for the audit"},
		{whole("[]"), "has no records for the audit"},
		{whole("null"), "has no records for the audit"},
		{whole("7"), "audit must be a list of records"},
		{whole("[{}]"), "hash must be 16 hex digits"},
		{strings.Replace(whole("[]"), `"version":1`, `"version":2`, 1), "must have version 1, got"},
		{strings.Replace(whole("[]"), `"rows":2026`, `"rows":-1`, 1), "not a state that this version knows"},
		{strings.Replace(whole("[]"), `"seed"`, `"need"`, 1), "not a state that this version knows"},
	} {
		write(t, bad, c.content)
		code, stdout, stderr := command(t, "audit", auditShop, "--state", bad)
		if code != exitFailed || stdout != "" || !strings.Contains(stderr, c.want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%s: exit %d, %s%s", c.content, code, stdout, stderr)
		}
	}
	part := filepath.Join(auditShop, "part-00001.parquet")
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{exitFailed, "the state has seed 8, and " + good + " at loaders.0 has 7: all states must be of one run", []string{auditShop, "--state", good, "--state", filepath.Join(other, "b-1.json")}},
		{exitFailed, good + " at loaders.0: ", []string{part, "--state", good}},
		{exitFailed, "rule is none in the state", []string{auditShop, "--state", good, "--where", "price > 10"}},
		{exitFailed, "holds no state at loaders.1", []string{auditShop, "--state", good, "--key", "loaders.1"}},
		{exitFailed, "no file matches", []string{auditShop, "--state", filepath.Join(dir, "x-*")}},
		{exitFailed, "no such file", []string{auditShop, "--state", filepath.Join(dir, "x")}},
		{exitFailed, "directory", []string{auditShop, "--state", dir}},
		{exitUsage, "needs saved states", []string{auditShop}},
		{exitUsage, "needs saved states", []string{auditShop, "--state="}},
		{exitUsage, "put --state before each state", []string{auditShop, "--state", good, filepath.Join(dir, "b-1.json")}},
		{exitUsage, "needs an address", []string{"--state", good}},
	} {
		code, stdout, stderr := command(t, append([]string{"audit"}, c.args...)...)
		if code != c.code || stdout != "" || !strings.Contains(stderr, c.want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%q: exit %d, %s%s", c.args, code, stdout, stderr)
		}
	}
	plan := filepath.Join(dir, "run.plan")
	must(t, "plan", auditShop, "--shuffle", "--world-size", "2", "--batch-size", "32", "--save", plan)
	if code, stdout, stderr := command(t, "audit", auditShop, "--plan", plan, "--state", good); code != 0 {
		t.Errorf("with a plan: exit %d, %s%s", code, stdout, stderr)
	}
	if code, stdout, stderr := command(t, "audit", auditShop, "--state", good, "--key", "loaders"); code != 0 {
		t.Errorf("exit %d, %s%s", code, stdout, stderr)
	}
}
