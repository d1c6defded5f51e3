package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/shardfeed/shardfeed/cache"
	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/term"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/printable"
	"github.com/shardfeed/shardfeed/internal/text"
)

func (a *app) caches() *cobra.Command {
	c := &cobra.Command{
		Use:   "cache",
		Short: "Show, check and clean the cache of remote shards on this machine's disk",
		Long: `The cache keeps what runs read of remote shards, below one directory that all jobs of this
machine share. These verbs look after it. None of them asks a server, and all may be used while
jobs run: what a job reads at this moment is never removed.`,
		Example: `  shardfeed cache du
  shardfeed cache gc --older-than 7d --to 100GiB
  shardfeed cache clear`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("unknown command %q for \"shardfeed cache\"", args[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.cacheList(), a.cacheUsage(), a.cacheVerify(), a.cacheCollect(), a.cacheClear(), a.cachePath())
	return c
}

// cacheVerb completes a verb of cache. Do gets the directory; the verb prints an object with --json,
// and a report without.
func (a *app) cacheVerb(c *cobra.Command, f *flags, do func(ctx context.Context, dir string) (object any, people func(r *term.Report), err error)) *cobra.Command {
	fs := c.Flags()
	f.add(fs, "cache.kept.dir", "json")
	fs.Lookup("cache-dir").Annotations = nil // one title is enough
	c.Args = cobra.NoArgs
	return a.runs(c, func(ctx context.Context, _ []string) error {
		if err := f.checkCache(fs); err != nil {
			return err
		}
		dir := f.Places().Root
		if dir == "" {
			return fmt.Errorf("there is no cache: neither %s nor HOME is set (--cache-dir names its directory)", dirVariable)
		}
		object, people, err := do(ctx, dir)
		if err != nil {
			return err
		}
		r := &term.Report{}
		people(r)
		return a.print(f, object, r)
	})
}

func (a *app) cachePath() *cobra.Command {
	c := &cobra.Command{
		Use: "path [flags]", Short: "Print the directory of the cache", Example: `  shardfeed cache path
  du -sh "$(shardfeed cache path)"`,
		Long: `path prints the directory in which the cache, the index of footers and the lists of shards are
kept.`,
	}
	return a.cacheVerb(c, &flags{}, func(_ context.Context, dir string) (any, func(*term.Report), error) {
		return map[string]string{"path": dir}, func(r *term.Report) { r.Line(dir) }, nil
	})
}

func (a *app) cacheUsage() *cobra.Command {
	c := &cobra.Command{
		Use: "du [flags]", Short: "Show how much disk space the cache takes", Example: `  shardfeed cache du
  shardfeed cache du --json`,
		Long: `du shows how much disk space the cache takes, its limit, and how much is free. What is decoded is
part of what it holds.`,
	}
	return a.cacheVerb(c, &flags{}, func(_ context.Context, dir string) (any, func(*term.Report), error) {
		space, err := cache.Usage(dir)
		return space, func(r *term.Report) {
			r.Section("cache in " + dir)
			r.Fact("holds", "%v of %s", mem.Bytes(space.Bytes), text.Plural(int64(space.Shards), "shard"))
			if space.Decoded > 0 {
				r.Fact("decoded", "%v of them, of %s", mem.Bytes(space.DecodedBytes), text.Plural(int64(space.Decoded), "shard"))
			}
			if space.Limit > 0 {
				r.Fact("limit", "%v, of the run that used it last", mem.Bytes(space.Limit))
			}
			r.Fact("free", "%v on this disk", mem.Bytes(space.Free))
		}, err
	})
}

func (a *app) cacheList() *cobra.Command {
	c := &cobra.Command{
		Use: "ls [flags]", Short: "List the shards in the cache", Example: `  shardfeed cache ls
  shardfeed cache ls --json | jq '.entries[].uri'`,
		Long: `ls lists the shards in the cache by address: their size, how much of it is held, when it was last
used and until when it is kept. A shard that changed on its server is there once for each version.
What is decoded of a shard is a line of its own.`,
	}
	return a.cacheVerb(c, &flags{}, func(ctx context.Context, dir string) (any, func(*term.Report), error) {
		entries, err := cache.List(ctx, dir)
		if entries == nil {
			entries = []cache.Entry{}
		}
		return map[string]any{"path": dir, "entries": entries}, func(r *term.Report) { listEntries(r, dir, entries) }, err
	})
}

func listEntries(r *term.Report, dir string, entries []cache.Entry) {
	if len(entries) == 0 {
		r.Line("the cache is empty: " + dir)
		return
	}
	lines := [][]string{{"address", "kind", "size", "held", "last used", "kept until"}}
	for _, e := range entries {
		until := moment(e.KeptUntil)
		if e.Superseded {
			until = "a newer version is there"
		}
		what := "encoded"
		if e.Decoded {
			what = "decoded"
		}
		lines = append(lines, []string{printable.Text(e.URI), what, mem.Bytes(e.Size).String(), mem.Bytes(e.Held).String(), moment(e.Used), until})
	}
	r.Table(lines)
}

// moment is a time to the minute, of this machine's zone.
func moment(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.Local().Format("2006-01-02 15:04")
}

func (a *app) cacheVerify() *cobra.Command {
	f := &flags{}
	c := &cobra.Command{
		Use: "verify [flags]", Short: "Read the whole cache and check every byte", Example: `  shardfeed cache verify`,
		Long: `verify reads the whole cache and checks every block against its checksum. What is damaged is
dropped and will be fetched again when it is needed; that is reported and is no failure. (Runs
check what they read, always.)`,
	}
	return a.cacheVerb(c, f, func(ctx context.Context, dir string) (any, func(*term.Report), error) {
		space, err := cache.Usage(dir)
		if err != nil {
			return nil, nil, err
		}
		bar := term.NewByteProgress(a.stderr, "verify", max(1, space.Bytes))
		defer bar.Close()
		found, err := cache.Verify(ctx, dir, func(n int64) { bar.Add(int(n)) })
		return found, func(r *term.Report) {
			r.Section("cache in " + dir)
			r.Fact("checked", "%v of %s", mem.Bytes(found.Bytes), filesOf(found.Shards, found.Decoded))
			if found.Bad == 0 && len(found.BadURIs) == 0 {
				r.Fact("damaged", "nothing")
				return
			}
			r.Fact("damaged", "%s, dropped; in %s", text.Plural(found.Bad, "block"), strings.Join(found.BadURIs, " "))
		}, err
	})
}

func (a *app) cacheClear() *cobra.Command {
	var decoded bool
	c := &cobra.Command{
		Use: "clear [flags]", Short: "Remove everything from the cache", Example: `  shardfeed cache clear
  shardfeed cache clear --decoded`,
		Long: `clear removes all that the cache holds, at once and without a question: all of it can be fetched
again. What a job reads at this moment stays. The index of footers and the lists of shards beside
the cache stay too.`,
	}
	c.Flags().BoolVar(&decoded, "decoded", false, "remove only what is decoded, and leave the shards")
	return a.cacheVerb(c, &flags{}, func(ctx context.Context, dir string) (any, func(*term.Report), error) {
		var freed cache.Freed
		var err error
		if decoded {
			freed, err = cache.Collect(ctx, dir, cache.CollectOptions{Decoded: true})
		} else {
			freed, err = cache.Clear(ctx, dir)
		}
		return freed, func(r *term.Report) { reportFreed(r, dir, freed) }, err
	})
}

func (a *app) cacheCollect() *cobra.Command {
	f := &flags{}
	var older age
	var to byteSize
	c := &cobra.Command{
		Use: "gc [flags]", Short: "Remove old shards from the cache", Example: `  shardfeed cache gc
  shardfeed cache gc --older-than 7d
  shardfeed cache gc --to 100GiB`,
		Long: `gc removes the versions of shards that were replaced by newer ones and what killed runs left
behind; with --older-than also what was not used for so long, with --to then what is decoded and
then shards, those used longest ago first, until so much is left. What a job reads at this moment
stays.`,
	}
	c.Flags().Var(&older, "older-than", "also remove shards that were not used for so long, as in 36h or 7d")
	c.Flags().Var(&to, "to", "then remove the least recently used shards until so much is left, as in 100GiB")
	return a.cacheVerb(c, f, func(ctx context.Context, dir string) (any, func(*term.Report), error) {
		freed, err := cache.Collect(ctx, dir, cache.CollectOptions{OlderThan: time.Duration(older), ToBytes: int64(to), Superseded: true})
		return freed, func(r *term.Report) { reportFreed(r, dir, freed) }, err
	})
}

func reportFreed(r *term.Report, dir string, freed cache.Freed) {
	r.Section("cache in " + dir)
	r.Fact("removed", "%s, %v", filesOf(freed.Shards, freed.Decoded), mem.Bytes(freed.Bytes))
	if freed.InUse > 0 {
		r.Fact("kept", "%s that a job reads now", text.Plural(int64(freed.InUse), "shard"))
	}
}

// filesOf describes a count of shards and of shards with decoded bytes.
func filesOf(shards, decoded int) string {
	s := text.Plural(int64(shards), "shard")
	if decoded > 0 {
		s += fmt.Sprintf(", %d decoded", decoded)
	}
	return s
}
