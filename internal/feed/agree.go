package feed

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
)

// agreements are the fingerprints of the ranks of jobs on this machine.
type agreements struct {
	mu      *sync.Mutex // the engine's
	ranks   map[string]map[int]*agreed
	found   map[string]*finding
	clients map[string]int // of each job
}

// A finding is that ranks differ. It is kept for those that have not heard of it, because the others may have ended by the time when they
// come; as long as the job has a connection, so that a job that begins anew under the name does not hear of it.
type finding struct {
	err  error
	told map[int]bool // by rank
}

// agreementOf is the job, and the name under which its ranks compare.
func agreementOf(it *iteration) string { return jobOf(it.order[0].client.hello.Job) + it.join.Agree }

func jobOf(job string) string { return job + "\x00" }

// agreed is the last iteration of a rank.
type agreed struct {
	print     Fingerprint
	first     bool // of the rank's first iteration under the name
	iteration *iteration
	reached   map[uint64]int64 // by epoch, how far the rank's iterations before came
	bounds    map[int]int64    // by rank that is in a later epoch, how far this one may go
}

// abortAll fails iterations of other ranks. No session's mutex may be held.
func abortAll(others []*iteration, err error) {
	for _, it := range others {
		it.abort(err)
	}
}

// check notes the fingerprint of an iteration and compares it with those of the other ranks. With an error it returns the iterations
// that fail too.
func (a *agreements) check(it *iteration) (others []*iteration, err error) {
	j := it.join
	if j.Agree == "" {
		return nil, nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	key := agreementOf(it)
	if f := a.found[key]; f != nil && !f.told[j.Rank] {
		f.told[j.Rank] = true
		return nil, f.err
	}
	if a.ranks[key] == nil {
		a.ranks[key] = map[int]*agreed{}
	}
	mine := newAgreed(it, a.ranks[key][j.Rank])
	a.ranks[key][j.Rank] = mine
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
			limit(mine, other)
			continue
		}
		if err == nil {
			err = ranksError(differ)
			a.found[key] = &finding{err: err, told: map[int]bool{j.Rank: true}}
		}
		a.found[key].told[rank] = true
		others = append(others, other.iteration)
	}
	return others, err
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

// limit limits how far the rank that is behind may go in an epoch that the other has left, maybe early. Ranks that train together stop
// there too.
func limit(a, b *agreed) {
	behind, ahead := a, b
	if a.iteration.epoch > b.iteration.epoch {
		behind, ahead = b, a
	}
	it := behind.iteration
	rows, left := ahead.reached[it.epoch]
	if left && ahead.iteration.epoch > it.epoch {
		behind.bind(ahead.iteration.join.Rank, max(rows, it.reached())+it.slack())
		return
	}
	behind.unbind(ahead.iteration.join.Rank)
	ahead.unbind(it.join.Rank)
}

func (r *agreed) bind(rank int, position int64) {
	if r.bounds == nil {
		r.bounds = map[int]int64{}
	}
	r.bounds[rank] = position
	r.publish()
}

func (r *agreed) unbind(rank int) {
	delete(r.bounds, rank)
	r.publish()
}

// publish tells the iteration the nearest of its bounds.
func (r *agreed) publish() {
	_, nearest := r.nearest()
	r.iteration.bound.Store(nearest)
}

// nearest is the rank of the nearest bound, and the bound; 0 without one.
func (r *agreed) nearest() (rank int, position int64) {
	for of, at := range r.bounds {
		if position == 0 || at < position {
			rank, position = of, at
		}
	}
	return rank, position
}

// overtaken is called for an iteration that came to its bound, in an epoch that another rank has left. It returns why all ranks' iterations
// fail, and ends those of the others.
func (a *agreements) overtaken(it *iteration) error {
	others, err := a.overtakes(it)
	abortAll(others, err)
	return err
}

func (a *agreements) overtakes(it *iteration) (others []*iteration, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	key := agreementOf(it)
	mine := a.ranks[key][it.join.Rank]
	if mine == nil || mine.iteration != it {
		return nil, nil
	}
	by, position := mine.nearest()
	other := a.ranks[key][by]
	if position == 0 || other == nil || other.iteration.epoch <= it.epoch {
		return nil, nil // one of them has gone on meanwhile
	}
	err = epochsError(other.iteration, it, fmt.Sprintf("rank %d left epoch %d after about %d rows, and rank %d went on in it", by, it.epoch,
		other.reached[it.epoch], it.join.Rank))
	f := &finding{err: err, told: map[int]bool{it.join.Rank: true}}
	a.found[key] = f
	for rank, other := range a.ranks[key] {
		if other != mine {
			f.told[rank] = true
			others = append(others, other.iteration)
		}
	}
	return others, err
}

// sit counts a connection of a job, and stand counts it out.
func (a *agreements) sit(job string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.clients == nil {
		a.clients, a.ranks, a.found = map[string]int{}, map[string]map[int]*agreed{}, map[string]*finding{}
	}
	a.clients[job]++
}

func (a *agreements) stand(job string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.clients[job]--; a.clients[job] > 0 {
		return
	}
	delete(a.clients, job)
	maps.DeleteFunc(a.found, func(key string, _ *finding) bool { return strings.HasPrefix(key, jobOf(job)) })
}

// forget drops the fingerprints of a group's ranks.
func (a *agreements) forget(g *group) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for key, ranks := range a.ranks {
		maps.DeleteFunc(ranks, func(_ int, r *agreed) bool { return r.iteration.order[0].client.group == g })
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
