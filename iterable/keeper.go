package iterable

import (
	"context"
	"time"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/rowgroup"
)

const (
	keepLeast   = 4 << 20   // memory from which a keeper is worth it
	keepMost    = 256 << 20 // and the most that it takes
	keepPending = 1 << 16   // row groups that wait for a keeper
)

// A keeper keeps row groups that a stream has read decoded in the tier, for later epochs. It
// decodes them a second time beside the stream, from bytes that this machine holds. The stream
// never waits for it, but shares the processors with it: see governor.
type keeper struct {
	account  *mem.Account
	governor *governor
	gains    *gains
	groups   chan place
	inImages bool // blocks of the stream may lie in images
}

// A place is a row group.
type place struct {
	manifest *rowgroup.Manifest
	group    int
}

// newKeeper returns the keeper of a stream whose data set has a tier; nil where the stream's memory
// leaves no room for one.
func (d *Dataset) newKeeper(stream *mem.Account, inImages bool) *keeper {
	if d.options.Tier == nil {
		return nil
	}
	room := min((d.memory-stream.Reserved().Total())*3/4, keepMost) // the rest is for batches larger than foretold
	if room < keepLeast {
		return nil
	}
	account, err := d.budget.Reserve(d.memory, mem.Amounts{mem.Decode: room})
	if err != nil {
		return nil
	}
	return &keeper{account: account, governor: &d.governor, gains: &d.gains, groups: make(chan place, keepPending), inImages: inImages}
}

// offer tells of a row group that was decoded. It may be dropped.
func (k *keeper) offer(p place) {
	if k == nil {
		return
	}
	select {
	case k.groups <- p:
	default:
	}
}

// run keeps what is offered until ctx ends. It ends the account.
func (k *keeper) run(ctx context.Context) {
	defer k.account.Close()
	writers := tierWriters{}
	defer writers.close()
	seen := map[place]bool{}
	for {
		select {
		case p := <-k.groups:
			if seen[p] || !p.manifest.MayKeep(p.group, 0) {
				continue
			}
			seen[p] = true
			k.keep(ctx, writers, p)
		case <-ctx.Done():
			return
		}
	}
}

// keep keeps the columns of a row group that are worth it, if they fit the memory.
func (k *keeper) keep(ctx context.Context, w tierWriters, p place) {
	if _, ok := p.manifest.HasImage(p.group); ok {
		return
	}
	cols, need := k.gains.columns(p.manifest, p.group, k.inImages), p.manifest.TierMemory(p.group)
	if len(cols) == 0 || need > k.account.Reserved().Total() || !k.governor.enter(ctx, need) {
		return
	}
	began := time.Now()
	k.account.Charge(mem.Decode, need)
	image, err := w.keep(ctx, p, cols, k.account, need)
	k.governor.leave(need, time.Since(began))
	if err == nil {
		k.gains.learn(p.manifest, image)
	}
}

// tierWriters are the writers of one goroutine.
type tierWriters map[*rowgroup.Manifest]*rowgroup.TierWriter

// keep keeps columns of a row group with the manifest's writer, and makes a panic an error. It has
// taken bytes of the account, takes more if need be, and releases all.
func (w tierWriters) keep(ctx context.Context, p place, cols []int, a *mem.Account, taken int64) (image rowgroup.Image, err error) {
	defer func() { a.Release(mem.Decode, taken) }()
	m := p.manifest
	if w[m] == nil {
		w[m] = m.NewTierWriter()
	}
	g := m.Groups()[p.group]
	defer caught(m, rowgroup.Rows{Shard: int(g.Shard), RowGroup: int(g.RowGroup)}, &err)
	w[m].Allow(taken, growing(a, &taken))
	return w[m].Keep(ctx, p.group, cols)
}

func (w tierWriters) close() {
	for _, of := range w {
		of.Close()
	}
}
