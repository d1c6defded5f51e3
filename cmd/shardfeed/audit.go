package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/checkpoints"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/shardfeed/shardfeed/audit"
	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/term"
	"github.com/shardfeed/shardfeed/internal/text"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/shuffle"
)

// An auditCommand is one run of audit.
type auditCommand struct {
	*app
	flags
	files []string // of --state: names or patterns
	key   string   // of the state in each file

	states []checkpoints.State
	order  *iterable.Audit // of run
	run    string          // the JSON of a state without its position
}

func (a *app) audit() *cobra.Command {
	v := &auditCommand{app: a}
	c := &cobra.Command{
		Use:   "audit [flags] --state FILE... ADDRESS...",
		Short: "Prove from saved states that each row came exactly once",
		Long: `audit compares what the ranks of a run got, as their saved states record it, with what the order
says, and prints a line for each epoch: each row came exactly once so far, or what differs. It reads
footers and the states, no rows; filters are counted first, if no earlier run did. Steps whose
states are missing are listed as not seen. It exits with 0 if nothing differs.

A state is the JSON of state_dict(), alone in a file or at any depth of a larger object. Give the
states of all ranks; those of one step are a checkpoint, and there may be several. States bring
their order with them; the flags of rows, sources, packs and buckets must be those of the run.`,
		Example: `  shardfeed audit data/ --state rank-0.json --state rank-1.json
  shardfeed audit data/ --state 'checkpoints/*/rank-*.json' --json
  shardfeed audit data/ --where 'score >= 0.5' --state step-9000.json --key loaders.train`,
	}
	fs := c.Flags()
	fs.StringArrayVar(&v.files, "state", nil, "`file` with saved states, or a pattern in quotes, as in 'step-900/rank-*.json'; may be repeated")
	fs.StringVar(&v.key, "key", "", "use the states at this dotted `path` in each file, as in loaders.train (default: all)")
	v.add(fs, "json", "what", "rows", "sources", "tokenize", "pack", "bucket", "order.plan", "losses")
	v.looks(fs)
	v.add(fs, "storage", "cache")
	return a.verb(c, func(ctx context.Context, addresses []string) error {
		if err := v.prepare(ctx, fs, addresses); err != nil {
			return err
		}
		return v.compare(ctx, addresses)
	})
}

// prepare reads the states and checks the flags.
func (c *auditCommand) prepare(ctx context.Context, fs *pflag.FlagSet, addresses []string) error {
	if len(c.files) == 0 || slices.Contains(c.files, "") {
		return usagef("audit needs saved states: name the file of each rank with --state")
	}
	for _, address := range addresses {
		if strings.HasSuffix(address, ".json") && checkpoints.IsFile(address) {
			return usagef("%s is a file of JSON, not of rows: put --state before each state, or a pattern in quotes behind it", address)
		}
	}
	var err error
	if c.states, err = checkpoints.Read(c.files, c.key); errors.Is(err, filepath.ErrBadPattern) {
		return usagef("%v", err)
	} else if err != nil {
		return err
	}
	c.adopt(c.states[0].State)
	return c.check(ctx, fs)
}

// adopt takes from a state what opening the data needs.
func (c *auditCommand) adopt(s shuffle.State) {
	c.Shuffle, c.Seed, c.Now, c.resumed = s.Shuffle, s.Seed, s.Now, true
	if len(c.Sources) == 0 && c.EpochSize == 0 {
		c.EpochSize = s.EpochSize()
	}
	if s.MixState != nil && s.Batching == shuffle.PerSource {
		c.Batching, c.BatchSize = s.Batching, int(s.GlobalBatch)
	}
}

// compare prints the verdict on each epoch.
func (c *auditCommand) compare(ctx context.Context, addresses []string) (err error) {
	ds, err := c.open(ctx, addresses, &c.flags)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ds.Close(ctx)) }()
	var all []audit.Report
	for _, p := range checkpoints.Of(c.states) {
		reports, err := c.reports(ds.Dataset, p)
		if err != nil {
			return err
		}
		all = append(all, reports...)
	}
	proof := newProof(len(c.states), all, c.noun())
	return errors.Join(c.print(&c.flags, proof, proof.report()), proof.verdict())
}

// noun returns the name of samples in texts.
func (c *auditCommand) noun() string {
	switch {
	case len(c.Pack.Columns) > 0:
		return "blocks"
	case len(c.Bucket.Columns) > 0:
		return "batches"
	}
	return "rows"
}

// reports returns the verdicts on the epochs that the states of a checkpoint know.
func (c *auditCommand) reports(ds *iterable.Dataset, p checkpoints.Checkpoint) (all []audit.Report, err error) {
	order, err := c.orderOf(ds, p.States[0])
	if err != nil {
		return nil, err
	}
	records := p.Records()
	for _, number := range p.Epochs(records) {
		e := p.Epoch(number, records)
		e.Due = func(from, to int64) (uint64, error) { return order.Due(number, from, to), nil }
		r, err := audit.Check(e, records)
		if err != nil {
			return nil, err
		}
		r.Unseen = append(r.Unseen, p.Left(e)...)
		all = append(all, r)
	}
	if last := len(all) - 1; p.Fault != "" && last >= 0 {
		all[last].Faults = append([]string{p.Fault}, all[last].Faults...)
	}
	return all, nil
}

// orderOf returns the order of a state. Only the position differs between the states of a run,
// unless sources get other weights.
func (c *auditCommand) orderOf(ds *iterable.Dataset, s checkpoints.State) (*iterable.Audit, error) {
	state := s.State
	state.Epoch, state.Position = 0, 0
	if run := string(state.JSON()); c.order == nil || c.run != run {
		order, err := ds.Audit(state)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name, err)
		}
		c.order, c.run = order, run
	}
	return c.order, nil
}

// A proof is the JSON output of audit.
type proof struct {
	Proved bool         `json:"proved"` // of all epochs, as far as the states go
	States int          `json:"states"`
	Epochs []epochProof `json:"epochs"`
}

// An epochProof is the verdict on an epoch.
type epochProof struct {
	Epoch   uint64   `json:"epoch"`
	Proved  bool     `json:"proved"`     // each row so far came exactly once or is lost, and all ranks were seen
	Rows    int64    `json:"rows"`       // of the steps that all ranks were seen of
	Of      int64    `json:"epoch_rows"` // of the whole epoch
	Lost    int64    `json:"lost"`
	Padded  int64    `json:"padded"`
	Worlds  []int    `json:"worlds"`   // numbers of ranks, in the order of their steps
	Faults  []string `json:"faults"`   // null: each row so far came once
	NotSeen []string `json:"not_seen"` // positions without a verdict
	Text    string   `json:"text"`     // the line
}

// newProof chooses the reports to show of each epoch: those with faults, else one that saw most.
func newProof(states int, reports []audit.Report, noun string) *proof {
	p := &proof{Proved: true, States: states}
	for _, r := range checkpoints.Shown(reports) {
		e := epochProof{
			Epoch: r.Epoch, Proved: r.Proved(), Rows: r.Rows, Of: r.Of, Lost: r.Lost, Padded: r.Padded, Worlds: r.Worlds, Faults: r.Faults, Text: r.Text(noun),
		}
		for _, u := range r.Unseen {
			e.NotSeen = append(e.NotSeen, u.String())
		}
		p.Proved = p.Proved && e.Proved
		p.Epochs = append(p.Epochs, e)
	}
	return p
}

func (p *proof) report() *term.Report {
	r := &term.Report{}
	for _, e := range p.Epochs {
		r.Line(e.Text)
	}
	return r
}

// verdict is an error if something differs.
func (p *proof) verdict() error {
	faults := int64(0)
	for _, e := range p.Epochs {
		faults += int64(len(e.Faults))
	}
	if faults == 0 {
		return nil
	}
	return fmt.Errorf("%s in the audit: see above", text.Plural(faults, "fault"))
}
