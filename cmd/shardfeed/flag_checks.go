package main

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/shardfeed/shardfeed/shard"
)

// checkGiven refuses flags that a spec would take for left out, and those without effect.
func (f *flags) checkGiven(fs *pflag.FlagSet) error {
	for _, name := range [...]string{"where", "part", "part-key", "rows", "rows-new", "weight"} {
		if fs.Changed(name) && strings.TrimSpace(fs.Lookup(name).Value.String()) == "" {
			return usagef("--%s must not be empty; leave it out to read all rows", name)
		}
	}
	for _, name := range [...]string{"memory", "shuffle-buffer", "endpoint-url", "region", "profile", "ca-bundle", "hdfs-conf", "keytab", "principal", "retry-for"} {
		if fs.Changed(name) && fs.Lookup(name).Value.String() == "" {
			return usagef(`--%s must not be empty, got ""`, name)
		}
	}
	if fs.Changed("subsample") && f.Subsample == 0 {
		return usagef("--subsample must be from 0.000001 to 1, got 0")
	}
	for _, of := range [...]struct {
		needed string
		flags  []string
	}{
		{"pack", []string{"pack-strategy", "pack-eos", "pack-bos", "pack-value", "pack-fim", "pack-length"}},
		{"bucket", []string{"bucket-multiple", "bucket-rows"}},
	} {
		for _, name := range of.flags {
			if fs.Changed(name) && !fs.Changed(of.needed) {
				return usagef("--%s has no effect without --%s: add it", name, of.needed)
			}
		}
	}
	if fs.Changed("bucket-multiple") && f.Bucket.Multiple == 0 {
		return usagef("--bucket-multiple must be at least 1, got 0")
	}
	return nil
}

// checkStorage checks the flags of stores and of the cache.
func (f *flags) checkStorage(fs *pflag.FlagSet) error {
	switch endpoint, payer := f.Storage["endpoint-url"], f.Storage["request-payer"]; {
	case fs.Changed("request-payer") && payer != "requester":
		return usagef("--request-payer must be requester, got %q", payer)
	case endpoint != "" && !strings.HasPrefix(endpoint, "http://") && !strings.HasPrefix(endpoint, "https://"):
		return usagef("--endpoint-url must begin with http:// or https://, got %q", shard.Redact(endpoint))
	case f.unsigned && f.Storage["profile"] != "":
		return usagef("--no-sign-request reads without credentials and --profile names some: leave one out")
	}
	return f.checkCache(fs)
}

// checkCache checks the flags of the cache.
func (f *flags) checkCache(fs *pflag.FlagSet) error {
	switch {
	case fs.Changed("cache-dir") && f.CacheDir == "":
		return usagef(`--cache-dir must be a directory, got ""`)
	case f.NoCache && (fs.Changed("cache-limit") || fs.Changed("decoded-limit") || fs.Changed("cache-policy")):
		return usagef("--no-cache keeps nothing: leave out --cache-limit, --decoded-limit and --cache-policy")
	}
	return nil
}
