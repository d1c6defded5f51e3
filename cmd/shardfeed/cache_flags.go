package main

import (
	"github.com/spf13/pflag"

	"github.com/shardfeed/shardfeed"
)

const (
	dirVariable   = "SHARDFEED_CACHE_DIR"
	limitVariable = "SHARDFEED_CACHE_LIMIT"
)

// cacheFlags say which bytes of remote shards are kept on this machine's disk.
type cacheFlags struct {
	cacheDir    string
	cacheLimit  string
	cachePolicy string
	decoded     string // most bytes of decoded columns
	noCache     bool
	cacheNeeded bool // the verb is about the cache: that there can be none is an error
	noteLanes   bool // what the verb fetches is this node's part of a run
}

func (f *cacheFlags) cache(fs *pflag.FlagSet) {
	group(fs, cacheGroup, func(fs *pflag.FlagSet) {
		f.capacity(fs)
		fs.BoolVar(&f.noCache, "no-cache", false, "keep nothing and use nothing that was kept")
	})
}

func (f *cacheFlags) capacity(fs *pflag.FlagSet) {
	f.directory(fs)
	fs.StringVar(&f.cacheLimit, "cache-limit", "", "most bytes to keep: a `size`, as in 200GiB, or a part of the free space, as in 50% (default: "+limitVariable+
		", else the smaller of half the free space and 100GiB)")
	fs.StringVar(&f.decoded, "decoded-limit", "", "most bytes to keep decoded, so that later epochs need not decode again: a `size`, a part of the free space, or 0 (default: "+
		"what --cache-limit leaves for shards on servers, nothing for local files)")
	fs.StringVar(&f.cachePolicy, "cache-policy", "keep", "when it is full: `keep` what was used in the last 24 hours, which is best for epochs, or keep=7d or keep=36h for another time, or lru")
}

func (f *cacheFlags) directory(fs *pflag.FlagSet) {
	fs.StringVar(&f.cacheDir, "cache-dir", "", "`directory` on a local disk (default: "+dirVariable+", SLURM_TMPDIR/shardfeed, XDG_CACHE_HOME/shardfeed, ~/.cache/shardfeed)")
}

func (f *cacheFlags) checkCache(fs *pflag.FlagSet) error {
	switch {
	case fs.Changed("cache-dir") && f.cacheDir == "":
		return usagef(`--cache-dir must be a directory, got ""`)
	case f.noCache && (fs.Changed("cache-limit") || fs.Changed("decoded-limit") || fs.Changed("cache-policy")):
		return usagef("--no-cache keeps nothing: leave out --cache-limit, --decoded-limit and --cache-policy")
	}
	return nil
}

// limitIn is the most bytes that are kept in a directory, which need not exist yet.
func (f *cacheFlags) limitIn(dir string) (int64, error) {
	return shardfeed.Spec{CacheLimit: f.cacheLimit}.CacheLimitIn(dir)
}

// places are the directories of the cache, the index of footers and the lists of shards.
func (f *cacheFlags) places() shardfeed.Places { return shardfeed.Spec{CacheDir: f.cacheDir}.Places() }
