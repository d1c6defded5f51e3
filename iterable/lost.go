package iterable

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/iterable/internal/ahead"
	"github.com/shardfeed/shardfeed/iterable/internal/panics"
	"github.com/shardfeed/shardfeed/rowgroup"
)

// Losses choose how to treat rows whose data is lost: corrupt, gone, or changed since the shard was
// opened. Units that prove to be lost while Open counts them have no samples, except under Raise.
type Losses struct {
	OnError OnError `json:"on_error"` // "" is Raise

	// MaxLost is the share of an epoch's rows that may be lost; 0 is DefaultMaxLost, 1 allows all.
	// One place may always be lost.
	MaxLost float64 `json:"max_lost"`
}

func (o Losses) withDefaults() Losses {
	return Losses{OnError: cmp.Or(o.OnError, Raise), MaxLost: cmp.Or(o.MaxLost, DefaultMaxLost)}
}

func (o Losses) validate(p *option.List) {
	p.OneOf("OnError", string(o.OnError), string(Raise), string(Mask), string(Skip))
	switch {
	case !(o.MaxLost >= 0 && o.MaxLost <= 1):
		p.Add("MaxLost", "must be a share from 0 to 1, got %v", o.MaxLost)
	case o.MaxLost > 0 && cmp.Or(o.OnError, Raise) == Raise:
		p.Add("MaxLost", "needs {OnError} \"mask\" or \"skip\", got %v alone", o.MaxLost)
	}
}

// OnError selects how a stream treats lost rows.
type OnError string

const (
	Raise OnError = "raise" // the stream fails
	Mask  OnError = "mask"  // other rows of the draw fill their places, behind Draw.Valid
	Skip  OnError = "skip"  // their places are left out: a draw has fewer rows, maybe none
)

// DefaultMaxLost is the share of an epoch's rows that may be lost unless the options say otherwise.
const DefaultMaxLost = 0.001

// A Loss is rows that were to be read and cannot be.
type Loss struct {
	URI      string
	RowGroup int    // -1 when it is the footer, and with it the whole shard
	Lo, Hi   int64  // rows of the row group
	Column   string // "" when it is not known
	Page     int64  // byte offset of the page in the shard; -1 when it is not known
	Err      error
}

func (l Loss) String() string {
	if l.Hi-l.Lo == 1 {
		return fmt.Sprintf("row %d is lost: %v", l.Lo, l.Err)
	}
	return fmt.Sprintf("rows %d to %d are lost: %v", l.Lo, l.Hi-1, l.Err)
}

func newLoss(uri string, r rowgroup.Rows, err error) Loss {
	x := Loss{URI: uri, RowGroup: r.RowGroup, Lo: r.Lo, Hi: r.Hi, Page: -1, Err: err}
	if e := (*rowgroup.Error)(nil); errors.As(err, &e) {
		x.Column, x.Page = e.Column, e.Page
	}
	return x
}

// A LostError reports that an epoch lost more rows than Losses.MaxLost allows.
type LostError struct {
	Lost, Rows int64   // of the epoch, as far as the stream came; and all that it reads of an epoch
	Read       int64   // rows of the epoch so far, with the lost ones
	MaxLost    float64 // of Rows
	Err        error   // of the last loss
}

func (e *LostError) Error() string { return e.Spelled(option.Go) }

// Spelled is the message with options as name spells them.
func (e *LostError) Spelled(name func(field string) string) string {
	return fmt.Sprintf("%d of %d rows of the epoch are lost, more than %s=%v allows, and %d are read so far (%.2g%% of them lost); repair the data, leave out the rows that \"shardfeed verify\" lists, or raise the limit: %s",
		e.Lost, e.Rows, name("MaxLost"), e.MaxLost, e.Read, 100*float64(e.Lost)/float64(max(e.Read, e.Lost)), option.Spelled(e.Err, name))
}

func (e *LostError) Unwrap() error { return e.Err }

// losses counts what a stream lost of each epoch.
type losses struct {
	Losses
	rows int64 // that the stream reads of an epoch, about
	each int64 // of them in a step

	mu     sync.Mutex
	epochs map[uint64]lossCount
}

// A lossCount counts the losses of an epoch.
type lossCount struct {
	rows   int64
	places int
}

// lossEpochs is how many epochs count at a time. The layer above may find losses when the stream
// has come to later epochs.
const lossEpochs = 64

// stands reports whether err, of a load, is a loss, so that the stream can continue.
func (c *losses) stands(err error) bool {
	return c.OnError != Raise && rowgroup.IsLoss(err) && !panics.Is(err)
}

// lossHint is the hint of errors about lost data under Raise.
const lossHint = "repair the data, or train without such rows: {OnError=skip} leaves them out, {OnError=mask} marks them"

// Hinted returns the error that ends a stream because of err. Under Raise, an error about lost data
// gets the hint how to train without the lost rows.
func (o OnError) Hinted(err error) error {
	e, ok := err.(*rowgroup.Error)
	if !ok || o != Raise || e.Hint != "" || !rowgroup.IsLoss(err) {
		return err
	}
	hinted := *e
	hinted.Hint = lossHint
	return &hinted
}

// add counts rows and new places that were to leave in a step of an epoch, and are lost as err
// says. One place may always be lost.
func (c *losses) add(epoch uint64, step int64, rows, places int, err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.epochs == nil {
		c.epochs = map[uint64]lossCount{}
	}
	n, ok := c.epochs[epoch]
	if !ok {
		maps.DeleteFunc(c.epochs, func(e uint64, _ lossCount) bool { return e+lossEpochs <= epoch })
	}
	n.rows, n.places = n.rows+int64(rows), n.places+places
	c.epochs[epoch] = n
	if n.places > 1 && float64(n.rows) > c.MaxLost*float64(c.rows) {
		return &LostError{Lost: n.rows, Rows: c.rows, Read: min(c.rows, (step+1)*c.each), MaxLost: c.MaxLost, Err: err}
	}
	return nil
}

// A gap is a load that is lost.
type gap struct {
	err     error
	counted bool // among the places of its epoch
}

// gaps are the residents of a load that is lost, in the order of its wanted.
func gaps(l *ahead.Load) []*resident {
	out := make([]*resident, len(l.Wanted))
	g := &gap{err: l.Err}
	for i, w := range l.Wanted {
		out[i] = &resident{lost: g, rows: w.Rows}
	}
	return out
}

// miss leaves rows of a resident that is lost out of a draw, from the one that leaves as the
// seq-th.
func (s *Stream) miss(d *Draw, r *resident, seq uint32, rows int) error {
	d.Lost += rows
	for n := range rows {
		d.Hash += r.start.Hash(seq + uint32(n))
		if d.each {
			d.Gaps = append(d.Gaps, int32(len(d.Hashes)))
			d.Hashes = append(d.Hashes, d.Hash)
		}
	}
	places := 0
	if !r.lost.counted {
		r.lost.counted = true
		places = 1
	}
	return s.losses.add(uint64(d.Epoch), d.Step, rows, places, r.lost.err)
}

// Lose counts a row of a step's draw whose data the layer above found damaged, under Mask and
// Skip. A row is a place of its own. The error is a [LostError]. Any goroutine may call it.
func (s *Stream) Lose(epoch, step int64, x Loss) error {
	s.tally.add(Stats{Rows: -1, Lost: 1})
	s.dataset.tellOf(x)
	return s.losses.add(uint64(epoch), step, 1, 1, x.Err)
}

// maxKept is how many losses a data set lists.
const maxKept = 1000

// lossList is the places that streams of a data set lost, each once.
type lossList struct {
	mu  sync.Mutex
	all []Loss
}

// add reports whether the place is new.
func (k *lossList) add(x Loss) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.all) == maxKept || slices.ContainsFunc(k.all, func(y Loss) bool {
		return x.URI == y.URI && x.RowGroup == y.RowGroup && x.Lo == y.Lo && x.Hi == y.Hi
	}) {
		return false
	}
	k.all = append(k.all, x)
	return true
}

// list is a copy.
func (k *lossList) list() []Loss {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.all)
}

// Losses lists the places that the data set lost so far under Mask and Skip, in the counting pass
// and in its streams, each once, at most 1,000.
func (d *Dataset) Losses() []Loss { return d.losses.list() }
