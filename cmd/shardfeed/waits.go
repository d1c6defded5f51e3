package main

import (
	"time"

	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/term"
	"github.com/shardfeed/shardfeed/internal/wait"
	"github.com/shardfeed/shardfeed/loader"
)

// waitMeaning explains each cause of a wait.
var waitMeaning = [wait.Causes]string{
	wait.Open:     "the data set was being opened",
	wait.List:     "shards were listed and footers read",
	wait.Count:    "rows or tokens were counted",
	wait.Storage:  "bytes from a store",
	wait.Cache:    "bytes from the cache on the local disk",
	wait.Decode:   "row groups were decoded",
	wait.Room:     "room in the shuffle buffer",
	wait.Memory:   "batches to be released",
	wait.Collate:  "rows were gathered, images decoded",
	wait.Map:      "functions of the trainer",
	wait.HandOver: "the finished batch was on its way",
	wait.Copy:     "the copy to the device",
}

// waitOf is the wait of the loop over loaders' batches.
func waitOf(of float64, all ...loader.Stats) wait.Report {
	var parts wait.Parts
	for _, s := range all {
		for i, d := range s.Wait {
			parts[i] += d
		}
	}
	return wait.ReportOf(&parts, of)
}

// deviceWait is the wait of a loop over batches on a device: for copies, and for batches on the
// host by the loader's causes.
func deviceWait(host wait.Report, feed, copies time.Duration) wait.Report {
	var parts wait.Parts
	for name, s := range host.Parts {
		if c, ok := wait.CauseOf(name); ok {
			parts[c] = time.Duration(s / host.Seconds * float64(feed))
		}
	}
	parts[wait.Copy] += copies
	return wait.ReportOf(&parts, host.Of)
}

// reportWait prints the wait of a loop and its parts.
func reportWait(r *term.Report, title string, w wait.Report) {
	r.Section(title)
	share := 0.0
	if w.Of > 0 {
		share = 100 * w.Seconds / w.Of
	}
	r.Fact("for batches", "%s, %.1f %% of %s", term.Seconds(w.Seconds), share, term.Seconds(w.Of))
	for c := range wait.Cause(wait.Causes) {
		if s, ok := w.Parts[c.String()]; ok {
			r.Fact(c.String(), "%-9s %s", term.Seconds(s), waitMeaning[c])
		}
	}
}
