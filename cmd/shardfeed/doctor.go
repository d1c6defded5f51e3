package main

import (
	"cmp"
	"context"
	"errors"

	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/process"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/shardfeed/shardfeed"
	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/term"
	"github.com/shardfeed/shardfeed/images"
	"github.com/shardfeed/shardfeed/internal/cores"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/text"
)

func (a *app) doctor() *cobra.Command {
	f := &flags{}
	c := &cobra.Command{
		Use:   "doctor [flags] ADDRESS...",
		Short: "Show what is found at addresses, how fast it is read, and what this machine allows",
		Long: `doctor says how each address is reached and as whom, lists it as a run would, times the list, the
footers and reads in the middle of the shards, past any cache, and shows where the index of footers
and the cache are kept, what memory this process may use and who decodes JPEG. It changes nothing.`,
		Example: `  shardfeed doctor data/
  shardfeed doctor s3://bucket/table
  shardfeed doctor 'data/dt=2026-*/*.parquet' --json`,
	}
	fs := c.Flags()
	f.add(fs, "what.snapshot", "json", "storage", "cache")
	return a.verb(c, func(ctx context.Context, addresses []string) error {
		if err := f.check(ctx, fs); err != nil {
			return err
		}
		d, err := a.diagnose(ctx, addresses, f)
		if err != nil {
			return err
		}
		if err := a.print(f, d, d.report()); err != nil {
			return err
		}
		return d.problem
	})
}

type diagnosis struct {
	Places  []addressCheck `json:"places"`
	Index   directory      `json:"index"`
	Cache   cacheStatus    `json:"cache"`
	Machine machine        `json:"machine"`
	Images  imageSupport   `json:"images"`

	problem error // the first shard that could not be read
}

// A machine describes the resources that this process may use, in bytes unless noted.
type machine struct {
	CPUs          int   `json:"cpus"`
	Installed     int64 `json:"memory_bytes"`
	Cgroup        int64 `json:"cgroup_bytes"` // 0: no limit
	LocalRanks    int   `json:"local_ranks"`
	DefaultMemory int64 `json:"default_memory_bytes"`
	SharedMemory  int64 `json:"shared_memory_bytes"`
	LockLimit     int64 `json:"lock_limit_bytes"` // -1: no limit
	OpenFiles     int64 `json:"open_files"`
}

// imageSupport says who decodes JPEG here.
type imageSupport struct {
	Decoder string `json:"decoder"` // turbo or go, unless chosen
	Library string `json:"library"` // libjpeg-turbo's file
	Missing string `json:"missing"` // why libjpeg-turbo is not used
}

func imagesHere() imageSupport {
	d, err := newImageDecoders().of(shardfeed.Spec{Images: map[string]images.Options{"any": {}}})
	s := imageSupport{Decoder: d.name, Library: d.library}
	if err = cmp.Or(err, d.missing); err != nil {
		s.Missing = oneLine(err.Error())
	}
	return s
}

func (s imageSupport) report(r *term.Report) {
	r.Section("images")
	if s.Decoder == shardfeed.TurboDecoder {
		r.Fact("JPEG", "decoded by libjpeg-turbo, %s", s.Library)
		return
	}
	r.Fact("JPEG", "decoded in Go: %s", s.Missing)
}

func (a *app) diagnose(ctx context.Context, addresses []string, f *flags) (d *diagnosis, err error) {
	shown := term.NewOpening(a.stderr)
	defer shown.Close()
	s := f.at(nil)
	if s.Storage["retry-for"] == "" {
		s.Storage["retry-for"] = "3s" // fail fast: doctor reports the present state
	}
	stores, err := s.Stores(a.events(shown)) // without the cache: it measures the servers
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stores.Close()) }()
	d = &diagnosis{Index: indexDirectory(f.Places().Index), Cache: f.cacheStatus(), Machine: thisMachine(), Images: imagesHere()}
	for _, address := range addresses {
		p := examine(ctx, stores, address, f.Snapshot)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if d.problem == nil {
			d.problem = p.problem
		}
		d.Places = append(d.Places, *p)
	}
	return d, nil
}

func thisMachine() machine {
	m, ranks := mem.ThisMachine(), max(1, mem.LocalWorldSize())
	return machine{
		CPUs: cores.Number(), Installed: m.Installed, Cgroup: m.Cgroup, LocalRanks: ranks,
		DefaultMemory: m.RankLimit(ranks), SharedMemory: m.SharedLimit(), LockLimit: process.LimitOf(unix.RLIMIT_MEMLOCK), OpenFiles: process.LimitOf(unix.RLIMIT_NOFILE),
	}
}

func (d *diagnosis) report() *term.Report {
	r := &term.Report{}
	for i := range d.Places {
		d.Places[i].report(r)
	}
	r.Section("index of footers")
	r.Fact("directory", "%s", d.Index.Path)
	r.Fact("state", "%s", d.Index.State)
	if d.Index.Free > 0 {
		r.Fact("free", "%v", mem.Bytes(d.Index.Free))
	}
	d.Cache.report(r)
	d.Machine.report(r)
	d.Images.report(r)
	return r
}

func (m machine) report(r *term.Report) {
	limit := func(n int64, none string) string {
		if n <= 0 {
			return none
		}
		return mem.Bytes(n).String()
	}
	r.Section("this machine")
	r.Fact("processors", "%d", m.CPUs)
	r.Fact("memory", "%s", limit(m.Installed, "unknown"))
	r.Fact("cgroup limit", "%s", limit(m.Cgroup, "none"))
	r.Fact("ranks here", "%d (LOCAL_WORLD_SIZE)", m.LocalRanks)
	r.Fact("memory of a rank", "%v by default (--memory), %v for all ranks", mem.Bytes(m.DefaultMemory), mem.Bytes(m.SharedMemory))
	r.Fact("lock limit", "%s (what ulimit -l lets a process pin)", limit(m.LockLimit, "none"))
	r.Fact("open files", "%s", text.Count(m.OpenFiles))
}
