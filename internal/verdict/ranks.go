package verdict

import (
	"cmp"
	"slices"
	"time"

	"github.com/shardfeed/shardfeed/internal/wait"
)

const (
	// little is the share of a loop below which its wait is not worth a change.
	little = 0.02
	// apart is how much more than the others a straggler waits: its share of the loop is this much
	// larger, and twice as large.
	apart = 0.02
)

// A named is the ranks that a verdict is about: stragglers, or all that are known.
type named struct {
	ranks []Rank
	all   bool
	worst Rank
	loop  time.Duration // of all of them together, as the following
	wait  wait.Parts
	// settled is the parts after the first batch of each rank, in settledLoop. If the first batches
	// took the most of the loop, it is everything.
	settled     wait.Parts
	settledLoop time.Duration
	starting    bool
}

// group selects the ranks that hold up the job. It returns nil if no loop has begun.
//
// In a synchronous job, ranks that have their batches wait for the others in collectives, outside
// of next(), so a rank that waits much longer in next() than the median of the others holds them
// up.
func group(f Facts) *named {
	ranks := slices.DeleteFunc(slices.Clone(f.Ranks), func(r Rank) bool { return r.Loop <= 0 })
	if len(ranks) == 0 {
		return nil
	}
	slices.SortFunc(ranks, func(a, b Rank) int { return cmp.Compare(a.Rank, b.Rank) })
	shares := make([]float64, len(ranks))
	for i, r := range ranks {
		shares[i] = share(settled(r))
	}
	slow := make([]Rank, 0, len(ranks))
	for i, r := range ranks {
		if others := medianWithout(shares, i); len(ranks) > 1 && shares[i] >= max(2*others, others+apart) {
			slow = append(slow, r)
		}
	}
	if len(slow) == 0 {
		slow = ranks
	}
	return newNamed(slow, len(slow) == len(ranks))
}

func newNamed(ranks []Rank, all bool) *named {
	g := &named{ranks: ranks, all: all, worst: ranks[0]}
	var start time.Duration
	for _, r := range ranks {
		p, loop := settled(r)
		add(&g.wait, clean(r.Wait))
		add(&g.settled, p)
		g.loop += r.Loop
		g.settledLoop += loop
		start += r.Loop - loop
		if share(p, loop) > share(settled(g.worst)) {
			g.worst = r
		}
	}
	if g.starting = start > g.settledLoop; g.starting {
		g.settled, g.settledLoop = g.wait, g.loop
	}
	return g
}

// settled is the parts of a rank's wait after its first batch, and the time of the loop since then.
func settled(r Rank) (wait.Parts, time.Duration) {
	p := clean(r.Wait)
	var start time.Duration
	for c := range p {
		first := min(p[c], max(0, r.Start[c]))
		p[c] -= first
		start += first
	}
	return p, max(p.Sum(), r.Loop-start)
}

func share(p wait.Parts, loop time.Duration) float64 {
	if loop <= 0 {
		return 0
	}
	return min(1, float64(p.Sum())/float64(loop))
}

// medianWithout is the median of all values but the i-th; 0 if there are no others.
func medianWithout(values []float64, i int) float64 {
	others := slices.Concat(values[:i], values[i+1:])
	return median(others)
}

// median is the lower of the two in the middle if there are an even number.
func median[N cmp.Ordered](values []N) (m N) {
	if len(values) > 0 {
		slices.Sort(values)
		m = values[(len(values)-1)/2]
	}
	return m
}

func (g *named) share() float64 { return share(g.wait, g.loop) }

// mean is seconds per rank.
func (g *named) mean(d time.Duration) float64 { return d.Seconds() / float64(len(g.ranks)) }

func (g *named) parts() map[string]float64 {
	parts := g.wait.Seconds()
	for name := range parts {
		parts[name] /= float64(len(g.ranks))
	}
	return parts
}

func (g *named) numbers() []int {
	numbers := make([]int, len(g.ranks))
	for i, r := range g.ranks {
		numbers[i] = r.Rank
	}
	return numbers
}

// hosts are the machines of the ranks.
func (g *named) hosts() []string {
	var hosts []string
	for _, r := range g.ranks {
		if !slices.Contains(hosts, r.Host) {
			hosts = append(hosts, r.Host)
		}
	}
	return hosts
}

func (g *named) steps() (n int64) {
	for _, r := range g.ranks {
		n += max(0, r.Steps)
	}
	return n
}

// clean is parts without times below 0, as clocks that were set could give.
func clean(p wait.Parts) wait.Parts {
	for c := range p {
		p[c] = max(0, p[c])
	}
	return p
}

func add(sum *wait.Parts, p wait.Parts) {
	for c, d := range p {
		sum[c] += d
	}
}
