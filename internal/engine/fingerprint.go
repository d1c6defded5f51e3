package engine

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/shardfeed/shardfeed/internal/engine/wire"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/shuffle"
)

// Names in a fingerprint of an iteration's start. They are compared between the first iterations of
// the ranks. Later iterations need not advance together: see agreed.
const (
	placeEpoch    = "epoch"
	placePosition = "position"
)

// weightsOf is the name of a mixture's weights. They are compared between iterations with the same
// start: a rank that changes them starts a little before or after the others.
const weightsOf = "weights"

// fingerprint returns what all ranks of an iteration must have in common.
func (it *iteration) fingerprint() wire.Fingerprint {
	f := it.session.fingerprint(it.state, it.join, it.join.Replication)
	if len(it.join.Seats) > 0 {
		f["seats"] = shorten(fmt.Sprint(it.join.Seats))
	}
	return f
}

// fingerprint returns what all ranks must have in common to read each row once together.
func (s *session) fingerprint(state shuffle.State, j wire.Join, replication int) wire.Fingerprint {
	d, worldSize := s.dataset.data, j.WorldSize
	f := wire.Fingerprint{
		"data": s.dataset.summary.Manifest, "rows": strconv.FormatInt(state.Rows, 10), "columns": columnsOf(s.dataset.summary.Schema),
		"order": state.Plan, "seed": strconv.FormatUint(state.Seed, 10),
		"batch_size": strconv.Itoa(s.batchSize()), "world_size": strconv.Itoa(worldSize), "tail": string(s.tail(&state, worldSize)),
		placeEpoch: strconv.FormatUint(state.Epoch, 10), placePosition: strconv.FormatInt(state.Position, 10),
	}
	if w := j.Window; w != (wire.Window{}) {
		f["skip"], f["take"] = strconv.FormatInt(w.Skip, 10), strconv.FormatInt(w.Take, 10)
	}
	if replication > 1 {
		f["replication"] = strconv.Itoa(replication)
	}
	if d.Versioned {
		f["versions"] = s.dataset.summary.Versions
	}
	for field, text := range d.Chosen {
		f[option.Argument(field)] = text
	}
	if state.Rule != "" {
		f["rule"] = state.Rule
	}
	if state.Snapshot != "" {
		f["snapshot"] = state.Snapshot
	}
	if state.Units != "" {
		f["units"] = state.Units
	}
	if m := state.MixState; m != nil {
		addMixture(f, m)
	}
	if p := state.Params; p != nil {
		f["lanes"], f["quantum"], f["life"] = strconv.Itoa(p.Lanes), strconv.FormatInt(p.Quantum, 10), strconv.FormatInt(p.Life, 10)
		f["shuffle_buffer"], f["start"], f["unit_rows"] = strconv.FormatInt(p.Buffer, 10), string(p.Start), strconv.FormatInt(p.UnitRows, 10)
		f["spread"], f["assign"] = strconv.Itoa(p.Spread), string(p.Assign)
	}
	return f
}

// addMixture adds what ranks must have in common of a mixture.
func addMixture(f wire.Fingerprint, m *shuffle.MixState) {
	f["lanes"], f["batching"], f["weights_in"] = strconv.Itoa(m.Lanes), string(m.Batching), cmp.Or(m.WeightsIn, iterable.InSamples)
	weights, err := json.Marshal(m.Weights)
	if err == nil { // numbers always marshal
		f[weightsOf] = shorten(string(weights))
	}
	if m.Counts != nil {
		f["counts"] = shorten(fmt.Sprint(m.Counts))
	}
	for _, s := range m.Sources {
		f["sources."+s.Name] = fmt.Sprintf("%d samples, units %s, rule %s, %d tokens, %+v", s.Rows, s.Units, cmp.Or(s.Rule, "none"), s.Tokens, s.Params)
	}
}

// shorten keeps a long text apart from others by its digest.
func shorten(text string) string {
	if len(text) <= fewColumns {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	return fmt.Sprintf("%s... %s", text[:fewColumns/2], hex.EncodeToString(sum[:6]))
}

// fewColumns is the length up to which a list of columns is shown as it is.
const fewColumns = 200

func columnsOf(nodes []wire.Node) string {
	var names []string
	for _, n := range nodes {
		names = append(names, n.Name+" "+n.Type)
	}
	all := strings.Join(names, ", ")
	if len(all) <= fewColumns {
		return all
	}
	sum := sha256.Sum256([]byte(all))
	return fmt.Sprintf("%d columns %s", len(nodes), hex.EncodeToString(sum[:6]))
}
