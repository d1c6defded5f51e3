package main

import (
	"io"
	"strconv"
	"time"

	"github.com/rivo/uniseg"
	"github.com/schollz/progressbar/v3"
)

// A progress is a bar on a terminal, or nothing at all elsewhere. add is safe for concurrent use.
type progress struct{ bar *progressbar.ProgressBar }

// newProgress starts a bar of so many rows when w is a terminal.
func newProgress(w io.Writer, what string, rows int64) *progress {
	return newBar(w, what, rows, progressbar.OptionSetItsString("rows"), progressbar.OptionShowIts())
}

// newByteProgress starts a bar of so many bytes when w is a terminal.
func newByteProgress(w io.Writer, what string, bytes int64) *progress {
	return newBar(w, what, bytes, progressbar.OptionShowBytes(true))
}

// newWatch starts a bar of so much time, which is added in milliseconds, when w is a terminal.
func newWatch(w io.Writer, what string, d time.Duration) *progress {
	return newBar(w, what, d.Milliseconds())
}

func newBar(w io.Writer, what string, total int64, more ...progressbar.Option) *progress {
	if !isTerminal(w) {
		return &progress{}
	}
	fitting := barFor(columns(w), what, total)
	options := []progressbar.Option{
		progressbar.OptionSetPredictTime(fitting.times), progressbar.OptionSetElapsedTime(fitting.times),
	}
	if fitting.rate {
		options = append(options, more...)
	}
	if fitting.count && len(more) > 1 {
		options = append(options, progressbar.OptionShowCount())
	}
	return &progress{progressbar.NewOptions64(total, append(options,
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetDescription(what),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionFullWidth(),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionSetRenderBlankState(true),
	)...)}
}

// A fittingBar is what a bar shows besides its name and the part that is done.
type fittingBar struct{ rate, times, count bool }

// barFor is what fits into a line of so many columns, the most useful first.
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

func (p *progress) add(n int) {
	if p.bar != nil {
		_ = p.bar.Add(n) // a lost terminal does not stop the run
	}
}

// close clears the bar's line, so that what follows begins on a fresh one. It may be called twice.
func (p *progress) close() {
	if p.bar != nil {
		_ = p.bar.Exit()
		_ = p.bar.Clear()
		p.bar = nil
	}
}
