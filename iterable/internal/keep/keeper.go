package keep

import (
	"context"
	"time"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/iterable/internal/panics"
	"github.com/shardfeed/shardfeed/rowgroup"
)

const (
	keepLeast   = 4 << 20   // memory from which a keeper is worth it
	keepMost    = 256 << 20 // and the most that it takes
	keepPending = 1 << 16   // row groups that wait for a keeper
)

// A Keeper keeps row groups that a stream has read decoded in the tier, for later epochs. It
// decodes them a second time beside the stream, from bytes that this machine holds. The stream
// never waits for it, but shares the processors with it: see governor.
type Keeper struct {
	account  *mem.Account
	governor *governor
	gains    *gains
	groups   chan Place
	inImages bool // images may hold the stream's blocks
}

// Keeper returns the keeper of a stream, or nil if there is no tier or the stream leaves too little
// memory. inImages reports whether images may hold the stream's blocks.
func (k *Keeping) Keeper(stream *mem.Account, inImages bool) *Keeper {
	if !k.kept {
		return nil
	}
	room := min((k.memory-stream.Reserved().Total())*3/4, keepMost) // the rest is for batches larger than predicted
	if room < keepLeast {
		return nil
	}
	account, err := k.budget.Reserve(k.memory, mem.Amounts{mem.Decode: room})
	if err != nil {
		return nil
	}
	return &Keeper{account: account, governor: &k.governor, gains: &k.gains, groups: make(chan Place, keepPending), inImages: inImages}
}

// Reserved returns the memory of the keeper; 0 if k is nil.
func (k *Keeper) Reserved() int64 {
	if k == nil {
		return 0
	}
	return k.account.Reserved().Total()
}

// Offer offers a row group that was decoded. The keeper drops it if too many wait; a nil Keeper
// drops all.
func (k *Keeper) Offer(p Place) {
	if k == nil {
		return
	}
	select {
	case k.groups <- p:
	default:
	}
}

// Run keeps what is offered until ctx ends, and frees the keeper's memory.
func (k *Keeper) Run(ctx context.Context) {
	defer k.account.Close()
	writers := tierWriters{}
	defer writers.close()
	seen := map[Place]bool{}
	for {
		select {
		case p := <-k.groups:
			if seen[p] || !p.Manifest.MayKeep(p.Group, 0) {
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
func (k *Keeper) keep(ctx context.Context, w tierWriters, p Place) {
	if _, ok := p.Manifest.HasImage(p.Group); ok {
		return
	}
	cols, need := k.gains.columns(p.Manifest, p.Group, k.inImages), p.Manifest.TierMemory(p.Group)
	if len(cols) == 0 || need > k.account.Reserved().Total() || !k.governor.enter(ctx, need) {
		return
	}
	began := time.Now()
	k.account.Charge(mem.Decode, need)
	image, err := w.keep(ctx, p, cols, k.account, need)
	k.governor.leave(need, time.Since(began))
	if err == nil {
		k.gains.learn(p.Manifest, image)
	}
}

// tierWriters has the writers of one goroutine.
type tierWriters map[*rowgroup.Reader]*rowgroup.TierWriter

// keep keeps columns of a row group with the manifest's writer, and makes a panic an error. The
// caller has taken bytes of the account; keep takes more if it needs them, and releases all.
func (w tierWriters) keep(ctx context.Context, p Place, cols []int, a *mem.Account, taken int64) (image rowgroup.Image, err error) {
	defer func() { a.Release(mem.Decode, taken) }()
	m := p.Manifest
	if w[m] == nil {
		w[m] = m.NewTierWriter()
	}
	g := m.Groups()[p.Group]
	defer panics.Caught(m, rowgroup.Rows{Shard: int(g.Shard), RowGroup: int(g.RowGroup)}, &err)
	w[m].Allow(taken, a.Growing(mem.Decode, &taken))
	return w[m].Keep(ctx, p.Group, cols)
}

func (w tierWriters) close() {
	for _, of := range w {
		of.Close()
	}
}
