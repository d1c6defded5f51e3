package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/internal/regular"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/shuffle"
)

func readState(name string) (*shuffle.State, error) {
	file, err := regular.Open(name)
	if err != nil {
		return nil, regular.Error(err)
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxStateFile+1)) // it may be a shard of any size
	if err != nil {
		return nil, regular.Error(err)
	}
	state, err := shuffle.ParseState(content)
	if err != nil {
		return nil, fmt.Errorf("%s: not a state that this version can go on from: %w", name, err)
	}
	return &state, nil
}

// adopt takes from the state what opening the data needs, and refuses flags that contradict it.
func (c *catCommand) adopt(fs *pflag.FlagSet, s *shuffle.State) error {
	differs := func(name string, given, saved any) error {
		if fs.Changed(name) && given != saved {
			return usagef("--%s %v contradicts the state in %s, which has %v", name, given, c.stateFile, saved)
		}
		return nil
	}
	errs := []error{
		differs("shuffle", c.Shuffle, s.Shuffle),
		differs("seed", c.Seed, s.Seed),
		differs("epoch", uint64(c.epoch), s.Epoch),
	}
	if s.MixState != nil {
		errs = append(errs, differs("batching", c.Batching, s.Batching))
		if s.Batching == shuffle.PerSource {
			size := s.GlobalBatch / int64(max(1, c.worldSize))
			errs = append(errs, c.checkSteps(s.GlobalBatch), differs("batch-size", c.BatchSize, int(size)))
			c.BatchSize, c.perSource, c.Batching = int(size), true, s.Batching
		}
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	if len(c.Sources) == 0 && !fs.Changed("epoch-size") {
		c.EpochSize = s.EpochSize()
	}
	c.Shuffle, c.Seed, c.epoch, c.state, c.resumed = s.Shuffle, s.Seed, int(s.Epoch), s, true
	c.Now = s.Now
	return nil
}

// checkSteps refuses ranks between which steps of one source do not divide evenly.
func (c *catCommand) checkSteps(rows int64) error {
	if n := int64(max(1, c.worldSize)); rows%n != 0 {
		return usagef("--state %s is of steps of %d rows of one source each, and they must divide evenly between ranks: "+
			"set --world-size to a divisor of %d, got %d", c.stateFile, rows, rows, n)
	}
	return nil
}

// checkBatching checks the flags of steps of one source each.
func (c *catCommand) checkBatching(fs *pflag.FlagSet) error {
	c.perSource = c.perSource || c.Batching == shuffle.PerSource
	switch {
	case !c.perSource && fs.Changed("batch-size"):
		return usagef("--batch-size only matters under --batching per_source, which makes each step of one source: leave it out")
	case c.perSource && c.state == nil && !fs.Changed("batch-size"):
		return usagef("--batching per_source makes each step of one source: set --batch-size to the rows of a step on each rank")
	case c.perSource && c.saveState != "":
		return usagef("--save-state is the state after any row, and under --batching per_source states are between steps: leave one of the two out")
	}
	return nil
}

// contradicts refuses flags that differ from the state, which fits the data. A shuffle buffer per
// rank or node follows from the world size at the start, which a state does not have: the state's
// buffer stays.
func (c *catCommand) contradicts(fs *pflag.FlagSet, ds *iterable.Dataset) error {
	if c.state == nil {
		return nil
	}
	if strings.Contains(c.ShuffleBuffer, "/") && c.state.Shuffle {
		c.app.note("--shuffle-buffer %v counts at the start of a run: the buffer stays that of the state in %s, %d rows", c.ShuffleBuffer, c.stateFile, c.state.KeptBuffer())
	}
	for _, differs := range ds.Contradictions(*c.state) {
		flag := fs.Lookup(strings.TrimPrefix(option.Flag(differs.Field), "--"))
		if flag == nil || !flag.Changed {
			continue
		}
		given := flag.Value.String()
		if given != differs.Here {
			given += " (" + differs.Here + ")"
		}
		return usagef("--%s %s contradicts the state in %s, which has %s", flag.Name, given, c.stateFile, differs.Saved)
	}
	return nil
}
