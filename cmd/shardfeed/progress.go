package main

import (
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// A progress is a bar on a terminal, or nothing at all elsewhere. add is safe for concurrent use.
type progress struct{ bar *progressbar.ProgressBar }

// newProgress starts a bar of so many rows when w is a terminal.
func newProgress(w io.Writer, what string, rows int64) *progress {
	return newBar(w, what, rows, progressbar.OptionSetItsString("rows"), progressbar.OptionShowIts(), progressbar.OptionShowCount())
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
	return &progress{progressbar.NewOptions64(total, append(more,
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetDescription(what),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionFullWidth(),
		progressbar.OptionClearOnFinish(),
		progressbar.OptionSetRenderBlankState(true),
	)...)}
}

// add counts n rows more.
func (p *progress) add(n int) {
	if p.bar != nil {
		_ = p.bar.Add(n) // a terminal that is gone is no reason to stop
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

func isTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
