package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/shardfeed/shardfeed"
	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/snapshot"
	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/term"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/internal/text"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/table"
)

const (
	sampleShards = 9       // whose footers and ranges are timed, spread over the list
	rangeBytes   = 1 << 20 // of a timed read
	tailBytes    = 8       // length of the footer and magic, at the end of a shard
)

// An addressCheck describes the shards at one address and how fast it answers.
type addressCheck struct {
	Address    string   `json:"address"`
	Facts      []fact   `json:"facts"` // how it is reached, and as whom
	Shards     int      `json:"shards"`
	Bytes      int64    `json:"bytes"`
	Partitions []string `json:"partitions"` // keys of directories
	List       float64  `json:"list_seconds"`
	Footer     float64  `json:"footer_seconds"` // median of opening a shard and reading its footer
	Range      float64  `json:"range_seconds"`  // median of reading range_bytes
	RangeBytes int64    `json:"range_bytes"`
	Problem    string   `json:"problem"` // of the list, or of the first shard that could not be read, or ""

	problem error
}

// A fact is one line about how an address is reached.
type fact struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// examine describes how an address is reached, lists it and reads a little of its shards.
func examine(ctx context.Context, store shard.Stores, address, at string) *addressCheck {
	p := &addressCheck{Address: shard.Redact(address), Facts: []fact{}, Partitions: []string{}}
	if !shardfeed.IsRemote(address) {
		p.Facts = append(p.Facts, fact{"credentials", "none needed: files of this machine, read as the user who runs this"})
	}
	begin := time.Now()
	shards, t, err := shardfeed.Spec{Snapshot: at}.Find(ctx, store, []string{address}, shardfeed.Events{})
	p.List = time.Since(begin).Seconds()
	p.explain(ctx, store, address) // after the list, by which the store has found out more
	if err != nil {
		p.fail(err)
		return p
	}
	if p.Shards = len(shards); t != nil {
		p.Facts = append(p.Facts, fact{"table", snapshot.Of(t).String()})
	}
	if len(shards) > 0 { // a table may have no rows
		p.read(ctx, store, shards)
	}
	return p
}

// explain takes over what the store says of how it reaches the address.
func (p *addressCheck) explain(ctx context.Context, store shard.Remote, address string) {
	_, address = table.Cut(strings.TrimPrefix(address, "@"))
	facts, err := store.Explain(ctx, address)
	if err != nil {
		facts = append(facts, shard.Fact{Name: "more", Value: "cannot be told: " + option.Spelled(err, option.Flag)})
	}
	for _, f := range facts {
		if f.Name == "try" { // a hint, which may name flags
			f.Value = option.Spell(f.Value, option.Flag)
		}
		p.Facts = append(p.Facts, fact{f.Name, f.Value})
	}
}

func (p *addressCheck) fail(err error) { p.problem, p.Problem = err, option.Spelled(err, option.Flag) }

// read times the footers and ranges of a few shards.
func (p *addressCheck) read(ctx context.Context, store shard.Store, shards []shard.Shard) {
	for _, s := range shards {
		p.Bytes += s.Size
	}
	for _, part := range shards[0].Partitions {
		p.Partitions = append(p.Partitions, part.Key)
	}
	var footers, ranges []float64
	for i := range min(sampleShards, len(shards)) {
		s := shards[i*len(shards)/min(sampleShards, len(shards))]
		n := min(rangeBytes, s.Size)
		footer, read, err := timeShard(ctx, store, s, n)
		if err != nil {
			p.fail(err)
			break
		}
		footers, ranges = append(footers, footer.Seconds()), append(ranges, read.Seconds())
		p.RangeBytes = max(p.RangeBytes, n)
	}
	p.Footer, p.Range = median(footers), median(ranges)
}

// timeShard opens a shard, reads its footer as a run would, and a range of the given size in its
// middle.
func timeShard(ctx context.Context, store shard.Store, s shard.Shard, bytes int64) (footer, read time.Duration, err error) {
	begin := time.Now()
	o, err := store.Open(ctx, s)
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, o.Close()) }()
	if err := readFooter(ctx, o, s); err != nil {
		return 0, 0, err
	}
	footer = time.Since(begin)
	begin = time.Now()
	err = o.ReadAt(ctx, make([]byte, bytes), (s.Size-bytes)/2)
	return footer, time.Since(begin), err
}

func readFooter(ctx context.Context, o shard.Object, s shard.Shard) error {
	refuse := func(format string, args ...any) error {
		return &shard.Error{URI: s.URI, Err: fmt.Errorf("%w: "+format, append([]any{shard.ErrCorrupt}, args...)...)}
	}
	if s.Size < tailBytes {
		return refuse("%d bytes are too few for a parquet file", s.Size)
	}
	tail := make([]byte, tailBytes)
	if err := o.ReadAt(ctx, tail, s.Size-tailBytes); err != nil {
		return err
	}
	if magic := string(tail[4:]); magic != "PAR1" && magic != "PARE" {
		return refuse("it ends with %q: not a parquet file, or only a part of one", magic)
	}
	n := int64(binary.LittleEndian.Uint32(tail))
	if n > s.Size-tailBytes {
		return refuse("its footer of %d bytes is larger than the file", n)
	}
	return o.ReadAt(ctx, make([]byte, n), s.Size-tailBytes-n)
}

func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	slices.Sort(v)
	return v[len(v)/2]
}

func (p *addressCheck) report(r *term.Report) {
	r.Section(p.Address)
	for _, f := range p.Facts {
		r.Fact(f.Name, "%s", f.Value)
	}
	if p.Shards > 0 {
		r.Fact("found", "%s, %v in all", text.Plural(int64(p.Shards), "shard"), mem.Bytes(p.Bytes))
	}
	if len(p.Partitions) > 0 {
		r.Fact("partitions", "%q, from the names of directories", p.Partitions)
	}
	r.Fact("list", "%s", term.Seconds(p.List))
	if p.RangeBytes > 0 {
		r.Fact("footer", "%s (median; open and read)", term.Seconds(p.Footer))
		r.Fact("read of "+mem.Bytes(p.RangeBytes).String(), "%s (median)", term.Seconds(p.Range))
	}
	if p.Problem != "" {
		r.Fact("problem", "%s", p.Problem)
	}
}
