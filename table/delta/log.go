package delta

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/table"
)

const logDir = "_delta_log"

// A log is the list of the files of a table's log.
type log struct {
	dir      string // of the table
	store    shard.Store
	scan     table.Scan
	parallel int
	keeper   table.Keeper // may be nil

	commits     map[int64]shard.Shard
	checkpoints map[int64][]shard.Shard // the files of one complete checkpoint
	versions    []int64                 // that can be read, ascending
}

// list finds commits and complete checkpoints.
func list(ctx context.Context, dir string, o table.Options) (*log, error) {
	found, err := o.Store.List(ctx, table.Literal(dir)+"/"+logDir+"/*")
	if errors.Is(err, shard.ErrNotExist) {
		return nil, &hinted{
			fmt.Errorf("%w: the directory has no %s with a commit, and is not a Delta table", shard.ErrNotExist, logDir),
			cmp.Or(shard.SlashHint(dir), "give the directory that holds "+logDir),
		}
	}
	if err != nil {
		return nil, err
	}
	l := &log{
		dir: dir, store: o.Store, scan: o.Scan, parallel: max(1, o.Parallel), keeper: o.Keeper,
		commits: map[int64]shard.Shard{}, checkpoints: map[int64][]shard.Shard{},
	}
	parts := map[int64]map[int][]shard.Shard{} // by version, then by the number of files
	for _, s := range found {
		l.take(s, parts)
	}
	for version, all := range parts {
		for n, files := range all {
			if len(files) == n && l.checkpoints[version] == nil {
				l.checkpoints[version] = files
			}
		}
	}
	l.findVersions()
	if len(l.versions) == 0 {
		return nil, fmt.Errorf("%w: its log has neither version 0 nor a complete checkpoint", shard.ErrCorrupt)
	}
	return l, nil
}

// Names of commits, and of checkpoints: of one file, of several, and of version 2.
var (
	commitName     = regexp.MustCompile(`^(\d{20})\.json$`)
	checkpointName = regexp.MustCompile(`^(\d{20})\.checkpoint(?:\.(\d{10})\.(\d{10})|\.[0-9a-fA-F-]{36})?\.(parquet|json)$`)
)

func (l *log) take(s shard.Shard, parts map[int64]map[int][]shard.Shard) {
	name := path.Base(s.URI)
	if m := commitName.FindStringSubmatch(name); m != nil {
		if version, err := strconv.ParseInt(m[1], 10, 64); err == nil {
			l.commits[version] = s
		}
		return
	}
	m := checkpointName.FindStringSubmatch(name)
	if m == nil {
		return
	}
	version, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		return
	}
	if m[3] == "" {
		l.checkpoints[version] = []shard.Shard{s}
		return
	}
	if n, err := strconv.Atoi(m[3]); err == nil {
		if parts[version] == nil {
			parts[version] = map[int][]shard.Shard{}
		}
		parts[version][n] = append(parts[version][n], s)
	}
}

// findVersions finds the versions whose actions are all there.
func (l *log) findVersions() {
	all := map[int64]bool{}
	for v := range l.commits {
		all[v] = true
	}
	for v := range l.checkpoints {
		all[v] = true
	}
	last := int64(-2) // that can be read
	for _, v := range slices.Sorted(maps.Keys(all)) {
		_, commit := l.commits[v]
		if l.checkpoints[v] != nil || commit && (v == 0 || last == v-1) {
			l.versions = append(l.versions, v)
			last = v
		}
	}
}

// has reports the versions in words: "3 to 12".
func (l *log) has() string {
	var all []string
	for i := 0; i < len(l.versions); {
		first := l.versions[i]
		last := first
		for i++; i < len(l.versions) && l.versions[i] == last+1; i++ {
			last++
		}
		if last == first {
			all = append(all, fmt.Sprint(first))
		} else {
			all = append(all, fmt.Sprintf("%d to %d", first, last))
		}
	}
	const most = 8
	if len(all) > most {
		all = append(append(all[:1:1], "..."), all[len(all)-most+1:]...)
	}
	return strings.Join(all, ", ")
}

// latest is the newest version. That it can be read is not sure.
func (l *log) latest() int64 {
	last := l.versions[len(l.versions)-1]
	for v := range l.commits {
		last = max(last, v)
	}
	return last
}

// checkVersion returns an error for a version that cannot be read.
func (l *log) checkVersion(version int64) error {
	if _, ok := slices.BinarySearch(l.versions, version); ok {
		return nil
	}
	if _, ok := l.commits[version]; ok {
		return l.gap(version)
	}
	return &hinted{
		fmt.Errorf("%w: there is no version %d: the table has %s", shard.ErrNotExist, version, l.has()),
		"older versions go when the log is cleaned up",
	}
}

// gap is the error of a version with a commit, before which one is missing.
func (l *log) gap(version int64) error {
	missing := version - 1
	for ; l.commits[missing].URI != ""; missing-- {
	}
	err := fmt.Errorf("%w: the log lacks commit %d, which version %d needs: it has the versions %s", shard.ErrCorrupt, missing, version, l.has())
	return &hinted{err, fmt.Sprintf("restore %s/%020d.json, or read one of these versions", logDir, missing)}
}
