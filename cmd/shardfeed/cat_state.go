package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/pflag"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/shuffle"
)

func readState(name string) (*shuffle.State, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, fileError(err)
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, maxStateFile+1)) // it may be a shard of any size
	if err != nil {
		return nil, fileError(err)
	}
	state, err := shuffle.ParseState(content)
	if err != nil {
		return nil, fmt.Errorf("%s: not a state of shardfeed: %w", name, err)
	}
	return &state, nil
}

// fileError says which file could not be used, and why, as the errors of shards do.
func fileError(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return fmt.Errorf("%s: %w", path.Path, path.Err)
	case errors.As(err, &link):
		return fmt.Errorf("%s: %w", link.New, link.Err)
	}
	return err
}

// adopt takes the order from the state, and refuses flags that contradict it.
func (c *catCommand) adopt(fs *pflag.FlagSet, s *shuffle.State) error {
	differs := func(name string, given, saved any) error {
		if fs.Changed(name) && given != saved {
			return usagef("--%s %v contradicts the state in %s, where it is %v", name, given, c.stateFile, saved)
		}
		return nil
	}
	errs := []error{
		differs("shuffle", c.shuffle, s.Shuffle),
		differs("seed", c.seed, s.Seed),
		differs("epoch", uint64(c.epoch), s.Epoch),
	}
	if s.MixState != nil {
		errs = append(errs, differs("lanes", c.lanes, s.Lanes))
	}
	if s.Params != nil {
		errs = append(errs,
			differs("lanes", c.lanes, s.Params.Lanes),
			differs("unit-rows", c.unitRows, s.Params.UnitRows),
			differs("start", c.start, string(s.Params.Start)),
		)
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	c.shuffle, c.seed, c.epoch, c.state, c.resumed = s.Shuffle, s.Seed, int(s.Epoch), s, true
	return nil
}

// contradicts refuses a shuffle buffer that differs from the state's. Its rows are known only with
// the data at hand.
func (c *catCommand) contradicts(fs *pflag.FlagSet, ds *iterable.Dataset) error {
	if c.state == nil || c.state.Params == nil || !fs.Changed("shuffle-buffer") {
		return nil
	}
	var bytes int64
	for _, g := range ds.Manifest().Groups() {
		bytes += g.Bytes
	}
	bytes = mem.MulDiv(bytes, ds.NumSamples(), max(1, ds.NumRows())) // as of a table of these rows alone
	rows := shuffle.BufferSize{Rows: c.shuffleBuffer.rows, Bytes: c.shuffleBuffer.bytes}.Resolve(ds.NumSamples(), bytes)
	if rows != c.state.Params.Buffer {
		return usagef("--shuffle-buffer %v (%d rows) contradicts the state in %s, where it is %d rows",
			&c.shuffleBuffer, rows, c.stateFile, c.state.Params.Buffer)
	}
	return nil
}
