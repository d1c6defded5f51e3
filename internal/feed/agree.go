package feed

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// agreements are the fingerprints of the ranks of jobs on this machine. The zero value works.
type agreements struct {
	mu    sync.Mutex
	ranks map[agreement]map[int]*agreed
	found map[agreement]*finding
	seats map[string]int // of each job
}

// A finding is that ranks differ. It is kept for those that have not heard of it, because the others may have ended by the time when they
// come; as long as the job has a connection, so that a job that begins anew under the name does not hear of it.
type finding struct {
	err  error
	told map[int]bool // by rank
}

// An agreement is a name under which the ranks of a job compare.
type agreement struct{ job, name string }

// agreed is the fingerprint of a rank.
type agreed struct {
	print     Fingerprint
	first     bool // of the rank's first iteration under the name
	iteration *iteration
}

// check notes the fingerprint of an iteration and compares it with those of the other ranks. Where they differ, the others' iterations fail
// too.
func (a *agreements) check(it *iteration) error {
	j := it.join
	if j.Agree == "" {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	key := agreement{it.parts[0].seat.hello.Job, j.Agree}
	if f := a.found[key]; f != nil && !f.told[j.Rank] {
		f.told[j.Rank] = true
		return f.err
	}
	if a.ranks[key] == nil {
		a.ranks[key] = map[int]*agreed{}
	}
	_, again := a.ranks[key][j.Rank]
	mine := &agreed{print: it.session.fingerprint(it.state, j.WorldSize), first: !again, iteration: it}
	a.ranks[key][j.Rank] = mine
	var first error
	for _, rank := range slices.Sorted(maps.Keys(a.ranks[key])) {
		other := a.ranks[key][rank]
		differ := differences(mine, other, j.Rank, rank)
		if rank < j.Rank {
			differ = differences(other, mine, rank, j.Rank)
		}
		if rank == j.Rank || len(differ) == 0 {
			continue
		}
		err := ranksError(differ)
		if first == nil {
			first = err
			a.found[key] = &finding{err: err, told: map[int]bool{j.Rank: true}}
		}
		a.found[key].told[rank] = true
		other.iteration.abort(err)
	}
	return first
}

// sit counts a connection of a job, and stand counts it out.
func (a *agreements) sit(job string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.seats == nil {
		a.seats, a.ranks, a.found = map[string]int{}, map[agreement]map[int]*agreed{}, map[agreement]*finding{}
	}
	a.seats[job]++
}

func (a *agreements) stand(job string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.seats[job]--; a.seats[job] > 0 {
		return
	}
	delete(a.seats, job)
	maps.DeleteFunc(a.found, func(key agreement, _ *finding) bool { return key.job == job })
}

// forget drops the fingerprints of a group's ranks.
func (a *agreements) forget(g *group) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for key, ranks := range a.ranks {
		maps.DeleteFunc(ranks, func(_ int, r *agreed) bool { return r.iteration.parts[0].seat.group == g })
		if len(ranks) == 0 {
			delete(a.ranks, key)
		}
	}
}

// differences names what two ranks do not have in common.
func differences(a, b *agreed, rankA, rankB int) []string {
	names := map[string]bool{}
	for name := range a.print {
		names[name] = true
	}
	for name := range b.print {
		names[name] = true
	}
	var differ []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		place := name == placeEpoch || name == placePosition
		if a.print[name] == b.print[name] || place && !(a.first && b.first) {
			continue
		}
		differ = append(differ, fmt.Sprintf("%s: %s on rank %d, %s on rank %d", name, shown(a.print[name]), rankA, shown(b.print[name]), rankB))
	}
	return differ
}

func shown(value string) string {
	if value == "" {
		return "none"
	}
	return value
}

func ranksError(differ []string) error {
	return &Failure{
		Kind: KindRanks, RowGroup: -1, Step: -1, Details: differ,
		Text: "the ranks do not read the same data in the same order: " + strings.Join(differ, "; "),
		Hint: "give all ranks the same arguments and the same state",
	}
}
