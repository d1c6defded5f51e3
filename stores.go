package shardfeed

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/shardfeed/shardfeed/cache"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/internal/regular"
	"github.com/shardfeed/shardfeed/internal/size"
	"github.com/shardfeed/shardfeed/rowgroup"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/all"
	"github.com/shardfeed/shardfeed/shard/azure"
	"github.com/shardfeed/shardfeed/shard/gs"
	"github.com/shardfeed/shardfeed/shard/hdfs"
	"github.com/shardfeed/shardfeed/shard/hub"
	"github.com/shardfeed/shardfeed/shard/s3"
	"github.com/shardfeed/shardfeed/shard/web"
	"github.com/shardfeed/shardfeed/table"
	"github.com/shardfeed/shardfeed/table/hive"
	"github.com/shardfeed/shardfeed/table/iceberg/rest"
)

const (
	// Of a rank's memory, what the stores may hold: bytes that wait for the cache's disk, and
	// footers and dictionaries.
	pendingPart, leastPending, mostPending = 16, 8 << 20, 64 << 20
	hotPart, leastHot, mostHot             = 64, 1 << 20, 32 << 20
	storePart                              = 4 // never more than this part, each

	finishFills = 10 * time.Second       // for fills that wait for the disk at the end
	dropFills   = 500 * time.Millisecond // after an interrupt
)

// A source is where a data set's shards come from. It is closed after the data set.
type source struct {
	shard.Stores              // as a run sees them
	drivers      shard.Stores // without the cache
	cache        *cache.Cache // nil: none
	dir          string       // of the cache
	local        bool         // what is decoded of files of this machine is kept there too
	hot          *rowgroup.Hot
	memory       int64 // bytes of a stream's memory that all this may hold
}

// Stores are the drivers of all schemes, without a cache. Nothing is asked of a server yet. The
// caller closes them.
func (s Spec) Stores(e Events) (shard.Stores, error) {
	o, err := s.drivers()
	if err != nil {
		return nil, err
	}
	waiting := e.Waiting
	if waiting == nil {
		waiting = e.Note
	}
	o.S3.Events = s3.Events{Listed: e.Listed, Waiting: waiting}
	o.HDFS.Events = hdfs.Events{Listed: e.Listed, Waiting: waiting, Warn: e.Note}
	o.Hub.Listed, o.GS.Listed, o.Azure.Listed = e.Listed, e.Listed, e.Listed
	o.Web.Waiting, o.Hub.Waiting, o.GS.Waiting, o.Azure.Waiting = waiting, waiting, waiting, waiting
	return all.Stores(o), nil
}

// connect chooses the stores and their wrappers: a driver for each scheme, and the disk cache
// around stores of servers, if it is requested, an address needs it and this machine has a place
// for it.
func (h *Host) connect(s Spec, e Events) (*source, error) {
	drivers, err := s.Stores(e)
	if err != nil {
		return nil, err
	}
	from := &source{drivers: drivers, Stores: maps.Clone(drivers)}
	remote := !s.NoCache && AnyRemote(s.AllAddresses())
	if from.local = s.keepsLocal(); !remote && !from.local {
		return from, nil
	}
	from.dir = s.Places().Root
	if from.cache, err = h.cacheIn(from.dir, func() (*cache.Cache, error) { return s.openCache(from.dir, e) }); err != nil {
		return nil, errors.Join(err, drivers.Close())
	}
	if from.cache != nil {
		from.memory = s.part(pendingPart, leastPending, mostPending)
	}
	if !remote {
		return from, nil
	}
	hot := s.part(hotPart, leastHot, mostHot)
	from.hot = h.hotOf(hot)
	from.memory += hot
	if s.LookMemory == 0 {
		from.throughCache((*cache.Cache).WrapSmall) // what comes with the footers will be read
	}
	return from, nil
}

// throughCache puts the cache around the stores of servers by wrap, once around each though several
// schemes share it. All but small shards are read through it once the footers are known, which the
// index keeps, and before anything else is read.
func (s *source) throughCache(wrap func(*cache.Cache, shard.Store) shard.Store) {
	if s.cache == nil {
		return
	}
	around := map[shard.Store]shard.Store{}
	for scheme, store := range s.drivers {
		if !IsRemote(scheme + "://") {
			continue
		}
		if around[store] == nil {
			around[store] = wrap(s.cache, store)
		}
		s.Stores[scheme] = around[store]
	}
}

// openCache opens the cache in dir, or returns nil where this machine has no place for one and none
// was named.
func (s Spec) openCache(dir string, e Events) (*cache.Cache, error) {
	if dir == "" {
		none := &spelledError{text: fmt.Sprintf("neither %s nor HOME is set", dirVariable)}
		if s.RequireCache || s.keepsLocal() {
			none.text = "there is no place for a cache: " + none.text + " ({CacheDir} names a directory on a local disk)"
			return nil, none
		}
		e.note("reading without a cache on disk: %s", none.text)
		return nil, nil
	}
	limit, decoded, err := s.limitsIn(dir)
	if wrong := (*OptionError)(nil); errors.As(err, &wrong) {
		return nil, err
	}
	if err != nil {
		err = fmt.Errorf("cache %s: %w", dir, err)
	}
	var c *cache.Cache
	if err == nil {
		policy, keep, _ := s.policy()
		c, err = cache.Open(cache.Options{
			Dir: dir, Limit: limit, DecodedLimit: decoded, Policy: policy, KeepFor: keep, Pending: s.part(pendingPart, leastPending, mostPending), Events: e.ofCache(),
		})
	}
	switch {
	case err == nil:
		return c, nil
	case s.RequireCache, s.keepsLocal(), s.CacheDir != "" && !errors.Is(err, cache.ErrNoRoom):
		return nil, elsewhere(err)
	}
	e.note("reading without a cache on disk: %v", err)
	return nil, nil
}

func (e Events) ofCache() cache.Events {
	var once sync.Once
	return cache.Events{
		Trouble: func(err error) {
			once.Do(func() { e.note("the cache on disk was off for a while, and bytes came from the servers: %v", err) })
		},
		Low:      func(err error) { e.note("%v", err) },
		ReadOnly: func(err error) { e.note("%v", err) },
	}
}

// elsewhere adds what to do about a directory that cannot be used, unless the error has it.
func elsewhere(err error) error {
	switch {
	case errors.Is(err, cache.ErrUnfit):
		return err
	case errors.Is(err, cache.ErrNoRoom):
		return &spelledError{err: err, text: " (make room there, or name a directory on another disk with {CacheDir})"}
	}
	return &spelledError{err: err, text: " (name another directory with {CacheDir})"}
}

// A spelledError is an error and a text that names fields.
type spelledError struct {
	err  error // nil: none
	text string
}

func (e *spelledError) Error() string { return e.Spelled(option.Go) }

func (e *spelledError) Spelled(name func(field string) string) string {
	text := option.Spell(e.text, name)
	if e.err != nil {
		text = option.Spelled(e.err, name) + text
	}
	return text
}

func (e *spelledError) Unwrap() error { return e.err }

// part is a part of a rank's memory, within bounds.
func (s Spec) part(of, least, most int64) int64 {
	memory := s.RankMemory()
	return min(max(memory/of, least), most, memory/storePart)
}

// RankMemory is the limit of a rank in bytes: Memory, or by default a share of the machine.
func (s Spec) RankMemory() int64 {
	if given, err := size.Bytes(s.Memory); err == nil {
		return given
	}
	if s.LookMemory > 0 {
		return s.LookMemory
	}
	if s.LocalWorldSize == 0 {
		return mem.DefaultLimit()
	}
	return mem.ThisMachine().RankLimit(s.LocalWorldSize)
}

// decodeLimit bounds the bytes of shards in memory, if it is not 0.
func (s Spec) decodeLimit() int64 {
	if s.LookMemory == 0 {
		return 0
	}
	return s.RankMemory()
}

// fillTime bounds the wait for a cache's disk at the end.
func fillTime(ctx context.Context) (context.Context, context.CancelFunc) {
	wait := finishFills
	if ctx.Err() != nil {
		wait = dropFills
	}
	return context.WithTimeout(context.WithoutCancel(ctx), wait)
}

// drivers are the options of the stores. An option under the name of a flag wins over the key of
// s3fs or Hadoop that says the same.
func (s Spec) drivers() (o all.Options, err error) {
	named := s.storageOf("")
	p := option.List{New: newOptionError}
	anonymous := false
	if text, ok := named["no-sign-request"]; ok {
		if anonymous, err = strconv.ParseBool(text); err != nil {
			p.Add("Storage.no-sign-request", "must be true or false, got %q", text)
		}
	}
	parsed := func(err error) {
		if err != nil {
			p.Join(&OptionError{Field: "Storage", Text: "cannot be used: " + option.Literal(err.Error()), Err: err})
		}
	}
	o.S3, err = s3.ParseOptions(s.storageOf("s3"))
	parsed(err)
	o.HDFS, err = hdfs.ParseOptions(s.storageOf("hdfs"))
	parsed(err)
	o.Web, err = web.ParseOptions(s.storageOf("http"))
	parsed(err)
	o.Hub, err = hub.ParseOptions(s.storageOf("hf"))
	parsed(err)
	o.GS, err = gs.ParseOptions(s.storageOf("gs"))
	parsed(err)
	o.Azure, err = azure.ParseOptions(s.storageOf("az"))
	parsed(err)
	_, err = rest.ParseOptions(s.storageOf("iceberg"))
	parsed(err)
	_, err = hive.ParseOptions(s.storageOf(hive.Scheme))
	parsed(err)
	o.S3.EndpointURL = cmp.Or(named["endpoint-url"], o.S3.EndpointURL)
	o.S3.Region = cmp.Or(named["region"], o.S3.Region)
	o.S3.Profile = cmp.Or(named["profile"], o.S3.Profile)
	o.S3.Anonymous = anonymous || o.S3.Anonymous
	o.S3.RequesterPays = named["request-payer"] != "" || o.S3.RequesterPays
	o.S3.CABundle = cmp.Or(named["ca-bundle"], o.S3.CABundle)
	if text, ok := named["retry-for"]; ok {
		if o.S3.RetryFor, err = time.ParseDuration(text); err != nil || o.S3.RetryFor <= 0 {
			p.Add("Storage.retry-for", "must be a time above 0 as in \"90s\" or \"5m\", got %q", text)
		}
		o.HDFS.RetryFor, o.Web.RetryFor, o.Hub.RetryFor = o.S3.RetryFor, o.S3.RetryFor, o.S3.RetryFor
		o.GS.RetryFor, o.Azure.RetryFor = o.S3.RetryFor, o.S3.RetryFor
	}
	o.HDFS.ConfDir = cmp.Or(named["hdfs-conf"], o.HDFS.ConfDir)
	o.HDFS.Keytab = cmp.Or(named["keytab"], o.HDFS.Keytab)
	o.HDFS.Principal = cmp.Or(named["principal"], o.HDFS.Principal)
	o.HDFS.CABundle = cmp.Or(named["ca-bundle"], o.HDFS.CABundle)
	bundle := named["ca-bundle"]
	o.Web.CABundle, o.Hub.CABundle, o.GS.CABundle, o.Azure.CABundle = bundle, bundle, bundle, bundle
	parsed(o.S3.Validate())
	parsed(o.HDFS.Validate())
	s.giveEnvironment(&o)
	return o, p.Err()
}

// flagNames are the keys of Storage that the command has flags for.
var flagNames = []string{
	"endpoint-url", "region", "profile", "no-sign-request", "request-payer", "ca-bundle", "hdfs-conf", "keytab", "principal", "retry-for",
}

// storeOf returns the store that a storage option is for: the scheme that is its prefix; "" for the
// name of a flag, "s3" for all other names.
func storeOf(key string) string {
	prefix, _, dotted := strings.Cut(key, ".")
	switch {
	case slices.Contains(flagNames, key):
		return ""
	case isHDFS(key):
		return "hdfs"
	case dotted && slices.Contains([]string{"http", "hf", "gs", "az", "iceberg", hive.Scheme}, prefix):
		return prefix
	}
	return "s3"
}

// isHDFS reports whether a storage option is for HDFS: by its prefix, or by a name that fsspec has
// for it.
func isHDFS(key string) bool {
	first, _, dotted := strings.Cut(key, ".")
	return dotted && slices.Contains([]string{"hdfs", "dfs", "fs", "hadoop"}, first) || key == "kerb_ticket" || key == "user"
}

// giveEnvironment lets the stores read Env, if it is given.
func (s Spec) giveEnvironment(o *all.Options) {
	if len(s.Env) == 0 {
		return
	}
	env := maps.Clone(s.Env)
	o.S3.Environ = env
	o.HDFS.Getenv = func(name string) string { return env[name] }
	o.Hub.Getenv, o.GS.Getenv, o.Azure.Getenv = o.HDFS.Getenv, o.HDFS.Getenv, o.HDFS.Getenv
	o.HDFS.User = cmp.Or(o.HDFS.User, env["HADOOP_USER_NAME"])
	o.HDFS.TokenFile = cmp.Or(o.HDFS.TokenFile, env["HADOOP_TOKEN_FILE_LOCATION"])
}

// IsRemote reports whether an address leads to a server: all do but addresses of this machine.
func IsRemote(address string) bool {
	_, address = table.Cut(address)
	scheme, _ := shard.SplitScheme(address)
	return scheme != "" && scheme != "file" && scheme != "mem"
}

// AnyRemote reports whether one of the addresses, or of those in the list files that they name,
// leads to a server. A list that cannot be read has none; listing it reports the error.
func AnyRemote(addresses []string) bool {
	for _, address := range addresses {
		list, isList := strings.CutPrefix(address, "@")
		if IsRemote(list) || isList && remoteInList(list) {
			return true
		}
	}
	return false
}

// remoteInList looks for an address of a server in a list file of this machine.
func remoteInList(name string) bool {
	scheme, rest := shard.SplitScheme(name)
	if scheme == "file" {
		name = rest
	}
	file, err := regular.Open(name)
	if err != nil {
		return false
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if line := bytes.TrimSpace(lines.Bytes()); bytes.Contains(line, []byte("://")) && IsRemote(string(line)) {
			return true
		}
	}
	return false
}
