package engine

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/shardfeed/shardfeed/internal/engine/wire"
)

// agreements compare the ranks of the jobs on this machine.
type agreements struct {
	mu      *sync.Mutex // the engine's
	ranks   map[string]map[int]*agreed
	found   map[string]*finding
	clients map[string]int // of each job
}

// A finding is how the ranks of a job differ. It is kept while the job has a connection, for the
// ranks that come after the others have failed. A later job of the same name starts without it.
type finding struct {
	err  error
	told map[int]bool // by rank
}

// agreementOf is the key under which ranks compare: the job and the name of the data set.
func agreementOf(it *iteration) string {
	return jobOf(it.order[0].first().client.hello.Job) + it.join.Agree
}

func jobOf(job string) string { return job + "\x00" }

// agreed is the entry of a rank in a comparison: its last iteration.
type agreed struct {
	print     wire.Fingerprint
	first     bool // of the rank's first iteration under the name
	iteration *iteration
	reached   map[uint64]int64 // by epoch, how far the rank's iterations before came
	bounds    map[int]int64    // by rank that is in a later epoch, how far this one may go

	// A data set object and the maps made of it have one name. Ranks read them in the same order,
	// so the n-th objects of all ranks correspond.
	objects []*group // that the rank has read; nil: it is closed
	object  int      // the one that it reads now
}

// abortAll fails iterations of other ranks. No session's mutex may be held.
func abortAll(others []*iteration, err error) {
	for _, it := range others {
		it.session.mu.Lock()
		it.fail(err)
		it.run.endAfter(it)
		it.session.mu.Unlock()
	}
}

// check compares an iteration with the last ones of the other ranks. With an error it returns the
// iterations of the ranks that differ, which fail too.
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

// newAgreed returns the entry of a rank that starts an iteration. before is its last entry, or nil.
func newAgreed(it *iteration, before *agreed) *agreed {
	mine := &agreed{
		print: it.fingerprint(), first: before == nil, iteration: it, reached: map[uint64]int64{}, bounds: map[int]int64{},
	}
	if before != nil {
		mine.objects = slices.Clone(before.objects)
	}
	g := it.order[0].first().client.group
	if mine.object = slices.Index(mine.objects, g); mine.object < 0 {
		mine.object, mine.objects = len(mine.objects), append(mine.objects, g)
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

// limit sets how far the rank that is behind may go in an epoch that the other rank has left,
// perhaps early. Ranks that train together stop at the same batch.
func limit(a, b *agreed) {
	behind, ahead := a, b
	if a.iteration.epoch > b.iteration.epoch {
		behind, ahead = b, a
	}
	it := behind.iteration
	rows, left := ahead.reached[it.epoch]
	if left && ahead.iteration.epoch > it.epoch && a.object == b.object {
		behind.bind(ahead.iteration.join.Rank, max(rows, it.reached())+it.slack())
		return
	}
	behind.bind(ahead.iteration.join.Rank, 0)
	ahead.bind(it.join.Rank, 0)
}

// bind sets how far the iteration may go because of another rank; 0 lifts that.
func (r *agreed) bind(rank int, position int64) {
	if r.bounds[rank] = position; position == 0 {
		delete(r.bounds, rank)
	}
	_, nearest := r.nearest()
	r.iteration.bound.Store(nearest)
}

// nearest returns the nearest bound and its rank, or position 0 without bounds.
func (r *agreed) nearest() (rank int, position int64) {
	for of, at := range r.bounds {
		if position == 0 || at < position {
			rank, position = of, at
		}
	}
	return rank, position
}

// overtaken handles an iteration that passed its bound, in an epoch that another rank has left. It
// returns the error, for it and for the iterations of all other ranks.
func (a *agreements) overtaken(it *iteration) (others []*iteration, err error) {
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

// add counts a connection of a job, and remove counts it out.
func (a *agreements) add(job string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.clients[job]++
}

func (a *agreements) remove(job string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.clients[job]--; a.clients[job] > 0 {
		return
	}
	delete(a.clients, job)
	maps.DeleteFunc(a.found, func(key string, _ *finding) bool { return strings.HasPrefix(key, jobOf(job)) })
}

func (a *agreements) forget(g *group) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for key, ranks := range a.ranks {
		for _, r := range ranks {
			if i := slices.Index(r.objects, g); i >= 0 {
				r.objects[i] = nil
			}
		}
		maps.DeleteFunc(ranks, func(_ int, r *agreed) bool { return r.iteration.order[0].first().client.group == g })
		if len(ranks) == 0 {
			delete(a.ranks, key)
		}
	}
}

// keptEpochs is the number of epochs whose progress an entry keeps.
const keptEpochs = 4

func differences(a, b *agreed, rankA, rankB int) []string {
	names := maps.Clone(a.print)
	maps.Copy(names, b.print)
	var differ []string
	for _, name := range slices.Sorted(maps.Keys(names)) {
		place := name == placeEpoch || name == placePosition
		if a.print[name] == b.print[name] || place && !(a.first && b.first) {
			continue
		}
		if name == weightsOf && (a.print[placeEpoch] != b.print[placeEpoch] || a.print[placePosition] != b.print[placePosition]) {
			continue
		}
		differ = append(differ, fmt.Sprintf("%s: %s on rank %d, %s on rank %d", name, cmp.Or(a.print[name], "none"), rankA, cmp.Or(b.print[name], "none"), rankB))
	}
	return differ
}

func ranksError(differ []string) error {
	f := wire.NewFailure(wire.KindRanks, "the ranks do not read the same data in the same order: %s", strings.Join(differ, "; "))
	f.Details = differ
	if len(differ) == 1 && strings.HasPrefix(differ[0], decoderOf+": ") {
		f.Text += " (" + decodersHint + ")"
		return f.With(decodersHint)
	}
	return f.With("give all ranks the same arguments and the same state")
}

// decoderOf is the argument that names the decoder of images: ranks with the same arguments differ
// in it if libjpeg-turbo is only on some machines.
const (
	decoderOf    = "image_decoder"
	decodersHint = "libjpeg-turbo is not on all machines, and the decoder in Go gives slightly other pixels: install it on all of them, or give image_decoder='go' to all ranks"
)

func epochsError(ahead, behind *iteration, why string) error {
	differ := fmt.Sprintf("epoch: %d on rank %d, %d on rank %d", ahead.epoch, ahead.join.Rank, behind.epoch, behind.join.Rank)
	f := wire.NewFailure(wire.KindRanks, "the ranks read different epochs at a time: %s; %s", differ, why)
	f.Details = []string{differ}
	return f.With("take the same batches on every rank, also for a look at the first one, or call set_epoch before each epoch")
}
