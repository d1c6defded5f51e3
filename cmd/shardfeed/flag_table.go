package main

import (
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/shardfeed/shardfeed"
	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/values"
	"github.com/shardfeed/shardfeed/images"
	"github.com/shardfeed/shardfeed/images/boxes"
	"github.com/shardfeed/shardfeed/shuffle"
)

const (
	defaultBatch = 256

	dirVariable   = "SHARDFEED_CACHE_DIR"
	limitVariable = "SHARDFEED_CACHE_LIMIT"
)

// A setting is a flag that sets a field of a spec, or of the process.
type setting struct {
	set   string // the verbs that take it, see [flags.add]
	name  string
	field any // pointer, whose type chooses how the text is parsed
	help  string
	value string   // default
	words []string // values that shells suggest
}

// settings lists the flags that more than one verb takes, in the order of the help. A new option of
// a spec gets a line in one of the lists below.
func (f *flags) settings() []setting {
	return slices.Concat(f.columnSettings(), f.rowSettings(), f.valueSettings(), f.runSettings(), f.storeSettings())
}

// columnSettings lists the flags of shards and their columns.
func (f *flags) columnSettings() []setting {
	return []setting{
		{set: "what.columns", name: "columns", field: &f.Columns, help: "read these columns only: names, dotted paths or patterns (num_*), with commas or repeated; the schema's order is kept"},
		{set: "what.shards", name: "strict", field: &f.Strict, help: "refuse a directory that holds *.md, *.json, *.txt or *.crc beside its parquet files (default: leave them out)"},
		{set: "what.shards", name: "manifest", field: &f.Manifest, help: "use the list of shards in this `file`, kept by an earlier run, and ignore shards that were added since"},
		{set: "what.snapshot", name: "snapshot", field: &f.Snapshot, help: "read this snapshot of a table (delta+..., iceberg+...): a version, ID, tag, branch or time such as 2026-01-31T00:00:00Z (default: the latest)"},
		{set: "what.reading", name: "missing", field: &f.Missing, help: "columns that some shards lack: error or null", value: "error", words: []string{"error", "null"}},
		{set: "what.reading", name: "partition-types", field: &f.PartitionTypes, help: "types of partition columns, as in month=int32,zip=string (default: what the values show)"},
		{set: "what.reading", name: "invalid-utf8", field: &f.InvalidUTF8, help: "strings that are not UTF-8: refuse, or replace by U+FFFD", value: "refuse", words: []string{"refuse", "replace"}},
		{set: "ids", name: "row-ids", field: &f.RowIDs, help: "add _row, the row's number in the list of shards, and source, the number of the address that found its shard"},
	}
}

// rowSettings lists the flags that choose rows and mix sources.
func (f *flags) rowSettings() []setting {
	return []setting{
		{set: "rows.chosen", name: "where", field: &f.Filters, help: "read the rows for which this `filter` is true, as in 'score >= 0.5 and lang in (\"en\", \"de\") and not (id in @drop.txt)'"},
		{set: "rows.chosen", name: "parts", field: &f.Parts, help: "divide all rows by weight, before the filter, as in train=9,val=1"},
		{set: "rows.chosen", name: "part", field: &f.Part, help: "`name` of the part that is read"},
		{set: "rows.chosen", name: "part-key", field: &f.PartKey, help: "`column` whose values decide, so that rows of one value are in one part (default: exact shares of rows)"},
		{set: "rows.chosen", name: "part-seed", field: &f.PartSeed, help: "seed that draws which rows are in which part"},
		{set: "rows.chosen", name: "subsample", field: &f.Subsample, help: "read this share of the part's rows, as in 0.1"},
		{set: "rows.chosen", name: "rows", field: &f.Rows, help: "read the rows that this `file` lists, which select wrote"},
		{set: "rows.chosen", name: "rows-new", field: &f.RowsNew, help: "rows of shards that the file of --rows does not know: error, keep or drop (default: error)", words: []string{"error", "keep", "drop"}},
		{set: "rows.weight", name: "weight", field: &f.Weight, help: "`column` that says how often each row comes: 2.5 is twice or three times, drawn by the row"},

		{set: "sources.files", name: "sources", field: &sourcesFile{list: &f.Sources}, help: "read several data sets by weight, in place of addresses: a JSON `file` of objects by name, as in {\"web\": {\"addresses\": [\"web/\"], \"weight\": 7}}"},
		{set: "sources.mixture", name: "stop", field: (*string)(&f.Stop), help: "end an epoch when the first source has given all its rows, or when all have: first or all (default: first)", words: []string{"first", "all"}},
		{set: "sources.mixture", name: "epoch-size", field: &f.EpochSize, help: "samples of an epoch, for sources or addresses; epochs continue passes over the rows (default: all rows, or by --stop)"},
		{set: "sources.mixture", name: "curriculum", field: &curriculumFile{list: &f.Curriculum}, help: "weights that come later: a JSON `file` as in [{\"from\": 1000000, \"weights\": {\"web\": 3}}]; it needs --epoch-size"},
		{set: "sources.mixture", name: "weights-in", field: &f.WeightsIn, help: "what weights are in: samples or tokens (default: samples)", words: []string{"samples", "tokens"}},
		{set: "sources.mixture", name: "tokens", field: &f.Tokens, help: "the list `column` whose items are tokens, for --weights-in tokens (default: that of --bucket, or the one list column)"},
		{set: "sources.batching", name: "batching", field: (*string)(&f.Batching), help: "stratified: each step has all sources; per_source: each step is of one (default: stratified)", words: []string{"stratified", "per_source"}},
	}
}

// valueSettings lists the flags that pack rows and transform values.
func (f *flags) valueSettings() []setting {
	if f.Pack == nil {
		f.Pack, f.Bucket = &shardfeed.Pack{}, &shardfeed.Bucket{}
	}
	return []setting{
		{set: "tokenize", name: "tokenize", field: (*values.Tokenizers)(&f.Tokenize), help: "make tokens of a text column by the tokenizer.json at an address, as in text=tokenizer.json; specials=text, template, max_tokens=512, join=column and labels=column may follow after commas, and pattern=cl100k_base for a file of tiktoken; repeated for others"},
		{set: "pack", name: "pack", field: &f.Pack.Columns, help: "make blocks of so many tokens of a column of lists, or of --tokenize, as in token_ids=8192; a block is a row then"},
		{set: "pack", name: "pack-strategy", field: &f.Pack.Strategy, help: "wrapped, bfd (documents are not cut but to the size of a block) or bfd_split (longer ones are cut into several) (default: wrapped)", words: []string{"wrapped", "bfd", "bfd_split"}},
		{set: "pack", name: "pack-eos", field: &values.Token{Number: &f.Pack.EOS, Text: &f.Pack.EOSText}, help: "write this `token` behind each document: a number or, with --tokenize, a text as in \"<|endoftext|>\""},
		{set: "pack", name: "pack-bos", field: &values.Token{Number: &f.Pack.BOS, Text: &f.Pack.BOSText}, help: "write this `token` before each document"},
		{set: "pack", name: "pack-value", field: &values.Token{Number: &f.Pack.Value, Text: &f.Pack.ValueText}, help: "fill the end of a block, after its last document, with this `token` (default: 0)"},
		{set: "pack", name: "pack-fim", field: &values.FIM{Pack: &f.Pack.FIM}, help: "fill-in-the-middle: permute documents of blocks into prefix, suffix and middle by `tokens`, as in " + values.FIMExample + ": numbers or, with --tokenize, texts. rate=0.5, spm_rate=0.5 and boundary=8 may follow, the last repeatedly"},
		{set: "pack", name: "pack-length", field: &f.Pack.Length, help: "`column` with the lists' lengths, so that blocks are counted without reading the lists"},
		{set: "bucket", name: "bucket", field: &f.Bucket.Columns, help: "make batches of rows of about the same length, of at most so many tokens with padding, as in token_ids=16384; the column has lists or their lengths"},
		{set: "bucket", name: "bucket-multiple", field: &f.Bucket.Multiple, help: "round lengths up to a multiple of this number", value: "1"},
		{set: "bucket", name: "bucket-rows", field: &f.Bucket.MaxRows, help: "the most rows of a batch (default: no bound)"},

		{set: "features", name: "cast", field: &f.Cast, help: "types of columns, by names or patterns, as in label=int32,num_*=bfloat16"},
		{set: "features", name: "hash", field: &f.Hash, help: "number of buckets of columns whose values are hashed, as in user_id=1000000"},
		{set: "features", name: "scale", field: &f.Scale, help: "mean and deviation by which a column is scaled, as in price=12.5,3.1; repeated for others"},
		{set: "features", name: "stack", field: &f.Stack, help: "columns that become one matrix, as in x=num_*,price, or x:bfloat16=num_*,price for another type than float32; repeated for others"},
		{set: "images", name: "images", field: &f.Images, help: imagesUsage},
		{set: "images", name: "boxes", field: &f.Boxes, help: "a column of boxes or points that follow a column of images, as in boxes=of=img,format=xywh,min_size=2,drop_with=labels:areas; repeated for others"},
	}
}

// runSettings lists the flags of a run: its order, steps and ranks.
func (f *flags) runSettings() []setting {
	return []setting{
		{set: "steps", name: "batch-size", field: &f.BatchSize, help: "rows of a batch, per rank", value: strconv.Itoa(defaultBatch)},
		{set: "steps", name: "tail", field: (*string)(&f.Tail), help: "the rows at the end that do not fill a batch on every rank: drop, pad, short or carry (default: pad, or short at world size 1)", words: []string{"drop", "pad", "short", "carry"}},

		{set: "order", name: "shuffle", field: &f.Shuffle, help: "training order instead of file order"},
		{set: "order", name: "shuffle-buffer", field: &specText{&f.ShuffleBuffer, "rows|size"}, help: "rows that are mixed at once, over all ranks: a number of rows or bytes, or of each, as in 1GiB/rank or 8GiB/node (default: 1% of the data within 256MiB and 2GiB; less of data under 2GiB)"},
		{set: "order", name: "seed", field: &f.Seed, help: "seed of the order"},
		{set: "order", name: "epoch", field: &f.epoch, help: "the first epoch, from 0; each has an order of its own"},
		{set: "order", name: "lanes", field: &f.Lanes, help: "pin the plan's number of lanes (default: by the rule)"},
		{set: "order", name: "unit-rows", field: &f.UnitRows, help: "pin the rows of the units that are loaded and mixed as one; with a page index, no fewer than a page has (default: by the rule)"},
		{set: "order", name: "start", field: (*string)(&f.Start), help: "filled: mixed from the first batch on; direct: the first batch sooner", value: string(shuffle.Filled), words: []string{"filled", "direct"}},
		{set: "order.plan", name: "plan", field: &f.Plan, help: "pin shards and order to what plan --save wrote into this `file`, a path or an address such as s3://bucket/run.plan"},
		{set: "order", name: "max-world-size", field: &f.MaxWorldSize, help: "the largest world size that the run will ever have (default: the world size)"},
		{set: "epochs", name: "epochs", field: &f.epochs, help: "how many epochs", value: "1"},

		{set: "losses", name: "on-error", field: (*string)(&f.OnError), help: "rows whose data is corrupt, gone or changed: raise, mask (other rows stand in their places, and do not count) or skip", value: "raise", words: []string{"raise", "mask", "skip"}},
		{set: "losses", name: "max-lost", field: &f.MaxLost, help: "the share of an epoch's rows that may be lost under mask and skip, from 0 to 1; one place always may (default: 0.001)"},

		{set: "rank", name: "rank", field: &f.rank, help: "this rank, from 0"},
		{set: "rank", name: "world-size", field: &f.worldSize, help: "number of ranks", value: "1"},
		{set: "rank.memory", name: "memory", field: &specText{&f.Memory, "size"}, help: "limit of a rank in bytes, as in 512MiB (default: a quarter of the machine's or cgroup's)"},
		{set: "limit", name: "limit", field: &f.limit, help: "stop after so many rows"},
		{set: "json", name: "json", field: &f.json, help: "print one JSON object and nothing else"},
	}
}

// storeSettings lists the flags of servers and the cache.
func (f *flags) storeSettings() []setting {
	stored := func(key string) *storageText { return &storageText{&f.Storage, key} }
	return []setting{
		{set: "storage", name: "endpoint-url", field: stored("endpoint-url"), help: "S3: `URL` of a server that is not AWS (default: AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL, the profile)"},
		{set: "storage", name: "region", field: stored("region"), help: "S3: region of the bucket (default: AWS_REGION, the profile, else the bucket is asked)"},
		{set: "storage", name: "profile", field: stored("profile"), help: "S3: profile of ~/.aws/config and ~/.aws/credentials (default: AWS_PROFILE)"},
		{set: "storage", name: "no-sign-request", field: &f.unsigned, help: "S3: read a public bucket without credentials"},
		{set: "storage", name: "request-payer", field: stored("request-payer"), help: "S3: requester agrees to pay for reading", words: []string{"requester"}},
		{set: "storage", name: "ca-bundle", field: stored("ca-bundle"), help: "`file` of the certificate authorities that https servers are checked against (default: the system's, AWS_CA_BUNDLE)"},
		{set: "storage", name: "hdfs-conf", field: stored("hdfs-conf"), help: "HDFS: `directory` of core-site.xml and hdfs-site.xml (default: HADOOP_CONF_DIR, HADOOP_HOME/etc/hadoop)"},
		{set: "storage", name: "keytab", field: stored("keytab"), help: "HDFS and Hive: log in by Kerberos with the key in this `file` (default: KRB5_CLIENT_KTNAME, else the tickets of kinit)"},
		{set: "storage", name: "principal", field: stored("principal"), help: "HDFS and Hive: `name` that the keytab is for (default: its first)"},
		{set: "storage", name: "retry-for", field: stored("retry-for"), help: "how long requests that fail in passing are made again without progress, as in 5m: while a server restarts, say (default 1m)"},
		{set: "storage", name: "storage-option", field: &f.moreStorage, help: "any other option by its key (s3fs's for S3; hdfs.*, dfs.*, fs.* for HDFS; gs.*, az.*, hf.*, http.*; iceberg.*, hive.* for catalogs); @FILE.json holds many; may be repeated"},

		{set: "cache.kept.dir", name: "cache-dir", field: &f.CacheDir, help: "`directory` on a local disk (default: " + dirVariable + ", SLURM_TMPDIR/shardfeed, XDG_CACHE_HOME/shardfeed, ~/.cache/shardfeed)"},
		{set: "cache.kept", name: "cache-limit", field: &f.CacheLimit, help: "most bytes to keep: a `size`, as in 200GiB, or a part of the free space, as in 50% (default: " + limitVariable + ", else the smaller of half the free space and 100GiB)"},
		{set: "cache.kept", name: "decoded-limit", field: &f.DecodedLimit, help: "most bytes to keep decoded, so that later epochs need not decode again: a `size`, a part of the free space, or 0 (default: what --cache-limit leaves for shards on servers, nothing for local files)"},
		{set: "cache.kept", name: "cache-policy", field: &f.CachePolicy, help: "when it is full: `keep` what was used in the last 24 hours, which is best for epochs, or keep=7d or keep=36h for another time, or lru", value: "keep", words: []string{"keep", "lru"}},
		{set: "cache", name: "no-cache", field: &f.NoCache, help: "keep nothing and use nothing that was kept"},
	}
}

// flagTitles are the titles under which the help shows sets of flags.
var flagTitles = map[string]string{
	"rows": rowsGroup, "sources": sourcesGroup, "pack": packGroup, "bucket": bucketGroup, "tokenize": featuresGroup, "features": featuresGroup, "images": featuresGroup,
	"order": orderGroup, "storage": storageGroup, "cache": cacheGroup,
}

// add registers sets of flags, each with the sets below it: "what" has "what.columns" too.
func (f *flags) add(fs *pflag.FlagSet, sets ...string) {
	all := f.settings()
	for _, set := range sets {
		for _, s := range all {
			if s.set == set || strings.HasPrefix(s.set, set+".") {
				s.register(fs)
			}
		}
	}
}

// register adds the flag.
func (s setting) register(fs *pflag.FlagSet) {
	flag := s.flag(fs)
	if s.value != "" {
		_ = flag.Value.Set(s.value) // a constant that is valid
		flag.DefValue = s.value
	}
	top, _, _ := strings.Cut(s.set, ".")
	if title := flagTitles[top]; title != "" {
		_ = fs.SetAnnotation(s.name, groupKey, []string{title}) // the flag is there
	}
	if s.words != nil {
		_ = fs.SetAnnotation(s.name, wordsKey, s.words)
	}
}

func (s setting) flag(fs *pflag.FlagSet) *pflag.Flag {
	switch p := s.field.(type) {
	case *bool:
		fs.BoolVar(p, s.name, false, s.help)
	case *string:
		fs.StringVar(p, s.name, "", s.help)
	case *[]string:
		fs.StringSliceVar(p, s.name, nil, s.help)
	case *int:
		fs.IntVar(p, s.name, 0, s.help)
	case *int64:
		fs.Int64Var(p, s.name, 0, s.help)
	case *uint64:
		fs.Uint64Var(p, s.name, 0, s.help)
	case *float64:
		fs.Float64Var(p, s.name, 0, s.help)
	default:
		fs.Var(flagOf(p), s.name, s.help)
	}
	return fs.Lookup(s.name)
}

// flagOf parses the fields that pflag has no type for.
func flagOf(field any) pflag.Value {
	switch p := field.(type) {
	case *map[string]string:
		return (*values.Casts)(p)
	case *map[string]int64:
		return (*values.Hashes)(p)
	case *map[string]int:
		return (*values.Sizes)(p)
	case *map[string]float64:
		return (*values.Weights)(p)
	case *map[string][]float64:
		return (*values.Scales)(p)
	case *map[string]shardfeed.Stack:
		return (*values.Stacks)(p)
	case *map[string]images.Options:
		return (*values.Images)(p)
	case *map[string]boxes.Options:
		return (*values.Boxes)(p)
	}
	return field.(pflag.Value)
}
