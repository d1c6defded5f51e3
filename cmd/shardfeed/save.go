package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/shardfeed/shardfeed/internal/regular"

	"golang.org/x/sys/unix"

	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shuffle"
)

// A saveFile is a file that a flag names and that the command writes. What it would replace must be
// of the same kind: a mistyped name never costs other data.
type saveFile struct {
	flag string // --save-state
	name string // as the user wrote it
	kind saveKind
}

type saveKind struct {
	noun   string
	prefix string                          // start of the command's files
	is     func(path string, n int64) bool // a file of n bytes is of this kind; it may be a shard of any size
}

const maxStateFile = 64 << 10 // no state is larger

func stateKind() saveKind {
	return saveKind{noun: "state", prefix: `{"v":1,"plan":`, is: func(path string, n int64) bool {
		if n > maxStateFile {
			return false
		}
		_, err := readState(path)
		return err == nil
	}}
}

const oldPlan = `{"v":1,"hash":` // start of plans without footers

func planKind() saveKind {
	k := saveKind{noun: "plan", prefix: "sfplan2\n"}
	k.is = func(path string, _ int64) bool {
		if !beginsWith(path, k.prefix) && !beginsWith(path, oldPlan) {
			return false
		}
		_, err := iterable.ReadPlan(path)
		return err == nil
	}
	return k
}

func manifestKind() saveKind {
	return saveKind{noun: "list of shards", prefix: `{"v":2,"content":`, is: func(path string, _ int64) bool {
		_, err := iterable.ReadManifest(path)
		return err == nil
	}}
}

// A saveTarget is where the content goes: a regular file that is replaced as a whole, or a stream
// that is written to.
type saveTarget struct {
	path   string
	stream bool
}

// check finds out before the first row what would keep the file from being written at the end.
func (s saveFile) check() error {
	_, err := s.target()
	return err
}

// target follows symbolic links, and refuses directories and files of another kind.
func (s saveFile) target() (saveTarget, error) {
	if scheme, _ := shard.SplitScheme(s.name); scheme != "" {
		return saveTarget{}, usagef("--%s must be a path on this machine, got %s: write a file, and copy it there", s.flag, shard.Redact(s.name))
	}
	if isDescriptor(s.name) {
		return saveTarget{s.name, true}, nil
	}
	path, err := followLinks(s.name)
	if err != nil {
		return saveTarget{}, fmt.Errorf("%s: %w", s.name, err)
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Stat(filepath.Dir(path)); err != nil {
			return saveTarget{}, fmt.Errorf("%s: %w", s.name, errors.Unwrap(err))
		}
		return saveTarget{path, false}, nil
	case err != nil:
		return saveTarget{}, fmt.Errorf("%s: %w", s.name, errors.Unwrap(err))
	case info.IsDir():
		return saveTarget{}, fmt.Errorf("%s: %w", s.name, syscall.EISDIR)
	case !info.Mode().IsRegular():
		return saveTarget{path, true}, nil
	case info.Size() > 0 && !s.kind.is(path, info.Size()):
		return saveTarget{}, usagef("--%s %s: the file exists and is not a %s of shardfeed; name another file, or remove it", s.flag, s.name, s.kind.noun)
	}
	return saveTarget{path, false}, nil
}

func beginsWith(path, prefix string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	start := make([]byte, len(prefix))
	_, err = io.ReadFull(f, start)
	return err == nil && string(start) == prefix
}

// isDescriptor reports whether a name denotes an open file of this process, such as /dev/stdout.
func isDescriptor(name string) bool {
	name = filepath.Clean(name)
	return slices.Contains([]string{"/dev/stdout", "/dev/stderr", "/dev/stdin"}, name) ||
		strings.HasPrefix(name, "/dev/fd/") || strings.HasPrefix(name, "/proc/self/fd/")
}

const maxLinks = 40 // as the kernel follows

// followLinks is where symbolic links lead, though nothing is there yet.
func followLinks(name string) (string, error) {
	for range maxLinks {
		to, err := os.Readlink(name)
		if err != nil { // not a link, or missing
			return name, nil
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(name), to)
		}
		name = to
	}
	return "", syscall.ELOOP
}

const renameTries = 3

// write writes the content as a whole: a reader sees the old file or the new one. After an
// interrupt it does not wait for the reader of a pipe.
func (s saveFile) write(ctx context.Context, content []byte) error {
	target, err := s.target()
	if err != nil {
		return err
	}
	if target.stream {
		return regular.Error(writeStream(ctx, target.path, content))
	}
	removeAbandoned(target.path, s.kind)
	for range renameTries { // another process may take the temporary file for abandoned before it is locked
		if err = replaceFile(target.path, content); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return regular.Unwritten(target.path, err)
}

func replaceFile(path string, content []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), tempPrefix(path)+"*")
	if err != nil {
		return &fs.PathError{Path: path, Err: errors.Unwrap(err)}
	}
	_ = lockFile(file) // marks this process as alive
	_, err = file.Write(content)
	if err == nil {
		err = file.Chmod(0o644)
	}
	if err == nil {
		err = file.Sync()
	}
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name()) // the first error counts
	}
	return errors.Join(err, file.Close())
}

// lockFile locks an open file for as long as it is open. It fails when another process has it
// locked.
func lockFile(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) }

// writeStream writes to a pipe, a device or an open file.
func writeStream(ctx context.Context, name string, content []byte) error {
	flags := os.O_WRONLY | os.O_APPEND
	if ctx.Err() != nil {
		flags |= syscall.O_NONBLOCK
	}
	file, err := os.OpenFile(name, flags, 0)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	return errors.Join(err, file.Close())
}

// tempPrefix returns the prefix of temporary files beside a file.
func tempPrefix(path string) string { return "." + filepath.Base(path) + "-" }

var digits = regexp.MustCompile(`^[0-9]+$`)

// removeAbandoned removes the temporary files of processes that were killed while they wrote this
// file. It only removes files that are certainly theirs: the name fits, the content starts as such
// a file does, and no process has it locked.
func removeAbandoned(path string, kind saveKind) {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		return
	}
	for _, e := range entries {
		number, ok := strings.CutPrefix(e.Name(), tempPrefix(path))
		if ok && digits.MatchString(number) && e.Type().IsRegular() {
			removeIfAbandoned(filepath.Join(filepath.Dir(path), e.Name()), kind)
		}
	}
}

func removeIfAbandoned(name string, kind saveKind) {
	file, err := os.Open(name)
	if err != nil {
		return
	}
	defer file.Close()
	if lockFile(file) != nil {
		return
	}
	start := make([]byte, len(kind.prefix))
	n, err := io.ReadFull(file, start)
	if (err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)) && strings.HasPrefix(kind.prefix, string(start[:n])) {
		_ = os.Remove(name)
	}
}

func (s saveFile) writeState(ctx context.Context, state shuffle.State) error {
	return s.write(ctx, append(state.JSON(), '\n'))
}
