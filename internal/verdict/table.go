package verdict

import (
	"fmt"
	"slices"

	"github.com/shardfeed/shardfeed/internal/wait"
)

// A row of the table explains one kind of wait. found and cure may be nil.
type row struct {
	kind  string
	of    []wait.Cause      // the causes that it explains
	when  func(*scene) bool // nil: always
	found func(*scene) string
	cure  func(*scene) string
}

// row returns the first row of the table that applies. The last rows of each cause always do.
func (s *scene) row() row {
	if s.fed() {
		return fed
	}
	i := slices.IndexFunc(table, func(r row) bool {
		return slices.Contains(r.of, s.cause) && (r.when == nil || r.when(s))
	})
	return table[i]
}

func (s *scene) text(part func(*scene) string) string {
	if part == nil {
		return ""
	}
	return part(s)
}

// table has the more telling of two rows of a cause first.
var table = slices.Concat(openingRows, storageRows, cacheRows, decodeRows, memoryRows, batchRows, trainerRows)

func is(causes ...wait.Cause) []wait.Cause { return causes }

// fed is the row of training that hardly waits.
var fed = row{
	kind: Trainer,
	found: func(s *scene) string {
		if start := s.ranks.wait.Sum() - s.ranks.settled.Sum(); start.Seconds() >= little*s.ranks.loop.Seconds() {
			return fmt.Sprintf("%s of it before the first batch, and since then batches are ready", seconds(s.ranks.mean(start)))
		}
		return "batches are ready before the training loop asks for them"
	},
	cure: says("nothing to do here: the step itself takes the time"),
}

func says(text string) func(*scene) string { return func(*scene) string { return text } }

// openingRows explain what happens once, before the first batch.
var openingRows = []row{
	{
		kind: "counting", of: is(wait.Count),
		cure: says("later runs find the counts in index_dir, and a plan of shardfeed plan --save has them"),
	},
	{
		kind: "listing", of: is(wait.List),
		cure: says("later runs find the footers in index_dir; opening=\"first\" lists once for all nodes, and a saved manifest lists nothing"),
	},
	{
		kind: "opening", of: is(wait.Open),
		cure: says("keep the data set or loader from epoch to epoch, so that it opens once"),
	},
}

// memoryRows explain too little memory.
var memoryRows = []row{
	{
		kind: "small memory", of: is(wait.Room), found: bufferShare,
		cure: func(s *scene) string {
			if m := s.node.Memory; m.Limit > 0 {
				return fmt.Sprintf("raise memory from %s for each node, or lower shuffle_buffer", size(m.Limit))
			}
			return "raise memory, or lower shuffle_buffer"
		},
	},
	{
		kind: "held batches", of: is(wait.Memory),
		found: func(s *scene) string {
			if s.Batch.Bytes > 0 {
				return "training holds all batches, of " + size(s.Batch.Bytes) + " each"
			}
			return "training holds all batches"
		},
		cure: says("drop batches after their step, or copy what is kept; or raise memory and slots"),
	},
}

// bufferShare shows what the shuffle buffer takes of the memory.
func bufferShare(s *scene) string {
	m := s.node.Memory
	if m.Limit <= 0 || m.Buffer <= 0 {
		return ""
	}
	return fmt.Sprintf("the buffer has %s of %s of memory", size(m.Buffer), size(m.Limit))
}

// trainerRows explain what happens in the trainer's process.
var trainerRows = []row{
	{
		kind: "slow map", of: is(wait.Map),
		when: func(s *scene) bool { return s.Map.Workers == 0 },
		found: func(s *scene) string {
			return fmt.Sprintf("the functions take %s of each step in the training loop", seconds(s.perStep(wait.Map)))
		},
		cure: func(s *scene) string {
			k := min(workersFor(s.perStep(wait.Map), s.stepTime()), max(1, s.node.Machine.Processors))
			return fmt.Sprintf("run them beside the step with threads=%d or num_workers=%d, or let the engine do it, as with cast, pad and images", k, k)
		},
	},
	{
		kind: "few workers", of: is(wait.Map),
		found: func(s *scene) string {
			return fmt.Sprintf("%d workers or threads", s.Map.Workers)
		},
		cure: func(s *scene) string {
			if s.busy() {
				return "the processors are in use: make the functions cheaper, or let the engine do it, as with cast, pad and images"
			}
			return fmt.Sprintf("give %d workers or threads, or let the engine do it, as with cast, pad and images", more(s))
		},
	},
	{
		kind: "small batches", of: is(wait.HandOver), when: tiny, found: batchSize,
		cure: says("raise batch_size: handing over a batch costs the same for any size"),
	},
	{
		kind: "busy machine", of: is(wait.HandOver), when: (*scene).busy, found: processors,
		cure: says("leave the training loop a processor: use fewer workers, or fewer threads of torch"),
	},
	{
		kind: "slow hand-over", of: is(wait.HandOver), found: batchSize,
		cure: says("other threads of the training process hold it up; batch_size and columns have little effect"),
	},
	{
		kind: "slow copy", of: is(wait.Copy), found: copyTime,
		cure: func(s *scene) string {
			pin := ""
			if !s.Pinned {
				pin = "set pin_memory=True, "
			}
			return pin + "raise prefetch, or copy fewer bytes: fewer columns, or smaller types with cast"
		},
	},
}

// tiny reports whether batches are so small that handing them over is most of their cost.
func tiny(s *scene) bool {
	return s.Batch.Bytes > 0 && s.Batch.Bytes < 256<<10 || s.Batch.Rows > 0 && s.Batch.Rows < 16 && s.Batch.Bytes < 1<<20
}

// workersFor is how many workers keep up with a step.
func workersFor(function, step float64) int {
	if step <= 0 {
		return mostWorkers
	}
	return int(min(mostWorkers, max(1, function/step+1)))
}

// mostWorkers bounds the workers that a cure names.
const mostWorkers = 16

// more is how many workers would have kept up: the present ones, and the part that was missing. It
// is at most twice as many, or mostWorkers.
func more(s *scene) int {
	loop, missing, most := s.ranks.settledLoop.Seconds(), s.ranks.settled[wait.Map].Seconds(), max(mostWorkers, 2*s.Map.Workers)
	if loop <= missing {
		return 2 * s.Map.Workers
	}
	return max(s.Map.Workers+1, int(min(float64(most), float64(s.Map.Workers)*loop/(loop-missing)+1)))
}
