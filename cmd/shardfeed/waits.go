package main

import (
	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/term"
	"github.com/shardfeed/shardfeed/loader"
)

// waitMeaning explains each stage's wait, in the order in which data moves.
var waitMeaning = [...][2]string{
	{"fetch", "the stream waited for bytes from storage"},
	{"decode", "the stream waited for row groups to be decoded"},
	{"room", "the stream waited for room in the shuffle buffer"},
	{"memory", "the loader waited for batches to be released"},
	{"collate", "the loader waited for workers to collate"},
	{"consumer", "the consumer waited for a batch"},
	{"device", "the consumer waited for a batch to arrive on the device"},
}

// waits are the seconds that ranks waited, by stage, all of them together.
func waits(ranks ...loader.Stats) map[string]float64 {
	w := map[string]float64{}
	for _, s := range ranks {
		w["fetch"] += s.Stream.WaitFetch.Seconds()
		w["decode"] += s.Stream.WaitDecode.Seconds()
		w["room"] += s.Stream.WaitBuffer.Seconds()
		w["memory"] += s.Memory.Get.Seconds()
		w["collate"] += s.Work.Put.Seconds()
		w["consumer"] += s.Ready.Get.Seconds()
	}
	return w
}

// reportWaits prints the seconds of the stages that there are.
func reportWaits(r *term.Report, title string, w map[string]float64) {
	r.Section(title)
	for _, stage := range waitMeaning {
		if waited, ok := w[stage[0]]; ok {
			r.Fact(stage[0], "%-9s %s", term.Seconds(waited), stage[1])
		}
	}
}
