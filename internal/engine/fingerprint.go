package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/shuffle"
)

// Names in a fingerprint that say where an iteration begins. They are compared between the first
// iterations of the ranks. Later iterations need not run in step: see agreed.
const (
	placeEpoch    = "epoch"
	placePosition = "position"
)

// fingerprint returns what all ranks must have in common to read each row once together.
func (s *session) fingerprint(state shuffle.State, worldSize, replication int) Fingerprint {
	d := s.dataset.data
	f := Fingerprint{
		"data": state.Manifest, "rows": strconv.FormatInt(state.Rows, 10), "columns": columnsOf(s.dataset.summary.Schema),
		"order": state.Plan, "seed": strconv.FormatUint(state.Seed, 10),
		"batch_size": strconv.Itoa(s.batchSize()), "world_size": strconv.Itoa(worldSize), "tail": string(s.tail(&state, worldSize)),
		placeEpoch: strconv.FormatUint(state.Epoch, 10), placePosition: strconv.FormatInt(state.Position, 10),
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
	if state.Units != "" {
		f["units"] = state.Units
	}
	if p := state.Params; p != nil {
		f["lanes"], f["quantum"], f["life"] = strconv.Itoa(p.Lanes), strconv.FormatInt(p.Quantum, 10), strconv.FormatInt(p.Life, 10)
		f["shuffle_buffer"], f["start"], f["unit_rows"] = strconv.FormatInt(p.Buffer, 10), string(p.Start), strconv.FormatInt(p.UnitRows, 10)
		f["spread"], f["assign"] = strconv.Itoa(p.Spread), string(p.Assign)
	}
	return f
}

// fewColumns is the length up to which a list of columns is shown as it is.
const fewColumns = 200

func columnsOf(nodes []Node) string {
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
