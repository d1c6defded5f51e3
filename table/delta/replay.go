package delta

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/shardfeed/shardfeed/shard"
)

// A file is a live file of a table.
type file struct {
	uri       string
	size      int64
	rows      int64 // with deleted ones; -1 is unknown
	first     int64 // ID of the first row, or -1
	partition *partition
	vector    *vector
}

// A key identifies a file in the log: by its address and its deletion vector.
type key struct{ uri, vector string }

// A replay collects what actions leave of a table, the newest first.
type replay struct {
	protocol *protocol
	metadata *metadata
	time     time.Time
	files    []file
	gone     map[key]struct{} // that newer actions decided about
}

// A commit is the actions of one version, or of a piece of a checkpoint.
type commit struct {
	adds     []file
	removes  []key
	protocol *protocol
	metadata *metadata
	sidecars []sidecar
	info     *info
}

// replay replays the log from a version back to the newest checkpoint, or if that is damaged, to an
// older one from which all commits are left.
func (l *log) replay(ctx context.Context, version int64) (r *replay, err error) {
	if err := l.checkVersion(version); err != nil {
		return nil, err
	}
	var damage *damagedCheckpoint
	for first := range l.bases(version) {
		if r, err = l.replayFrom(ctx, first, version); err == nil {
			return r, nil
		}
		if damage != nil {
			continue
		}
		if !errors.As(err, &damage) {
			return nil, err
		}
	}
	return nil, &hinted{
		fmt.Errorf("the checkpoint of version %d cannot be read, and the log lacks commits to do without it: %w", damage.version, damage.error),
		"restore the file, or read a version after a later checkpoint",
	}
}

// bases yields the first commits from which the log can be replayed up to a version: the ones after
// checkpoints, the newest first, and commit 0.
func (l *log) bases(version int64) iter.Seq[int64] {
	return func(yield func(first int64) bool) {
		for first := version + 1; ; first-- {
			if (first == 0 || l.checkpoints[first-1] != nil) && !yield(first) || first == 0 {
				return
			}
			if _, ok := l.commits[first-1]; !ok {
				return
			}
		}
	}
}

// replayFrom replays the commits from first to a version, and the checkpoint before them.
func (l *log) replayFrom(ctx context.Context, first, version int64) (*replay, error) {
	commits, names := make([]commit, version+1-first), &partitions{}
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(l.parallel)
	for i := range commits {
		group.Go(func() (err error) {
			commits[i], err = l.commit(inner, l.commits[first+int64(i)], names)
			return unfinished(err, first+int64(i))
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	r := &replay{gone: make(map[key]struct{})}
	if err := l.setTime(ctx, r, version, commits); err != nil {
		return nil, err
	}
	for i := len(commits) - 1; i >= 0; i-- {
		if err := r.take(&commits[i], true); err != nil {
			return nil, err
		}
		commits[i] = commit{}
	}
	if first == 0 {
		return r, nil
	}
	err := l.readCheckpoint(ctx, r, l.checkpoints[first-1], names)
	if err != nil && ctx.Err() == nil && !errors.Is(err, shard.ErrTransient) && !errors.Is(err, shard.ErrDenied) {
		err = &damagedCheckpoint{first - 1, err}
	}
	return r, err
}

// unfinished adds to the error of a damaged commit what a reader can do.
func unfinished(err error, version int64) error {
	if e := (*shard.Error)(nil); version > 0 && errors.As(err, &e) && errors.Is(err, shard.ErrCorrupt) && e.Hint == "" {
		e.Hint = fmt.Sprintf("if the commit is being written, try again; else read version %d, or repair the table", version-1)
	}
	return err
}

// A damagedCheckpoint is the error of a checkpoint that cannot be read.
type damagedCheckpoint struct {
	version int64
	error
}

func (d *damagedCheckpoint) Unwrap() error { return d.error }

// setTime sets the time of a version, whose commit may not be among the replayed ones.
func (l *log) setTime(ctx context.Context, r *replay, version int64, replayed []commit) (err error) {
	var found *info
	if s, ok := l.commits[version]; len(replayed) > 0 {
		found = replayed[len(replayed)-1].info
	} else if ok {
		found, err = l.info(ctx, s)
	}
	if found != nil {
		r.time = time.UnixMilli(found.millis()).UTC()
	}
	return err
}

// maxFiles is the number of files of the largest table.
const maxFiles = 20_000_000

// take adds the actions of a commit, which are older than all before. remember is true if still
// older ones follow.
func (r *replay) take(c *commit, remember bool) error {
	for _, f := range c.adds {
		k := f.key()
		if _, ok := r.gone[k]; ok {
			continue
		}
		r.files = append(r.files, f)
		if remember {
			r.gone[k] = struct{}{}
		}
	}
	if remember {
		for _, k := range c.removes {
			r.gone[k] = struct{}{}
		}
	}
	if r.protocol == nil {
		r.protocol = c.protocol
	}
	if r.metadata == nil {
		r.metadata = c.metadata
	}
	if len(r.files) > maxFiles {
		return fmt.Errorf("the table has more than %d files", maxFiles)
	}
	return nil
}

func (f *file) key() key { return key{f.uri, f.vector.id()} }

// commit reads the lines of a commit, or of a checkpoint.
func (l *log) commit(ctx context.Context, s shard.Shard, names *partitions) (c commit, err error) {
	err = readLines(ctx, l.store, s, func(line []byte) error {
		a, err := parseAction(line)
		if err == nil {
			err = c.add(l.dir, &a, names)
		}
		return err
	})
	return c, err
}

func (c *commit) add(dir string, a *action, names *partitions) error {
	switch {
	case a.Add != nil:
		p, err := names.ofJSON(a.Add.Partition)
		if err != nil {
			return err
		}
		f := file{uri: locate(dir, a.Add.Path), size: a.Add.Size, rows: a.Add.rows(), first: a.Add.firstRow(), partition: p, vector: a.Add.Vector}
		c.adds = append(c.adds, f)
	case a.Remove != nil:
		c.removes = append(c.removes, key{locate(dir, a.Remove.Path), a.Remove.Vector.id()})
	case a.Protocol != nil:
		c.protocol = a.Protocol
	case a.Metadata != nil:
		c.metadata = a.Metadata
	case a.Sidecar != nil:
		c.sidecars = append(c.sidecars, *a.Sidecar)
	case a.Info != nil:
		c.info = a.Info
	}
	return nil
}

// partitions keeps each combination of partition values once. It is safe for concurrent use.
type partitions struct {
	mu  sync.Mutex
	all map[string]*partition // by a spelling of the values
}

func (p *partitions) of(text []byte, parse func() (map[string]*string, error)) (*partition, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if found, ok := p.all[string(text)]; ok {
		return found, nil
	}
	values, err := parse()
	if err != nil {
		return nil, err
	}
	if p.all == nil {
		p.all = make(map[string]*partition)
	}
	found := &partition{values: values}
	p.all[string(text)] = found
	return found, nil
}
