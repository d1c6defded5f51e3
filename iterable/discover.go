package iterable

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/shardfeed/shardfeed/iterable/internal/samples"
	"github.com/shardfeed/shardfeed/iterable/internal/saved"
	"github.com/shardfeed/shardfeed/iterable/internal/tables"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shuffle"
	"github.com/shardfeed/shardfeed/table"
)

// discover lists the shards that addresses name, and the table that they are, or nil. A plan of the
// same addresses, or a saved list, has them already.
func (o Options) discover(ctx context.Context, stores shard.Stores, addresses []string, p *SavedPlan, listed *shuffle.Manifest) (found []shard.Shard, t *table.Snapshot, err error) {
	snapshot, err := p.Snapshot(o.Snapshot)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err == nil {
			err = tables.CheckColumns(t, addresses, o.Columns, o.rule().Columns().List, o.Events.Noted)
		}
	}()
	if found := p.Found(addresses); found != nil {
		return found, p.Table, nil
	}
	kept := &samples.DeletedRows{Dir: o.IndexDir, Identity: func(uri string) string { return shard.Identity(stores, uri) }, Unusable: o.indexUnusable}
	if t, err = tables.Open(ctx, stores, o.Tables, addresses, snapshot, kept); err != nil {
		return nil, nil, err
	}
	if t != nil {
		found = tables.Shards(t)
	} else if found, err = shard.Discover(ctx, stores, addresses, shard.DiscoverOptions{Strict: o.Strict, Noted: o.Events.Noted}); err != nil {
		return nil, nil, err
	}
	if listed == nil {
		return found, t, nil
	}
	all := len(found)
	if found, err = onlySaved(found, listed); err == nil && t != nil && len(found) < all {
		err = &ManifestError{Err: errors.New("the saved manifest lists other files than the snapshot of the table"), Hint: "give {Snapshot} in its place"}
	}
	return found, t, err
}

// Find lists the shards that addresses name, and the table that they are, or nil. It uses Strict,
// Snapshot, Tables, IndexDir and Noted of the options.
func Find(ctx context.Context, stores shard.Stores, addresses []string, o Options) ([]shard.Shard, *table.Snapshot, error) {
	return o.discover(ctx, stores, addresses, nil, nil)
}

// TableColumns returns how rowgroup reads the columns of a table at an address; nil for no table.
func TableColumns(t *table.Snapshot, address string) *rowgroup.Table {
	return tables.Part(t, []string{address})
}

// onlySaved keeps the shards that a saved manifest lists, each at the version that it had. Where
// the data has moved, copies have other versions, which do not count.
func onlySaved(found []shard.Shard, listed *shuffle.Manifest) ([]shard.Shard, error) {
	byAddress := make(map[string]shard.Shard, len(found))
	for i, address := range saved.Addresses(found) {
		byAddress[address] = found[i]
	}
	base := saved.BaseNow(byAddress, listed)
	kept := make([]shard.Shard, 0, len(listed.Shards))
	var wrong []string
	for _, want := range listed.Shards {
		s, ok := byAddress[base+want.Path]
		switch {
		case !ok:
			wrong = append(wrong, "removed "+want.Path)
		case s.Size != want.Size || s.Version != want.Version && base == listed.Base:
			wrong = append(wrong, fmt.Sprintf("changed %s: %d bytes, version %s, now %d bytes, version %s", want.Path, want.Size, want.Version,
				s.Size, s.Version))
		}
		kept = append(kept, s)
	}
	if rest := len(wrong) - maxDifferences; rest > 0 {
		wrong = append(wrong[:maxDifferences], fmt.Sprintf("and %d more", rest))
	}
	if len(wrong) > 0 {
		return nil, &ManifestError{Err: errors.New("the data is no longer what the saved manifest lists"), Differences: wrong}
	}
	return kept, nil
}

// suggestPattern adds to the error of a file that is not parquet how the parquet files of its
// directory are named, if an address named the directory.
func suggestPattern(err error, addresses []string) error {
	var e *rowgroup.Error
	if !errors.Is(err, rowgroup.ErrNotParquet) || !errors.As(err, &e) || e.Hint != "" {
		return err
	}
	if strings.HasSuffix(e.URI, ".parquet") { // the pattern would find it again
		e.Hint = "write it again or remove it, or list the addresses of the other files in a file and give @FILE"
		return err
	}
	for _, address := range addresses {
		if dir := strings.TrimRight(address, "/"); strings.HasPrefix(e.URI, dir+"/") {
			e.Hint = fmt.Sprintf("to read the parquet files of this directory alone, give %s/**/*.parquet", shard.Redact(dir))
			break
		}
	}
	return err
}
