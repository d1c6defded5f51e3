package main

import (
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// warmRanks say for which ranks of a run the cache is warmed.
type warmRanks struct {
	node, nodes int
	ranks       string
	of          []int // the ranks; nil where row groups are divided by bytes in file order
}

func (r *warmRanks) flags(fs *pflag.FlagSet) {
	fs.IntVar(&r.node, "node", 0, "this node, from 0: fetch what its ranks read with --plan or --shuffle, in all epochs")
	fs.IntVar(&r.nodes, "nodes", 0, "number of nodes that divide the ranks of --world-size (default: one rank each)")
	fs.StringVar(&r.ranks, "ranks", "", "fetch what these ranks read with --plan or --shuffle, as in 8-15, in place of --node")
}

// check finds the ranks.
func (r *warmRanks) check(fs *pflag.FlagSet, f *flags) error {
	byNode, byRanks := fs.Changed("node") || fs.Changed("nodes"), fs.Changed("ranks")
	switch {
	case !byNode && !byRanks && (!f.Shuffle || !fs.Changed("world-size")):
		return nil
	case byNode && byRanks, (byNode || byRanks) && fs.Changed("rank"):
		return usagef("--node, --ranks and --rank say the same: give one of them")
	case !f.Shuffle:
		return usagef("--node and --ranks need --shuffle, or a --plan that was saved with it: in file order each node reads nearly all row groups")
	case byNode:
		f.NoteLanes = true
		return r.ofNode(fs, f)
	case byRanks:
		f.NoteLanes = true
		return r.ofRanks(f)
	}
	r.of = []int{f.rank}
	return nil
}

func (r *warmRanks) ofNode(fs *pflag.FlagSet, f *flags) error {
	if r.nodes < 1 {
		return usagef("--node needs --nodes of at least 1, got %d", r.nodes)
	}
	if r.node < 0 || r.node >= r.nodes {
		return usagef("--node must be at least 0 and below --nodes %d, got %d", r.nodes, r.node)
	}
	if !fs.Changed("world-size") {
		f.worldSize = r.nodes
	}
	if f.worldSize%r.nodes != 0 {
		return usagef("--nodes must divide --world-size %d, got %d: else give --ranks", f.worldSize, r.nodes)
	}
	each := f.worldSize / r.nodes
	for i := range each {
		r.of = append(r.of, r.node*each+i)
	}
	return nil
}

func (r *warmRanks) ofRanks(f *flags) error {
	first, last, isRange := strings.Cut(r.ranks, "-")
	if !isRange {
		last = first
	}
	from, err := strconv.Atoi(first)
	to, wrong := strconv.Atoi(last)
	if err != nil || wrong != nil || from < 0 || to < from || to >= f.worldSize {
		return usagef("--ranks must be as 8-15, below --world-size %d, got %q", f.worldSize, r.ranks)
	}
	for rank := from; rank <= to; rank++ {
		r.of = append(r.of, rank)
	}
	return nil
}
