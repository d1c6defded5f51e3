package verdict

import (
	"time"

	"github.com/shardfeed/shardfeed/internal/wait"
)

// A scene is the facts from the side of the ranks that wait, for the rows of the table.
type scene struct {
	Facts
	ranks  *named
	cause  wait.Cause // of the largest part
	node   Node       // of the rank that waits longest; zero if its figures are not known
	others []Node
	store  Store // the node's busiest
}

func newScene(f Facts, g *named) *scene {
	s := &scene{Facts: f, ranks: g, cause: g.settled.Most()}
	for _, n := range f.Nodes {
		if n.Host == g.worst.Host {
			s.node = n
		} else {
			s.others = append(s.others, n)
		}
	}
	for _, st := range s.node.Stores {
		if st.Bytes >= s.store.Bytes {
			s.store = st
		}
	}
	return s
}

// fed reports whether training hardly waits.
func (s *scene) fed() bool {
	return !s.ranks.starting && share(s.ranks.settled, s.ranks.settledLoop) < little
}

// then is the second cause, if it has a quarter of the wait.
func (s *scene) then() string {
	rest := s.ranks.settled
	rest[s.cause] = 0
	if c := rest.Most(); rest[c] > 0 && rest[c] >= s.ranks.settled.Sum()/4 {
		return c.String()
	}
	return ""
}

// busy reports whether the engine's processors are saturated.
func (s *scene) busy() bool { return s.node.Machine.Busy >= 0.85 }

func (s *scene) cached() bool { return s.node.Cache.Limit > 0 }

// apart reports whether only ranks of one machine wait, and other machines are known.
func (s *scene) apart() bool {
	return !s.ranks.all && len(s.ranks.hosts()) == 1 && len(s.others) > 0
}

// elsewhere is the median of a figure over the other nodes that have it.
func (s *scene) elsewhere(figure func(*scene) float64) float64 {
	var values []float64
	for _, n := range s.others {
		other := newScene(Facts{Nodes: []Node{n}}, &named{worst: Rank{Host: n.Host}})
		if v := figure(other); v > 0 {
			values = append(values, v)
		}
	}
	return median(values)
}

// latency is the seconds of a mean request to the node's store.
func (s *scene) latency() float64 { return s.store.Latency.Seconds() }

// disk is the bytes per second that the cache reads from the node's disk.
func (s *scene) disk() float64 { return rate(s.node.Cache.DiskBytes, s.node.Cache.DiskTime) }

// stepTime is the seconds of a step outside of next(): the trainer's own.
func (s *scene) stepTime() float64 {
	return max(0, (s.ranks.loop-s.ranks.wait.Sum()).Seconds()) / float64(max(1, s.ranks.steps()))
}

// perStep is the seconds that a cause holds up a mean step.
func (s *scene) perStep(c wait.Cause) float64 {
	return s.ranks.wait[c].Seconds() / float64(max(1, s.ranks.steps()))
}

func rate(bytes int64, in time.Duration) float64 {
	if in <= 0 || bytes <= 0 {
		return 0
	}
	return float64(bytes) / in.Seconds()
}
