package delta

import (
	"context"
	"fmt"
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

// replay replays the log from a version back to the newest checkpoint.
func (l *log) replay(ctx context.Context, version int64) (*replay, error) {
	if err := l.checkVersion(version); err != nil {
		return nil, err
	}
	first := version + 1 // commit to replay
	for ; first > 0 && l.checkpoints[first-1] == nil; first-- {
	}
	commits, names := make([]commit, version+1-first), &partitions{}
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(l.parallel)
	for i := range commits {
		group.Go(func() (err error) {
			commits[i], err = l.commit(inner, l.commits[first+int64(i)], names)
			return err
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
	if first > 0 {
		return r, l.readCheckpoint(ctx, r, l.checkpoints[first-1], names)
	}
	return r, nil
}

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
