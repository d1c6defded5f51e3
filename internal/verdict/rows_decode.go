package verdict

import (
	"fmt"

	"github.com/shardfeed/shardfeed/internal/text"
	"github.com/shardfeed/shardfeed/internal/wait"
)

// decodeRows explain the decoding of column chunks.
var decodeRows = []row{
	{
		kind: "slow node", of: is(wait.Decode, wait.Collate),
		when: func(s *scene) bool {
			return s.apart() && s.busy() && s.compared(busyShare) && s.elsewhere(busyShare) < 0.85
		},
		found: func(s *scene) string {
			return fmt.Sprintf("%s, elsewhere %s", processors(s), percent(s.elsewhere(busyShare)))
		},
		cure: func(s *scene) string { return "check what else runs on " + s.node.Host },
	},
	{
		kind: "decode-bound", of: is(wait.Decode),
		when:  func(s *scene) bool { return s.node.Machine.Processors > 0 && s.node.Decoded.Limit <= 0 },
		found: processors,
		cure: func(s *scene) string {
			limit := ""
			if n := s.node.Decoded.Needed; n > 0 {
				limit = fmt.Sprintf("=%q", option(n))
			}
			return "keep row groups decoded on the disk with decoded_limit" + limit + orProcessors(s)
		},
	},
	{
		kind: "small decoded cache", of: is(wait.Decode),
		when:  func(s *scene) bool { return s.node.Decoded.Needed > s.node.Decoded.Limit },
		found: processors,
		cure: func(s *scene) string {
			d := s.node.Decoded
			return fmt.Sprintf("decoded_limit=%q would keep all row groups decoded, the limit is %s", option(d.Needed), size(d.Limit)) + orProcessors(s)
		},
	},
	{
		kind: "cold decoded cache", of: is(wait.Decode),
		when:  func(s *scene) bool { return s.First && s.node.Decoded.Limit > 0 },
		found: processors,
		cure: func(s *scene) string {
			return "this epoch keeps row groups decoded, and later ones copy rows only; shardfeed warm --decoded does so before a run" + orProcessors(s)
		},
	},
	{
		kind: "few processors", of: is(wait.Decode, wait.Collate),
		when: (*scene).busy, found: processors,
		cure: says("give the engine more processors, or read fewer columns"),
	},
	{
		kind: "slow decoding", of: is(wait.Decode), found: processors,
		cure: says("read fewer columns, or write smaller row groups: shardfeed inspect advises"),
	},
}

func busyShare(s *scene) float64 { return s.node.Machine.Busy }

// orProcessors adds the other way out of a decode-bound run.
func orProcessors(s *scene) string {
	if !s.busy() {
		return ""
	}
	return ", or give the engine more processors"
}

// processors shows how busy the engine's processors are: "4 processors, 97.0 % busy".
func processors(s *scene) string {
	m := s.node.Machine
	if m.Processors <= 0 {
		return ""
	}
	return fmt.Sprintf("%s, %s busy", text.Plural(m.Processors, "processor"), percent(m.Busy))
}

// batchRows explain the making of batches. Saturated processors are in decodeRows.
var batchRows = []row{
	{
		kind: "slow images", of: is(wait.Collate),
		when:  func(s *scene) bool { return s.Batch.Images },
		found: func(s *scene) string { return list("images are decoded", processors(s)) },
		cure:  says("store images at the size that training uses, decode JPEG with libjpeg-turbo, or raise collate_workers"),
	},
	{
		kind: "slow collate", of: is(wait.Collate), found: batchSize,
		cure: says("raise collate_workers, read fewer columns, or pad to shorter lists"),
	},
}

// batchSize shows a batch: "256 rows, 1.5 MiB".
func batchSize(s *scene) string {
	var rows, bytes string
	if s.Batch.Rows > 0 {
		rows = "batches of " + text.Plural(s.Batch.Rows, "row")
	}
	if s.Batch.Bytes > 0 {
		bytes = size(s.Batch.Bytes)
	}
	return list(rows, bytes)
}

// copyTime shows how long a copy to the device holds up a step.
func copyTime(s *scene) string {
	return list(batchSize(s), seconds(s.perStep(wait.Copy))+" a step")
}
