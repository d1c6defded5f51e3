package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/shuffle"
)

// readState reads a state's file.
func readState(name string) (*shuffle.State, error) {
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, fileError(err)
	}
	state, err := shuffle.ParseState(content)
	if err != nil {
		return nil, fmt.Errorf("%s: is no state of shardfeed: %w", name, err)
	}
	return &state, nil
}

// stateTarget is where a state that is to be saved under the name is written: behind links, and in a directory that exists. It is asked before
// the first row, so that a long run does not find out at its end.
func stateTarget(name string) (string, error) {
	target, err := filepath.EvalSymlinks(name)
	switch info, statErr := os.Stat(name); {
	case statErr == nil && info.IsDir():
		return "", fmt.Errorf("%s: %w", name, syscall.EISDIR)
	case statErr == nil && !info.Mode().IsRegular(): // a pipe or a device: EvalSymlinks may not know the way
		return name, nil
	case err == nil:
		return target, nil
	}
	if _, err := os.Stat(filepath.Dir(name)); err != nil {
		return "", fmt.Errorf("%s: %w", name, errors.Unwrap(err))
	}
	return name, nil
}

// writeState writes a state's file as a whole: whoever reads it sees the old one or the new one. A pipe or a device is written to.
func writeState(name string, state shuffle.State) (err error) {
	target, err := stateTarget(name)
	if err != nil {
		return err
	}
	content := append(state.JSON(), '\n')
	if info, err := os.Stat(target); err == nil && !info.Mode().IsRegular() {
		return fileError(os.WriteFile(target, content, 0))
	}
	file, err := os.CreateTemp(filepath.Dir(target), "."+filepath.Base(target)+"-*")
	if err != nil {
		return fileError(&fs.PathError{Path: name, Err: errors.Unwrap(err)})
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name()) // it is in nobody's way; the first error counts
			err = fileError(err)
		}
	}()
	_, err = file.Write(content)
	if err == nil {
		err = file.Chmod(0o644)
	}
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), target)
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

// adopt lets the state say the order, and refuses flags that say another.
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
	c.shuffle, c.seed, c.epoch, c.state = s.Shuffle, s.Seed, int(s.Epoch), s
	return nil
}

// contradicts refuses a shuffle buffer that is not the state's: in rows it can be told only with the data at hand.
func (c *catCommand) contradicts(fs *pflag.FlagSet, ds *iterable.Dataset) error {
	if c.state == nil || c.state.Params == nil || !fs.Changed("shuffle-buffer") {
		return nil
	}
	var bytes int64
	for _, g := range ds.Manifest().Groups() {
		bytes += g.Bytes
	}
	rows := shuffle.BufferSize{Rows: c.shuffleBuffer.rows, Bytes: c.shuffleBuffer.bytes}.Resolve(ds.NumRows(), bytes)
	if rows != c.state.Params.Buffer {
		return usagef("--shuffle-buffer %v (%d rows) contradicts the state in %s, where it is %d rows",
			&c.shuffleBuffer, rows, c.stateFile, c.state.Params.Buffer)
	}
	return nil
}
