package shardfeed

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/shardfeed/shardfeed/cache"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/internal/regular"
	"github.com/shardfeed/shardfeed/internal/trusted"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
)

// Variables of the environment that a Spec's own fields win over.
const (
	dirVariable   = "SHARDFEED_CACHE_DIR"
	limitVariable = "SHARDFEED_CACHE_LIMIT"
)

// Places are the directories that keep things between runs; each is "" where the machine has no
// place for it.
type Places struct {
	Root      string // of the cache, and of the two others unless IndexDir names one
	Index     string // of footers
	Manifests string // of the lists of shards of earlier runs
	Lanes     string // of notes of lanes that earlier runs read
	Checked   string // of notes of tokens that another library agreed with
}

// Places of a spec. None of them need exist.
func (s Spec) Places() Places {
	p := Places{Index: indexDir(s.env)}
	if p.Index != "" {
		p.Root = filepath.Dir(p.Index)
		p.Manifests, p.Lanes, p.Checked = filepath.Join(p.Root, "manifests"), filepath.Join(p.Root, "seats"), filepath.Join(p.Root, "checked")
	}
	if s.IndexDir != "" {
		p.Index = regular.Home(s.IndexDir, s.env("HOME"))
	}
	return p
}

// CacheLimitIn is the most bytes that a cache in a directory would keep; the directory need not
// exist yet.
func (s Spec) CacheLimitIn(dir string) (int64, error) {
	text, where := s.CacheLimit, ""
	if text == "" {
		text, where = s.env(limitVariable), "in "+limitVariable+" "
	}
	if text == "" {
		return cache.DefaultLimit(trusted.Nearest(dir))
	}
	limit, err := cache.ParseLimit(text, trusted.Nearest(dir))
	if err != nil && !errors.Is(err, cache.ErrNoRoom) {
		err = &OptionError{Field: "CacheLimit", Text: where + option.Literal(err.Error()), Err: err}
	}
	return limit, err
}

// env is the environment, with the directory that the spec names.
func (s Spec) env(name string) string {
	if name == dirVariable && s.CacheDir != "" {
		return s.CacheDir
	}
	if len(s.Env) > 0 {
		return s.Env[name]
	}
	return os.Getenv(name)
}

// indexDir returns the place of the index by the environment: the directory index of
// SHARDFEED_CACHE_DIR, else of SLURM_TMPDIR/shardfeed, else of XDG_CACHE_HOME/shardfeed, else of
// HOME/.cache/shardfeed. It is "" when none of them is set.
func indexDir(env func(string) string) string {
	switch {
	case env("SHARDFEED_CACHE_DIR") != "":
		return filepath.Join(regular.Home(env("SHARDFEED_CACHE_DIR"), env("HOME")), "index")
	case env("SLURM_TMPDIR") != "":
		return filepath.Join(env("SLURM_TMPDIR"), "shardfeed", "index")
	case env("XDG_CACHE_HOME") != "":
		return filepath.Join(env("XDG_CACHE_HOME"), "shardfeed", "index")
	case env("HOME") != "":
		return filepath.Join(env("HOME"), ".cache", "shardfeed", "index")
	}
	return ""
}

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

// keepsLocal reports whether decoded columns of files of this machine are kept.
func (s Spec) keepsLocal() bool {
	limit := strings.TrimSpace(s.DecodedLimit)
	return !s.NoCache && limit != "" && limit != "0" && s.anyLocal()
}

// anyLocal reports whether an address may be on this machine.
func (s Spec) anyLocal() bool {
	for _, address := range s.AllAddresses() {
		if !IsRemote(address) {
			return true
		}
	}
	return false
}

// tier returns the store of decoded row groups; nil if the spec keeps nothing.
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
