package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/shardfeed/shardfeed"
)

// packFlags say how documents become blocks.
type packFlags struct {
	columns  blockSizes
	strategy string
	eos, bos tokenFlag
	value    int64
	length   string

	bucket         blockSizes
	bucketMultiple int
	bucketRows     int
}

// packing registers the flags of packing.
func (f *packFlags) packing(fs *pflag.FlagSet) {
	group(fs, packGroup, func(fs *pflag.FlagSet) {
		fs.Var(&f.columns, "pack", "make blocks of so many tokens of a column of lists, as in token_ids=8192; a block is a row then")
		fs.StringVar(&f.strategy, "pack-strategy", "", "wrapped, bfd (documents are not cut but to the size of a block) or bfd_split (longer ones are cut into several) (default: wrapped)")
		fs.Var(&f.eos, "pack-eos", "write this `token` behind each document")
		fs.Var(&f.bos, "pack-bos", "write this `token` before each document")
		fs.Int64Var(&f.value, "pack-value", 0, "the `token` behind the last document of a block")
		fs.StringVar(&f.length, "pack-length", "", "`column` with the lists' lengths, so that blocks are counted without reading the lists")
	})
	group(fs, bucketGroup, func(fs *pflag.FlagSet) {
		fs.Var(&f.bucket, "bucket", "make batches of rows of about the same length, of at most so many tokens with padding, as in token_ids=16384; the column has lists or their lengths")
		fs.IntVar(&f.bucketMultiple, "bucket-multiple", 1, "round lengths up to a multiple of this number")
		fs.IntVar(&f.bucketRows, "bucket-rows", 0, "the most rows of a batch (default: no bound)")
	})
}

// buckets is nil without the flag.
func (f *packFlags) buckets() *shardfeed.Bucket {
	if len(f.bucket) == 0 {
		return nil
	}
	return &shardfeed.Bucket{Columns: f.bucket, Multiple: f.bucketMultiple, MaxRows: f.bucketRows}
}

// pack is nil without the flag.
func (f *packFlags) pack() *shardfeed.Pack {
	if len(f.columns) == 0 {
		return nil
	}
	return &shardfeed.Pack{Columns: f.columns, Strategy: f.strategy, EOS: f.eos.given, BOS: f.bos.given, Value: f.value, Length: f.length}
}

// checkPack refuses flags that have no effect.
// blockTokens is the number of tokens in a packed block, 0 without --pack.
func (f *packFlags) blockTokens() (tokens int64) {
	if p := f.pack(); p != nil {
		for _, n := range p.Columns {
			tokens = int64(n) // the same for all
		}
	}
	return tokens
}

func (f *packFlags) checkPack(fs *pflag.FlagSet) error {
	for _, name := range [...]string{"pack-strategy", "pack-eos", "pack-bos", "pack-value", "pack-length"} {
		if fs.Changed(name) && len(f.columns) == 0 {
			return usagef("--%s has no effect without --pack: add it", name)
		}
	}
	for _, name := range [...]string{"bucket-multiple", "bucket-rows"} {
		if fs.Changed(name) && len(f.bucket) == 0 {
			return usagef("--%s has no effect without --bucket: add it", name)
		}
	}
	if fs.Changed("bucket-multiple") && f.bucketMultiple == 0 {
		return usagef("--bucket-multiple must be at least 1, got 0")
	}
	return nil
}

// blockSizes is a flag that gives sizes to columns: token_ids=8192. It may be given many times.
type blockSizes map[string]int

func (b *blockSizes) Set(s string) error {
	return setPairs((*map[string]int)(b), s, "token_ids=8192", strconv.Atoi)
}

func (b *blockSizes) String() string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(*b)) {
		all = append(all, fmt.Sprintf("%s=%d", name, (*b)[name]))
	}
	return strings.Join(all, ",")
}

func (b *blockSizes) Type() string { return "column=tokens" }

// A tokenFlag is a flag that is a whole number, or not given.
type tokenFlag struct{ given *int64 }

func (t *tokenFlag) Set(s string) error {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return fmt.Errorf("must be a whole number, got %q", s)
	}
	t.given = &n
	return nil
}

func (t *tokenFlag) String() string {
	if t.given == nil {
		return ""
	}
	return strconv.FormatInt(*t.given, 10)
}

func (t *tokenFlag) Type() string { return "token" }
