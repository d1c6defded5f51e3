package iceberg

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash"
	"slices"
	"strings"

	"github.com/shardfeed/shardfeed/table"
)

// matchVersion changes when equality deletes delete other rows than they did.
const matchVersion = "equality/1"

// A match is a data file, and the sets that may delete rows of it.
type match struct {
	file    int
	sets    []*keySet
	columns []int    // the key columns of the sets
	lacking [][]byte // by key column: the key's bytes if the file lacks it
	name    [16]byte // of the rows, see [table.Found]
	rows    table.Rows
}

// matches returns a match for each data file that an equality delete applies to.
func (e *equal) matches() (all []match, err error) {
	e.sort()
	for i := range e.files {
		data := &e.set.data[i]
		sets := e.setsFor(data)
		if len(sets) == 0 {
			continue
		}
		m := match{file: i, sets: sets, lacking: make([][]byte, len(e.columns))}
		for _, set := range sets {
			m.columns = append(m.columns, set.columns...)
		}
		slices.SortFunc(m.columns, func(a, b int) int { return cmp.Compare(e.columns[a].id, e.columns[b].id) })
		m.columns = slices.Compact(m.columns)
		for _, c := range m.columns {
			if m.lacking[c], err = e.columns[c].lacking(&e.set.partitions[data.partition]); err != nil {
				return nil, e.wrap(e.locate(data.path), err)
			}
		}
		if e.options.Keeper != nil {
			if m.name, err = e.name(&m); err != nil {
				return nil, err
			}
		}
		all = append(all, m)
	}
	return all, nil
}

// sort orders sets and their deletes, so that names do not depend on the order of manifests.
func (e *equal) sort() {
	ids := func(s *keySet) (ids []int32) {
		for _, c := range s.columns {
			ids = append(ids, e.columns[c].id)
		}
		return ids
	}
	slices.SortFunc(e.sets, func(a, b *keySet) int {
		return cmp.Or(slices.Compare(ids(a), ids(b)), cmp.Compare(a.partition, b.partition))
	})
	for _, set := range e.sets {
		slices.SortFunc(set.deletes, func(a, b *deleteFile) int { return strings.Compare(a.path, b.path) })
	}
}

// name covers what the deleted rows of a data file depend on: its sequence number, how its key
// columns are found, and the deletes that apply to it. Delete files never change.
func (e *equal) name(m *match) (name [16]byte, err error) {
	h, sequence := sha256.New(), e.set.data[m.file].sequence
	fmt.Fprintf(h, "%s\x00%d\x00", matchVersion, sequence)
	for _, c := range m.columns {
		k := &e.columns[c]
		if err := json.NewEncoder(h).Encode([]any{k.id, k.field, k.column, m.lacking[c]}); err != nil {
			return name, err
		}
	}
	for _, set := range m.sets {
		e.addSet(h, set, sequence)
	}
	copy(name[:], h.Sum(nil))
	return name, nil
}

func (e *equal) addSet(h hash.Hash, set *keySet, sequence int64) {
	for _, c := range set.columns {
		fmt.Fprintf(h, "%d,", e.columns[c].id)
	}
	for _, f := range set.deletes {
		if f.sequence > sequence {
			fmt.Fprintf(h, "\x00%s\x00%d\x00%d", e.locate(f.path), f.size, f.sequence)
		}
	}
	h.Write([]byte{'\n'})
}

// unknown deletes the rows that are kept, and returns the other matches.
func (e *equal) unknown(all []match) []match {
	return slices.DeleteFunc(all, func(m match) bool {
		return e.files[m.file].DeleteKept(e.options.Keeper, table.ByEquality, m.name)
	})
}

// apply deletes the rows that were found, and keeps them.
func (e *equal) apply(all []match) {
	found := make([]table.Found, len(all))
	for i := range all {
		m := &all[i]
		for lo, hi := range m.rows.Runs() {
			e.files[m.file].Delete(table.ByEquality, lo, hi)
		}
		found[i] = table.Found{Shard: e.files[m.file].Shard, Name: m.name, Rows: m.rows}
	}
	if keeper := e.options.Keeper; keeper != nil && len(found) > 0 {
		keeper.Keep(found)
	}
}

// neededSets are the sets of some matches, each once.
func neededSets(all []match) (sets []*keySet) {
	seen := map[*keySet]bool{}
	for i := range all {
		for _, set := range all[i].sets {
			if !seen[set] {
				seen[set] = true
				sets = append(sets, set)
			}
		}
	}
	return sets
}
