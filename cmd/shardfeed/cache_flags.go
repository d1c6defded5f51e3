package main

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/spf13/pflag"

	"github.com/shardfeed/shardfeed/cache"
	"github.com/shardfeed/shardfeed/rowgroup"
)

const (
	dirVariable   = "SHARDFEED_CACHE_DIR"
	limitVariable = "SHARDFEED_CACHE_LIMIT"
)

// cacheFlags say what is kept on this machine's disk of shards that are far.
type cacheFlags struct {
	cacheDir    string
	cacheLimit  string
	cachePolicy string
	noCache     bool
	cacheNeeded bool // the verb is about the cache: that there can be none is an error

	footers   string            // directory of the index; "": beside the cache
	variables map[string]string // the environment, where it is not this process's
}

// cache is whether, where and how much is kept.
func (f *cacheFlags) cache(fs *pflag.FlagSet) {
	group(fs, cacheGroup, func(fs *pflag.FlagSet) {
		f.capacity(fs)
		fs.BoolVar(&f.noCache, "no-cache", false, "keep nothing and use nothing that was kept")
	})
}

// room is where and how much is kept.
func (f *cacheFlags) capacity(fs *pflag.FlagSet) {
	f.directory(fs)
	fs.StringVar(&f.cacheLimit, "cache-limit", "", "most bytes to keep: a `size`, as in 200GiB, or a part of the free space, as in 50% (default: "+limitVariable+
		", else the smaller of half the free space and 100GiB)")
	fs.StringVar(&f.cachePolicy, "cache-policy", "keep", "when it is full: keep what is there, which is best for epochs, or lru")
}

// directory is where it is kept.
func (f *cacheFlags) directory(fs *pflag.FlagSet) {
	fs.StringVar(&f.cacheDir, "cache-dir", "", "`directory` on a local disk (default: "+dirVariable+", SLURM_TMPDIR/shardfeed, XDG_CACHE_HOME/shardfeed, ~/.cache/shardfeed)")
}

// checkCache finds what cannot be meant.
func (f *cacheFlags) checkCache(fs *pflag.FlagSet) error {
	switch {
	case fs.Changed("cache-dir") && f.cacheDir == "":
		return usagef(`--cache-dir must be a directory, got ""`)
	case fs.Changed("cache-policy") && f.cachePolicy != "keep" && f.cachePolicy != "lru":
		return usagef("--cache-policy must be keep or lru, got %q", f.cachePolicy)
	case f.noCache && (fs.Changed("cache-limit") || fs.Changed("cache-policy")):
		return usagef("--no-cache keeps nothing: leave out --cache-limit and --cache-policy")
	}
	if fs.Changed("cache-limit") {
		return f.checkCacheLimit()
	}
	return nil
}

// checkCacheLimit finds what is no limit.
func (f *cacheFlags) checkCacheLimit() error {
	_, err := f.limitIn(os.TempDir()) // any directory shows whether it is a limit, even on a full disk
	if errors.Is(err, cache.ErrNoRoom) {
		return nil
	}
	return err
}

// limitIn is the most bytes that are kept in a directory, which need not exist yet.
func (f *cacheFlags) limitIn(dir string) (int64, error) {
	text, where := f.cacheLimit, "--cache-limit"
	if text == "" {
		text, where = f.env(limitVariable), limitVariable
	}
	if text == "" {
		return cache.DefaultLimit(nearestDir(dir))
	}
	limit, err := cache.ParseLimit(text, nearestDir(dir))
	switch {
	case errors.Is(err, cache.ErrNoRoom):
		return 0, err
	case err != nil:
		return 0, usagef("%s %v", where, err)
	}
	return limit, nil
}

func (f *cacheFlags) policy() cache.Policy {
	if f.cachePolicy == "lru" {
		return cache.LRU
	}
	return cache.Keep
}

// env is the environment with the directory that a flag names.
func (f *cacheFlags) env(name string) string {
	if name == dirVariable && f.cacheDir != "" {
		return f.cacheDir
	}
	if len(f.variables) > 0 {
		return f.variables[name]
	}
	return os.Getenv(name)
}

// indexDir is where footers are kept for the next start, or "" when the machine has no place for it.
func (f *cacheFlags) indexDir() string {
	if f.footers != "" {
		return f.footers
	}
	return rowgroup.IndexDir(f.env)
}

// root is the directory of everything that is kept between runs: the cache, the index of footers, the lists of shards. It may be "".
func (f *cacheFlags) root() string { return f.beside("") }

// manifestDir is where the lists of shards of earlier runs are kept, beside the index.
func (f *cacheFlags) manifestDir() string { return f.beside("manifests") }

// beside is a name in the directory that holds the index.
func (f *cacheFlags) beside(name string) string {
	if dir := rowgroup.IndexDir(f.env); dir != "" {
		return filepath.Join(filepath.Dir(dir), name)
	}
	return ""
}
