package term

import (
	"io"
	"strconv"
	"time"

	"github.com/rivo/uniseg"
	"github.com/schollz/progressbar/v3"
)

// A Progress is a bar on a terminal, or nothing at all elsewhere. Add is safe for concurrent use.
type Progress struct{ bar *progressbar.ProgressBar }

// NewProgress starts a bar of the given number of rows if w is a terminal.
func NewProgress(w io.Writer, what string, rows int64) *Progress {
	return newBar(w, what, rows, progressbar.OptionSetItsString("rows"), progressbar.OptionShowIts())
}

// NewByteProgress starts a bar of the given number of bytes if w is a terminal.
func NewByteProgress(w io.Writer, what string, bytes int64) *Progress {
	return newBar(w, what, bytes, progressbar.OptionShowBytes(true))
}

// NewWatch starts a bar of a duration, which is added in milliseconds, if w is a terminal.
func NewWatch(w io.Writer, what string, d time.Duration) *Progress {
	return newBar(w, what, d.Milliseconds())
}

// newCounts starts a bar of total things if w is a terminal; -1 is an unknown total.
func newCounts(w io.Writer, what string, total int64) *Progress {
	return newBar(w, what, total, progressbar.OptionShowCount())
}

func newBar(w io.Writer, what string, total int64, more ...progressbar.Option) *Progress {
	if !IsTerminal(w) {
		return &Progress{}
	}
	fitting := barFor(Columns(w), what, total)
	options := []progressbar.Option{
		progressbar.OptionSetPredictTime(fitting.times), progressbar.OptionSetElapsedTime(fitting.times),
	}
	if fitting.rate {
		options = append(options, more...)
	}
	if fitting.count && len(more) > 1 {
		options = append(options, progressbar.OptionShowCount())
	}
	return &Progress{progressbar.NewOptions64(total, append(options,
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetDescription(what),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionFullWidth(),
		progressbar.OptionSetSpinnerChangeInterval(0), // which would start a goroutine
		progressbar.OptionClearOnFinish(),
		progressbar.OptionSetRenderBlankState(true),
	)...)}
}

// A fittingBar has the parts of a bar besides its name and what is done.
type fittingBar struct{ rate, times, count bool }

// barFor returns the parts that fit into a line of the given columns, the most useful first.
func barFor(columns int, what string, total int64) fittingBar {
	const (
		frame = 12 // the percentage, brackets and spaces
		rate  = 18 // as in (1234567 rows/s)
		times = 24 // as in [10h10m10s:10h10m10s]
	)
	left := columns - uniseg.StringWidth(what) - frame - rate
	count := 2*len(strconv.FormatInt(total, 10)) + 3
	return fittingBar{rate: left >= 0, times: left >= times, count: left >= times+count}
}

func (p *Progress) Add(n int) {
	if p.bar != nil {
		_ = p.bar.Add(n) // a lost terminal does not stop the run
	}
}

func (p *Progress) set(n int64) {
	if p.bar != nil {
		_ = p.bar.Set64(n)
		_ = p.bar.RenderBlank() // Set64 draws no change that is small or follows another closely
	}
}

// Close clears the bar's line, for what follows. It may be called twice.
func (p *Progress) Close() {
	if p.bar != nil {
		_ = p.bar.Exit()
		_ = p.bar.Clear()
		p.bar = nil
	}
}
