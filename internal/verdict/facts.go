package verdict

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/shardfeed/shardfeed/internal/wait"
)

// Facts are the figures of a data set's ranks and of the nodes that serve them, over one interval
// such as an epoch. Figures that are not known are 0.
type Facts struct {
	World int    // ranks of the job; at least those in Ranks
	Ranks []Rank // one entry for each rank that is known
	Nodes []Node // the machines of the ranks that are known, by Host

	First bool // the interval is of the first epoch: caches fill
	Batch Batch
	Map   Map

	Pinned bool // batches are copied to devices from pinned memory
}

// A Part is the part of Facts that one machine has: its ranks, and its figures.
type Part struct {
	Engine string // that serves the ranks, by a name that no other has
	Ranks  []Rank
	Node   Node
}

// Join adds the parts of machines, of each engine the first. Machines of one name get numbers, by
// their lowest ranks.
func (f *Facts) Join(parts []Part) {
	engines := map[string]bool{}
	parts = slices.DeleteFunc(slices.Clone(parts), func(p Part) bool {
		known := engines[p.Engine]
		engines[p.Engine] = true
		return known || len(p.Ranks) == 0
	})
	slices.SortStableFunc(parts, func(a, b Part) int { return cmp.Compare(a.Ranks[0].Rank, b.Ranks[0].Rank) })
	named := map[string]int{}
	for _, p := range parts {
		host := p.Node.Host
		if named[host]++; named[host] > 1 {
			host = fmt.Sprintf("%s (%d)", host, named[host])
		}
		for _, r := range p.Ranks {
			if !slices.ContainsFunc(f.Ranks, func(known Rank) bool { return known.Rank == r.Rank }) {
				r.Host = host
				f.Ranks = append(f.Ranks, r)
			}
		}
		p.Node.Host = host
		f.Nodes = append(f.Nodes, p.Node)
	}
}

// Rank is a training loop.
type Rank struct {
	Rank  int
	Host  string
	Loop  time.Duration // since its first next()
	Wait  wait.Parts    // in next()
	Start wait.Parts    // of Wait, until the first batch; the other parts settle after it
	Steps int64
}

// Node is a machine, and the engine on it.
type Node struct {
	Host    string
	Stores  []Store
	Cache   Cache
	Decoded Decoded
	Machine Machine
	Memory  Memory
}

// Store is a place that shards are read from.
type Store struct {
	Kind      string // s3, hdfs, file
	Requests  int64
	Bytes     int64
	Busy      time.Duration // in which at least one request was in flight
	Latency   time.Duration // mean of a request
	InFlight  int           // mean number of requests, while there is any
	Window    int           // most requests in flight
	Answering float64       // part of the requests' time until their answers start, from 0 to 1
	Retries   int64
	Throttled int64 // requests that the store refused because of their rate
}

// Cache is the encoded bytes on the local disk. Limit 0 is off.
type Cache struct {
	DiskBytes int64 // read from the disk
	DiskTime  time.Duration
	Limit     int64
	Needed    int64 // bytes that hold all that an epoch reads on this node
}

// Decoded is row groups that are kept decoded on the local disk. Limit 0 is off.
type Decoded struct {
	Limit  int64
	Needed int64
}

// Machine is the processors that the engine may use.
type Machine struct {
	Processors int
	Busy       float64 // share of them that was in use, from 0 to 1
}

// Memory is the memory of the engine's streams, in bytes.
type Memory struct {
	Limit  int64
	Buffer int64   // of the shuffle buffer
	Held   float64 // part of the time in which it kept streams from reading further ahead, from 0 to 1
}

// Batch is a batch of one rank.
type Batch struct {
	Rows   int64
	Bytes  int64
	Images bool // images are decoded
}

// Map is the functions that the trainer runs on batches.
type Map struct {
	Workers int // processes or threads; 0: the training loop
}
