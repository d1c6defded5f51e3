package iterable

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shuffle"
)

// discover lists the shards that addresses name. A plan of the same addresses, or a saved list, has
// them already.
func (o Options) discover(ctx context.Context, stores shard.Stores, addresses []string, p *SavedPlan, saved *shuffle.Manifest) ([]shard.Shard, error) {
	if found := p.Found(addresses); found != nil {
		return found, nil
	}
	found, err := shard.Discover(ctx, stores, addresses, shard.DiscoverOptions{Strict: o.Strict, Noted: o.Events.Noted})
	if err != nil || saved == nil {
		return found, err
	}
	return onlySaved(found, saved)
}

// onlySaved keeps the shards that a saved manifest lists, each at the version that it had. Where
// the data has moved, copies have other versions, which do not count.
func onlySaved(found []shard.Shard, saved *shuffle.Manifest) ([]shard.Shard, error) {
	byAddress := make(map[string]shard.Shard, len(found))
	for i, address := range addresses(found) {
		byAddress[address] = found[i]
	}
	base := baseNow(byAddress, saved)
	kept := make([]shard.Shard, 0, len(saved.Shards))
	var wrong []string
	for _, want := range saved.Shards {
		s, ok := byAddress[base+want.Path]
		switch {
		case !ok:
			wrong = append(wrong, "removed "+want.Path)
		case s.Size != want.Size || s.Version != want.Version && base == saved.Base:
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

// baseNow returns the directory of a saved manifest's shards: the saved one, unless it has no shard
// and another directory has all.
func baseNow(byAddress map[string]shard.Shard, saved *shuffle.Manifest) string {
	there := func(s shuffle.Shard) bool { return byAddress[saved.Base+s.Path].URI != "" }
	if len(saved.Shards) == 0 || slices.ContainsFunc(saved.Shards, there) {
		return saved.Base
	}
	for address := range byAddress {
		base, ok := strings.CutSuffix(address, "/"+saved.Shards[0].Path)
		base += "/"
		other := func(s shuffle.Shard) bool { return byAddress[base+s.Path].Size != s.Size }
		if ok && !slices.ContainsFunc(saved.Shards, other) {
			return base
		}
	}
	return saved.Base
}

// addresses are the shards' URIs in one spelling each. They have no directory in common with a
// scheme that does not exist, and so are whole.
func addresses(shards []shard.Shard) []string {
	return shard.RelativePaths(append(slices.Clip(shards), shard.Shard{URI: "none://"}))[:len(shards)]
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
