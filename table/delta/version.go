package delta

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/table"
)

// find returns the version that a user asks for: by its number, by a time, or the latest.
func (l *log) find(ctx context.Context, snapshot string) (int64, error) {
	if snapshot == "" {
		return l.latest(), nil
	}
	if version, err := strconv.ParseInt(snapshot, 10, 64); err == nil && version >= 0 {
		return version, nil
	}
	at, err := time.Parse(time.RFC3339, snapshot)
	if err != nil {
		return 0, &hinted{
			fmt.Errorf("%w: the snapshot %q is neither a version nor a time", shard.ErrBadURI, snapshot),
			fmt.Sprintf("the table has the versions %s; a time is as in 2026-01-31T12:00:00Z", l.has()),
		}
	}
	return l.at(ctx, at)
}

// at returns the latest version of a time, by the times that commits have. It reads few of them, as
// times ascend.
func (l *log) at(ctx context.Context, at time.Time) (int64, error) {
	var failed error
	var first time.Time
	i := sort.Search(len(l.versions), func(i int) bool {
		t, err := l.time(ctx, l.versions[i])
		failed = errors.Join(failed, err)
		if i == 0 {
			first = t
		}
		return t.After(at)
	})
	if failed != nil {
		return 0, failed
	}
	if i == 0 {
		return 0, fmt.Errorf("%w: there is no version at %s: the first that is left, %d, is of %s",
			shard.ErrNotExist, at.UTC().Format(time.RFC3339), l.versions[0], first.Format(time.RFC3339Nano))
	}
	return l.versions[i-1], nil
}

// time is the time of a version, or of the first one after it that has a commit.
func (l *log) time(ctx context.Context, version int64) (time.Time, error) {
	for ; version <= l.latest(); version++ {
		s, ok := l.commits[version]
		if !ok {
			continue
		}
		i, err := l.info(ctx, s)
		if err != nil {
			return time.Time{}, err
		}
		if i != nil {
			return time.UnixMilli(i.millis()).UTC(), nil
		}
	}
	return time.Time{}, errors.New("its commits have no times; give a version")
}

// headBytes is how much of a commit is read for its description, which writers put first.
const headBytes = 64 << 10

// info returns the description of a commit, or nil without one.
func (l *log) info(ctx context.Context, s shard.Shard) (found *info, err error) {
	look := func(line []byte) error {
		var a struct {
			Info *info `json:"commitInfo"`
		}
		if err := json.Unmarshal(line, &a); err != nil {
			return fmt.Errorf("%w: an action is not of the known form: %w", shard.ErrCorrupt, err)
		}
		if a.Info == nil {
			return nil
		}
		found = a.Info
		return errDone
	}
	if s.Size > headBytes {
		if err := l.head(ctx, s, look); err != nil || found != nil {
			return found, err
		}
	}
	err = readLines(ctx, l.store, s, look)
	return found, err
}

// head calls each with the whole lines at the start of a file.
func (l *log) head(ctx context.Context, s shard.Shard, each func(line []byte) error) (err error) {
	object, err := l.store.Open(ctx, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, object.Close()) }()
	b := make([]byte, headBytes)
	if err := object.ReadAt(ctx, b, 0); err != nil {
		return err
	}
	if _, err := cutLines(b, false, each); err != nil && !errors.Is(err, errDone) {
		return &shard.Error{Op: "table", URI: s.URI, Err: err}
	}
	return nil
}

// History returns the versions of the table in a directory that can be read, the oldest first.
func History(ctx context.Context, address string, o table.Options) ([]table.Version, error) {
	all, err := history(ctx, directory(address), o)
	if err != nil {
		return nil, wrap(address, err)
	}
	return all, nil
}

func history(ctx context.Context, dir string, o table.Options) ([]table.Version, error) {
	l, err := list(ctx, dir, o)
	if err != nil {
		return nil, err
	}
	all := make([]table.Version, len(l.versions))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(l.parallel)
	for i, v := range l.versions {
		all[i].Name = strconv.FormatInt(v, 10)
		s, ok := l.commits[v]
		if !ok {
			continue
		}
		group.Go(func() error {
			found, err := l.info(ctx, s)
			if found != nil {
				all[i].Time, all[i].Operation = time.UnixMilli(found.millis()).UTC(), found.Operation
			}
			return err
		})
	}
	return all, group.Wait()
}
