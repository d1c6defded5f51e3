package iterable

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/shuffle"

	"github.com/shardfeed/shardfeed/iterable/internal/saved"
)

// maxDifferences is how many shards an error lists.
const maxDifferences = 10

// ManifestError reports that the shards differ from a saved manifest or a state.
type ManifestError struct {
	Differences []string // "added x", "removed y", "changed z: 10 bytes, now 20"; nil when the earlier list is not known
	Saved       string   // the file with the earlier list, when it is kept; a run finishes its epoch with it
	Err         error    // what did not fit
	Hint        string   // what to do, with fields in braces
}

func (e *ManifestError) Error() string { return e.Spelled(option.Go) }

// Spelled is the message with options as name spells them.
func (e *ManifestError) Spelled(name func(field string) string) string {
	s := "the data is not what it was"
	if e.Err != nil {
		s = e.Err.Error()
	}
	if len(e.Differences) > 0 {
		s += "; " + strings.Join(e.Differences, ", ")
	}
	if e.Hint != "" {
		s += "; " + option.Spell(e.Hint, name)
	}
	return s
}

func (e *ManifestError) Unwrap() error { return e.Err }

// explain names the shards that differ from a state, if that is why it does not fit.
// Any other error stays.
func (d *Dataset) explain(state shuffle.State, err error) error {
	var differs *shuffle.MismatchError
	then := statesSources(state)
	if err == nil || !errors.As(err, &differs) || len(then) != len(d.sources) {
		return err
	}
	var other []int
	for i, s := range d.sources {
		if then[i].Name != s.name {
			return err
		}
		if then[i].Snapshot != s.data.Snapshot {
			return s.otherSnapshot(then[i].Snapshot, err)
		}
		if then[i].Rule != s.data.Rule {
			return s.otherTokens(then[i].Rule, err)
		}
		if then[i].Manifest != s.sampledData().Content() {
			other = append(other, i)
		}
	}
	if len(other) == 0 {
		return err
	}
	e := &ManifestError{Err: &otherShards{text: d.countThen(then, other), cause: err}}
	list := d.listThen(e, then)
	for _, i := range other {
		e.Differences = append(e.Differences, d.differences(i, then[i], list)...)
	}
	e.advise(d.options.ManifestDir)
	return e
}

// otherSnapshot is the error of a state that was taken at another snapshot of a table.
func (d *source) otherSnapshot(then string, err error) error {
	e := &ManifestError{Err: &otherShards{text: "they are snapshot " + cmp.Or(d.data.Snapshot, "none") + " of a table, and the state is of snapshot " + cmp.Or(then, "none"), cause: err}}
	if then != "" && d.options.table != nil {
		e.Hint = "to continue, give {Snapshot} " + option.Literal(then) + "; to train on the table as it is now, begin an epoch without the state"
	}
	return e
}

// otherTokens adds the tokenizers to an error about another rule, if they differ.
func (d *source) otherTokens(rule string, err error) error {
	here, then := strings.Join(d.transforms.Lines(), ", "), saved.Tokens(d.options.ManifestDir, rule)
	if here == then {
		return err
	}
	return fmt.Errorf("%w; the rule here has: %s; the rule %s had: %s", err, cmp.Or(here, "no tokenizer"), rule, cmp.Or(then, "no tokenizer that this machine knows"))
}

// statesSources returns the part of a state for each source, or for a plain data set.
func statesSources(state shuffle.State) []shuffle.SourceState {
	if state.MixState != nil {
		return state.Sources
	}
	return []shuffle.SourceState{{Rows: state.Rows, Manifest: state.Manifest, Units: state.Units, Rule: state.Rule, Snapshot: state.Snapshot}}
}

// countThen describes how many rows the sources that differ had and have.
func (d *Dataset) countThen(then []shuffle.SourceState, other []int) string {
	var counts []string
	for _, i := range other {
		text := fmt.Sprintf("%d rows then, %d rows now", then[i].Rows, d.sources[i].samples)
		if len(d.sources) > 1 {
			text = fmt.Sprintf("source %q had %s", then[i].Name, text)
		}
		counts = append(counts, text)
	}
	return strings.Join(counts, ", ")
}

// listThen returns the list of shards that a state was taken over: the one that was given, or the
// one that is kept on this machine. It is nil if neither is of the state.
func (d *Dataset) listThen(e *ManifestError, then []shuffle.SourceState) *SavedManifest {
	var names, hashes []string
	for _, s := range then {
		names, hashes = append(names, s.Name), append(hashes, s.Manifest)
	}
	content := saved.CombineHashes(names, hashes)
	if given := d.options.Manifest; given != nil && given.Content() == content {
		return given
	}
	if d.options.ManifestDir == "" {
		return nil
	}
	path := saved.ManifestPath(d.options.ManifestDir, content)
	list, err := ReadManifest(path)
	if err != nil || !slices.Equal(list.Names(), names) {
		return nil
	}
	e.Saved = path
	return list
}

// differences lists the changes of a source's shards since a state was taken.
func (d *Dataset) differences(i int, then shuffle.SourceState, list *SavedManifest) []string {
	s := d.sources[i]
	now := s.sampledData()
	var all []string
	if list != nil {
		all = list.Sources[i].InUse().Differences(now, maxDifferences)
	} else if before := s.before(then); before != nil {
		all = before.Differences(now, maxDifferences)
	}
	if len(d.sources) > 1 {
		for k := range all {
			all[k] = fmt.Sprintf("source %q: %s", then.Name, all[k])
		}
	}
	return all
}

// before finds the shards that a state was taken over if they are today's first ones, as
// in a table that grows at its end. Else it is nil.
func (d *source) before(then shuffle.SourceState) *shuffle.Manifest {
	units, err := d.ownUnits()
	if err != nil {
		return nil
	}
	samples := make([]int64, len(d.data.Shards))
	for _, u := range units.All() {
		samples[d.data.Groups[u.Group].Shard] += u.Samples
	}
	first, rows := make([]bool, len(samples)), int64(0)
	for s, n := range samples {
		if rows += n; rows > then.Rows {
			break
		}
		if first[s] = d.sampled.has(s); n > 0 && rows == then.Rows {
			if m := d.data.Only(first); m.Content() == then.Manifest {
				return m
			}
			break
		}
	}
	return nil
}

// advise sets the hint: how to continue with the state.
func (e *ManifestError) advise(dir string) {
	list := "saved beside the state"
	switch {
	case e.Saved != "":
		list = "kept in " + option.Literal(e.Saved)
	case len(e.Differences) == 0 && dir != "":
		list += " (it is not in " + option.Literal(dir) + ", so the shards that differ are not known)"
	}
	e.Hint = "to finish the epoch, give the list of then as {Manifest}, " + list + ", or a {Plan} that was saved then, or name the files of then, as in " +
		option.Literal("table/day={1,2}") + "; to train on all shards, begin an epoch without the state"
}

// otherShards says in few words that a state is of other shards; the fields that differ, hashes
// among them, are in its cause.
type otherShards struct {
	text  string
	cause error
}

func (e *otherShards) Error() string {
	return "these are not the shards that the state was taken over: " + e.text
}

func (e *otherShards) Unwrap() error { return e.cause }
