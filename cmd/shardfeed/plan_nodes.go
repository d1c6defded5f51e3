package main

import (
	"math"

	"github.com/spf13/pflag"

	"github.com/shardfeed/shardfeed"
	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/term"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/internal/text"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shuffle"
)

const (
	listPage    = 1000     // shards in a page of a list of S3
	planRange   = 8 << 20  // bytes of a plan in one request
	dataRange   = 16 << 20 // of a request for data, at most
	weighedMost = 16       // nodes whose bytes are added up
)

// planNodes are the flags of the nodes of a job.
type planNodes struct {
	count     int
	bandwidth byteSize
}

func (n *planNodes) flags(fs *pflag.FlagSet) {
	fs.IntVar(&n.count, "nodes", 0, "show what a job on this `number` of nodes asks for, reads and keeps; they divide the ranks of --world-size (default: one rank each)")
	fs.Var(&n.bandwidth, "node-bandwidth", "with --nodes: bytes a second that a node gets from storage, to show how long the first epoch takes at least")
}

// check refuses what makes no job.
func (n *planNodes) check(fs *pflag.FlagSet, f *flags) error {
	switch {
	case !fs.Changed("nodes") && fs.Changed("node-bandwidth"):
		return usagef("--node-bandwidth needs --nodes")
	case !fs.Changed("nodes"):
		return nil
	case n.count < 1 || n.count > option.MaxWorldSize:
		return usagef("--nodes must be from 1 to %d, got %d", option.MaxWorldSize, n.count)
	case len(f.Sources) > 0:
		return usagef("--nodes is of one table: leave --sources out")
	case !f.Shuffle:
		return usagef("--nodes needs --shuffle, or a --plan that was saved with it: in file order each node reads nearly all row groups")
	}
	if !fs.Changed("world-size") {
		f.worldSize = n.count
	}
	if f.worldSize%n.count != 0 {
		return usagef("--nodes must divide --world-size %d, got %d", f.worldSize, n.count)
	}
	return nil
}

// A jobOfNodes predicts the reads of a job on several nodes from footers. Requests are as on S3.
type jobOfNodes struct {
	Nodes        int `json:"nodes"`
	RanksPerNode int `json:"ranks_per_node"`

	PlanBytes    int64 `json:"plan_bytes"`          // of the file that --save writes
	Lists        int64 `json:"lists"`               // pages, of all nodes, without a plan and with nothing kept
	FooterGets   int64 `json:"footer_gets"`         // likewise
	PlanLists    int64 `json:"lists_with_plan"`     // of the node that saves the plan; the others list nothing
	PlanGets     int64 `json:"gets_with_plan"`      // footers once, and the plan on each node
	NodePlanGets int64 `json:"plan_gets_of_a_node"` // of them

	NodeBytes  int64   `json:"node_bytes"`       // encoded, of the node that reads the most, in an epoch: also its disk for the cache
	FairBytes  int64   `json:"node_bytes_mean"`  // encoded bytes of the columns over the nodes
	FirstGets  int64   `json:"first_epoch_gets"` // of all nodes, at least
	FirstEpoch float64 `json:"first_epoch_seconds,omitempty"`

	Lanes  float64 `json:"lanes_per_node"`
	Deff   float64 `json:"deff"`
	Buffer int64   `json:"shuffle_buffer_per_rank_rows"`

	Replaced int64    `json:"replaced_node_bytes"`       // fetched again when another node takes the place of one, with seats
	Lost     *int64   `json:"lost_node_bytes"`           // fetched by all others when a node is lost, with seats; null on one node
	LostMost *float64 `json:"lost_node_share,omitempty"` // of the bytes that all nodes read
}

// jobOf computes the job.
func (n *planNodes) jobOf(p *iterable.Plan, m *rowgroup.Reader, f *flags, read func(ranks []int) (int64, error), planBytes int64) (*jobOfNodes, error) {
	nodes, shards := int64(n.count), int64(len(m.Shards()))
	j := &jobOfNodes{
		Nodes: n.count, RanksPerNode: f.worldSize / n.count, PlanBytes: planBytes,
		Lists: nodes * ceil(shards, listPage), FooterGets: nodes * shards,
		PlanLists: ceil(shards, listPage), NodePlanGets: 1 + ceil(planBytes, planRange),
		FairBytes: p.Encoded / nodes, Lanes: float64(p.Lanes) / float64(nodes),
		Deff: p.Quality.Deff, Buffer: p.Params.Buffer / int64(f.worldSize),
	}
	j.PlanGets = shards + nodes*j.NodePlanGets
	for _, g := range m.Groups() {
		j.FirstGets += max(1, ceil(g.Compressed, dataRange))
	}
	for i := range min(n.count, weighedMost) {
		bytes, err := read(ranksOf(i*n.count/min(n.count, weighedMost), j.RanksPerNode))
		if err != nil {
			return nil, err
		}
		j.NodeBytes = max(j.NodeBytes, bytes)
	}
	j.Replaced = j.NodeBytes
	if n.bandwidth > 0 {
		j.FirstEpoch = float64(j.NodeBytes) / float64(n.bandwidth)
	}
	if n.count == 1 || p.Lanes < f.worldSize {
		return j, nil
	}
	share, err := lostShare(p.Lanes, n.count, j.RanksPerNode)
	if err != nil {
		return nil, err
	}
	bytes := int64(math.Round(share * float64(p.Encoded)))
	j.Lost, j.LostMost = &bytes, &share
	return j, nil
}

// job is the job on the nodes; nil without --nodes.
func (n *planNodes) job(p *iterable.Plan, ds *shardfeed.Dataset, f *flags) (*jobOfNodes, error) {
	if n.count == 0 {
		return nil, nil
	}
	saved, err := planBytes(ds.Dataset, f)
	if err != nil {
		return nil, err
	}
	read := func(ranks []int) (bytes int64, err error) {
		shards, err := f.toWarm(ds, ranks)
		for _, s := range shards {
			bytes += s.bytes
		}
		return bytes, err
	}
	return n.jobOf(p, ds.Manifest(), f, read, int64(len(saved)))
}

func ceil(n, unit int64) int64 { return (n + unit - 1) / unit }

func ranksOf(node, each int) (ranks []int) {
	for r := range each {
		ranks = append(ranks, node*each+r)
	}
	return ranks
}

// lostShare is the part of their lanes that nodes do not have when the first node is lost and the
// others take seats.
func lostShare(lanes, nodes, each int) (float64, error) {
	world := (nodes - 1) * each
	left := make([]shuffle.NodeLanes, nodes-1)
	for k := range left {
		left[k] = shuffle.NodeLanes{Ranks: ranksOf(k, each), Held: make([]byte, (lanes+7)/8)}
		markPlaces(left[k].Held, lanes, nodes, k+1, nil)
	}
	seats, err := shuffle.SeatLanes(lanes, world, left)
	if err != nil {
		return 0, err
	}
	lineAt := make([]int, lanes)
	for line := range lanes {
		at := line
		if seats != nil {
			at = seats[line]
		}
		lineAt[at] = line
	}
	read, have := 0, 0
	for k, n := range left {
		held := make([]byte, (lanes+7)/8)
		markPlaces(held, lanes, nodes-1, k, lineAt)
		for lane := range lanes {
			if bit := byte(1) << (lane % 8); held[lane/8]&bit != 0 {
				read++
				if n.Held[lane/8]&bit != 0 {
					have++
				}
			}
		}
	}
	return 1 - float64(have)/float64(max(1, read)), nil
}

// markPlaces sets the bits of the lanes at the places that a node reads, whole or in part.
func markPlaces(held []byte, lanes, nodes, node int, lineAt []int) {
	for at := node * lanes / nodes; at*nodes < (node+1)*lanes; at++ {
		lane := at
		if lineAt != nil {
			lane = lineAt[at]
		}
		held[lane/8] |= 1 << (lane % 8)
	}
}

func (j *jobOfNodes) report(r *term.Report, p *iterable.Plan) {
	r.Section("on " + text.Plural(int64(j.Nodes), "node") + ", computed")
	r.Fact("ranks, lanes", "%s and %.4g lanes a node", text.Plural(int64(j.RanksPerNode), "rank"), j.Lanes)
	r.Fact("start without plan", "%s lists, %s footers", text.Count(j.Lists), text.Count(j.FooterGets))
	r.Fact("start with a plan", "%s lists once, %s requests: footers once, then %s for the plan of %v on each node",
		text.Count(j.PlanLists), text.Count(j.PlanGets), text.Count(j.NodePlanGets), mem.Bytes(j.PlanBytes))
	r.Fact("a node reads", "%v an epoch, the same in each: as much disk for its cache", mem.Bytes(j.NodeBytes))
	r.Fact("epoch 1", "at least %s requests of all nodes; epochs from disk none", text.Count(j.FirstGets))
	if j.FirstEpoch > 0 {
		r.Fact("epoch 1 takes", "at least %s at that bandwidth", term.Seconds(j.FirstEpoch))
	}
	r.Fact("mixing", "deff %.3g with %s of the shuffle buffer on each rank", j.Deff, text.Plural(j.Buffer, "row"))
	r.Fact("a node is replaced", "%v are fetched again", mem.Bytes(j.Replaced))
	if j.Lost != nil {
		r.Fact("a node is lost", "%v are fetched again by all others, %.2g%% of the data", mem.Bytes(*j.Lost), 100**j.LostMost)
	}
}
