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

// agreed is the last iteration of a rank.
type agreed struct {
	print     Fingerprint
	first     bool // of the rank's first iteration under the name
	iteration *iteration
	reached   map[uint64]int64 // by epoch, how far the rank's iterations before came
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
	mine := newAgreed(it, a.ranks[key][j.Rank])
	a.ranks[key][j.Rank] = mine
	var first error
	for _, rank := range slices.Sorted(maps.Keys(a.ranks[key])) {
		if rank == j.Rank {
			continue
		}
		other := a.ranks[key][rank]
		differ := differences(mine, other, j.Rank, rank)
		if rank < j.Rank {
			differ = differences(other, mine, rank, j.Rank)
		}
		if len(differ) == 0 {
			bound(mine, other)
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

// newAgreed is the rank's iteration that begins, after the one before.
func newAgreed(it *iteration, before *agreed) *agreed {
	mine := &agreed{
		print: it.session.fingerprint(it.state, it.join.WorldSize), first: before == nil, iteration: it, reached: map[uint64]int64{},
	}
	if before != nil && before.iteration.session == it.session {
		last := before.iteration
		for epoch, rows := range before.reached {
			if epoch+keptEpochs > last.epoch {
				mine.reached[epoch] = rows
			}
		}
		mine.reached[last.epoch] = last.reached()
	}
	delete(mine.reached, it.epoch) // it reads the epoch again
	return mine
}

// bound limits how far the rank that is behind may go in an epoch that the other has left, which it may have left early. Ranks that
// train together stop there too.
func bound(a, b *agreed) {
	behind, ahead := a, b
	if a.iteration.epoch > b.iteration.epoch {
		behind, ahead = b, a
	}
	rank := ahead.iteration.join.Rank
	rows, left := ahead.reached[behind.iteration.epoch]
	if !left || ahead.iteration.epoch == behind.iteration.epoch {
		behind.iteration.unbind(rank)
		ahead.iteration.unbind(behind.iteration.join.Rank)
		return
	}
	behind.iteration.bind(rank, rows)
}

// overtaken ends the iterations of all ranks, after that of a rank went on in an epoch that another has left.
func (a *agreements) overtaken(it *iteration, by int) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	key := agreement{it.parts[0].seat.hello.Job, it.join.Agree}
	mine, other := a.ranks[key][it.join.Rank], a.ranks[key][by]
	if mine == nil || mine.iteration != it || other == nil || other.iteration.epoch <= it.epoch {
		return nil // one of them has gone on meanwhile
	}
	err := epochsError(other.iteration, it, fmt.Sprintf("rank %d left epoch %d after about %d rows, and rank %d went on in it", by, it.epoch,
		other.reached[it.epoch], it.join.Rank))
	f := &finding{err: err, told: map[int]bool{it.join.Rank: true}}
	a.found[key] = f
	for rank, other := range a.ranks[key] {
		if other != mine {
			f.told[rank] = true
			other.iteration.abort(err)
		}
	}
	return err
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

// keptEpochs is of how many epochs it is kept how far a rank came.
const keptEpochs = 4

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

// epochsError is that of ranks of which one left an epoch that the other goes on in.
func epochsError(ahead, behind *iteration, why string) error {
	differ := fmt.Sprintf("epoch: %d on rank %d, %d on rank %d", ahead.epoch, ahead.join.Rank, behind.epoch, behind.join.Rank)
	return &Failure{
		Kind: KindRanks, RowGroup: -1, Step: -1, Details: []string{differ}, Text: "the ranks read different epochs at a time: " + differ + "; " + why,
		Hint: "take the same batches on every rank, also for a look at the first one, or call set_epoch before each epoch",
	}
}
