package shardfeed

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/shardfeed/shardfeed/cache"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/internal/trusted"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
)

const decodedDir = "decoded" // below Places.Root: what is decoded of files of this machine

// DecodedLimitIn is the most bytes of decoded columns that a cache in a directory would keep beside
// the bytes of shards, within limit. 0 is none.
func (s Spec) DecodedLimitIn(dir string, limit int64) (int64, error) {
	text := strings.TrimSpace(s.DecodedLimit)
	switch text {
	case "":
		return limit, nil
	case "0":
		return 0, nil
	}
	n, err := cache.ParseLimit(text, trusted.Nearest(dir))
	if err != nil && !errors.Is(err, cache.ErrNoRoom) {
		err = &OptionError{Field: "DecodedLimit", Text: option.Literal(err.Error()) + `; "0" keeps none`, Err: err}
	}
	return min(n, limit), err
}

// keepsLocal says whether decoded columns of files of this machine are to be kept.
func (s Spec) keepsLocal() bool {
	limit := strings.TrimSpace(s.DecodedLimit)
	return !s.NoCache && limit != "" && limit != "0" && s.anyLocal()
}

// anyLocal says whether an address may be one of this machine.
func (s Spec) anyLocal() bool {
	for _, address := range s.AllAddresses() {
		if !IsRemote(address) {
			return true
		}
	}
	return false
}

// openLocalTier opens the cache of what is decoded of files of this machine.
func (s Spec) openLocalTier(root string, e Events) (*cache.Cache, error) {
	if root == "" {
		return nil, &spelledError{text: fmt.Sprintf("there is no place for decoded columns: neither %s nor HOME is set ({CacheDir} names a directory on a local disk)", dirVariable)}
	}
	dir := filepath.Join(root, decodedDir)
	limit, err := cache.ParseLimit(strings.TrimSpace(s.DecodedLimit), trusted.Nearest(dir))
	if err != nil {
		return nil, elsewhere(fmt.Errorf("decoded columns in %s: %w", dir, err))
	}
	c, err := cache.Open(cache.Options{
		Dir: dir, Limit: limit, DecodedLimit: limit, Policy: s.policy(), Pending: s.part(pendingPart, leastPending, mostPending), Events: e.ofCache(),
	})
	if err != nil {
		return nil, elsewhere(fmt.Errorf("decoded columns in %s: %w", dir, err))
	}
	return c, nil
}

// tier is what is kept decoded of shards; nil where nothing is.
func (s *source) tier() rowgroup.Tier {
	if s.local == nil && s.cache == nil {
		return nil
	}
	return func(of shard.Shard, form string, size int64) rowgroup.TierFile {
		c := s.local
		if IsRemote(of.URI) {
			c = s.cache
		}
		scheme, _ := shard.SplitScheme(of.URI)
		if store := s.drivers[scheme]; c != nil && store != nil {
			if d := c.OpenDecoded(store, of, form, size); d != nil {
				return d
			}
		}
		return nil
	}
}

// validateDecoded checks the limit of decoded columns.
func (s Spec) validateDecoded(p *option.List) {
	_, err := s.DecodedLimitIn(os.TempDir(), 1<<62)
	if wrong := (*OptionError)(nil); errors.As(err, &wrong) {
		p.Join(err)
	}
	if s.NoCache && s.DecodedLimit != "" && strings.TrimSpace(s.DecodedLimit) != "0" {
		p.Add("DecodedLimit", "needs a cache, and {NoCache} keeps nothing; leave one of the two out")
	}
}

// DecodedDir is where decoded columns of files of this machine are kept; "" where none are.
func (d *Dataset) DecodedDir() string {
	if d.source.local == nil {
		return ""
	}
	return filepath.Join(d.spec.Places().Root, decodedDir)
}
