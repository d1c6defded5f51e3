package shardfeed

import (
	"errors"
	"os"
	"strings"

	"github.com/shardfeed/shardfeed/cache"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/internal/trusted"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
)

// limitsIn are the most bytes that a cache in a directory keeps, and the most of them that are
// decoded columns, 0 being none. A decoded limit that is given wins over a default one of the
// cache.
func (s Spec) limitsIn(dir string) (limit, decoded int64, err error) {
	if limit, err = s.CacheLimitIn(dir); err != nil {
		return 0, 0, err
	}
	text := strings.TrimSpace(s.DecodedLimit)
	switch text {
	case "":
		return limit, limit, nil
	case "0":
		return limit, 0, nil
	}
	decoded, err = cache.ParseLimit(text, trusted.Nearest(dir))
	if err != nil && !errors.Is(err, cache.ErrNoRoom) {
		err = &OptionError{Field: "DecodedLimit", Text: option.Literal(err.Error()) + `; "0" keeps none`, Err: err}
	}
	if s.CacheLimit == "" && s.env(limitVariable) == "" {
		limit = max(limit, decoded)
	}
	return limit, min(decoded, limit), err
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

// tier is what is kept decoded of shards; nil where nothing is.
func (s *source) tier() rowgroup.Tier {
	if s.cache == nil || s.cache.DecodedLimit() == 0 {
		return nil
	}
	return func(of shard.Shard, form string, size int64) rowgroup.TierFile {
		scheme, _ := shard.SplitScheme(of.URI)
		store := s.drivers[scheme]
		if store == nil || !s.local && !IsRemote(of.URI) {
			return nil
		}
		if d := s.cache.OpenDecoded(store, of, form, size); d != nil {
			return d
		}
		return nil
	}
}

// keeps is how many bytes of decoded columns the cache takes.
func (s *source) keeps() int64 {
	if s.cache == nil {
		return 0
	}
	return s.cache.DecodedLimit()
}

// validateDecoded checks the limit of decoded columns.
func (s Spec) validateDecoded(p *option.List) {
	_, _, err := s.limitsIn(os.TempDir())
	if wrong := (*OptionError)(nil); errors.As(err, &wrong) && wrong.Field == "DecodedLimit" {
		p.Join(err)
	}
	if s.NoCache && s.DecodedLimit != "" && strings.TrimSpace(s.DecodedLimit) != "0" {
		p.Add("DecodedLimit", "needs a cache, and {NoCache} keeps nothing; leave one of the two out")
	}
}
