package shardfeed

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/shardfeed/shardfeed/cache"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/internal/trusted"
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
}

// Places of a spec. None of them need exist.
func (s Spec) Places() Places {
	p := Places{Index: indexDir(s.env)}
	if p.Index != "" {
		p.Root = filepath.Dir(p.Index)
		p.Manifests, p.Lanes = filepath.Join(p.Root, "manifests"), filepath.Join(p.Root, "seats")
	}
	if s.IndexDir != "" {
		p.Index = s.IndexDir
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

// indexDir is where the index on disk lies by the environment: in the directory index of
// SHARDFEED_CACHE_DIR, else of SLURM_TMPDIR/shardfeed, else of XDG_CACHE_HOME/shardfeed, else of
// HOME/.cache/shardfeed. It is "" when none of them is set.
func indexDir(env func(string) string) string {
	switch {
	case env("SHARDFEED_CACHE_DIR") != "":
		return filepath.Join(env("SHARDFEED_CACHE_DIR"), "index")
	case env("SLURM_TMPDIR") != "":
		return filepath.Join(env("SLURM_TMPDIR"), "shardfeed", "index")
	case env("XDG_CACHE_HOME") != "":
		return filepath.Join(env("XDG_CACHE_HOME"), "shardfeed", "index")
	case env("HOME") != "":
		return filepath.Join(env("HOME"), ".cache", "shardfeed", "index")
	}
	return ""
}
