package main

import (
	"context"
	"errors"
	"time"

	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/process"

	"github.com/spf13/cobra"

	"github.com/shardfeed/shardfeed"
	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/term"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/text"
	"github.com/shardfeed/shardfeed/internal/wait"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shuffle"
)

func (a *app) bench() *cobra.Command {
	f := &flags{}
	c := &cobra.Command{
		Use:   "bench [flags] ADDRESS...",
		Short: "Stream as training would and measure it",
		Long: `bench streams batches as training gets them, touches every byte of each, and reports rows per
second, processor time, memory, the time to the first batch, what was waited for, what was asked of
servers and what came from the cache. All times and bytes are those of this process, from opening
the shards on. With --device the batches are collated into page-locked memory and copied to a GPU;
what lies there is not touched. With --images it decodes, crops and changes images as training would.`,
		Example: `  shardfeed bench data/
  shardfeed bench data/ --shuffle --batch-size 1024 --memory 1GiB
  shardfeed bench data/ --columns token_ids --limit 1000000 --json
  shardfeed bench s3://bucket/table --shuffle --epochs 2
  shardfeed bench data/ --shuffle --device cuda:0
  shardfeed bench data/ --columns img,label --images img=imagenet_train`,
	}
	fs := c.Flags()
	f.add(fs, "what", "limit", "rows", "sources", "tokenize", "pack", "bucket", "features", "images", "steps", "order", "epochs", "losses", "rank")
	setting{name: "device", field: &f.device, help: "copy the batches to a device, and touch those that are on the host: auto, host, cuda or cuda:N (default: none)", words: deviceNames}.register(fs)
	f.add(fs, "json", "storage", "cache")
	return a.verb(c, func(ctx context.Context, addresses []string) error {
		if err := f.check(ctx, fs); err != nil {
			return err
		}
		if f.limit.left(0, 1) == 0 {
			return usagef("--limit must be at least 1, got 0: nothing is left to measure")
		}
		m, err := a.measure(ctx, addresses, f)
		if err != nil {
			return err
		}
		return a.print(f, m, m.report())
	})
}

type measurement struct {
	Rows              int64                `json:"rows"`
	Tokens            int64                `json:"tokens"` // of packed blocks, padding included; 0 without --pack
	Batches           int64                `json:"batches"`
	Seconds           float64              `json:"seconds"`
	UserSeconds       float64              `json:"user_seconds"`
	SystemSeconds     float64              `json:"system_seconds"`
	CPUSeconds        float64              `json:"cpu_seconds"`
	FirstBatchSeconds float64              `json:"first_batch_seconds"`
	DecodedBytes      int64                `json:"decoded_bytes"` // of the batches' columns
	ReadBytes         int64                `json:"read_bytes"`
	KeptBytes         int64                `json:"kept_decoded_bytes"` // that came decoded from the local disk
	PeakRSS           int64                `json:"peak_rss_bytes"`
	BudgetBytes       int64                `json:"budget_bytes"` // reserved before the first read
	GroupsPerBatch    float64              `json:"row_groups_per_batch"`
	Wait              wait.Report          `json:"wait"`
	Storage           shard.Traffic        `json:"storage"`
	Stores            []shard.StoreTraffic `json:"stores"` // each bucket, name service and server, local files and memory
	Cache             *cacheUse            `json:"cache"`  // null: no cache was used
	Device            *deviceUse           `json:"device,omitempty"`
	LostRows          int64                `json:"lost_rows"`           // that could not be read, under --on-error mask or skip
	Lost              []lostPlace          `json:"lost"`                // the places of lost rows
	Truncated         int64                `json:"truncated_documents"` // that lost tokens, under --pack-strategy bfd and max_tokens of --tokenize
	Tokenized         int64                `json:"tokenized_tokens"`    // made of texts, by --tokenize
	Special           int64                `json:"special_documents"`   // texts of these that contain special tokens
	Displaced         int64                `json:"displaced_tokens"`    // that --pack-fim moved beyond the ends of blocks, and lost

	ImageDecoder   string   `json:"image_decoder"`    // of JPEGs: turbo or go; empty: no images were decoded
	ImagesDecoded  int64    `json:"images_decoded"`   // by the engine's processors
	ImagesOnDevice int64    `json:"images_on_device"` // JPEGs that the trainer's GPU decodes, under image_device
	ImagesRefused  int64    `json:"images_refused"`   // of these, that it refused, and the engine decoded
	ImageCPUShare  *float64 `json:"image_cpu_share"`  // of the JPEGs, that the engine decodes now; null: all

	// Sources are how many samples of each source all ranks together took, since the first epoch.
	Sources map[string]int64 `json:"sources,omitempty"`

	needed int64 // encoded bytes of the projected columns, each row once
	memory int64 // limit of a rank
}

func (a *app) measure(ctx context.Context, addresses []string, f *flags) (m *measurement, err error) {
	begin := time.Now()
	user, system := process.CPUTime()
	ds, err := a.open(ctx, addresses, f)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, ds.Close(ctx)) }()
	decoder, err := newImageDecoders().of(f.at(addresses))
	if err != nil {
		return nil, err
	}
	if text := decoder.warning(); text != "" {
		a.note("%s", text)
	}
	s, err := a.stream(ds.Dataset, f, decoder)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	bar := term.NewProgress(a.stderr, "bench", f.limit.left(0, s.Len()*int64(f.BatchSize*f.epochs)))
	defer bar.Close()

	m = &measurement{memory: f.memoryLimit(), ImageDecoder: decoder.name}
	clock := newEpochClock(cacheOf(ds), shuffle.State{Epoch: uint64(f.epoch)})
	err = s.each(ctx, func(valid int, epoch uint64) bool {
		if m.Batches == 0 {
			m.FirstBatchSeconds = time.Since(begin).Seconds()
			m.BudgetBytes = ds.Budget().Admitted()
		}
		m.Batches++
		m.Rows += int64(valid)
		bar.Add(valid)
		clock.at(epoch)
		return f.limit.left(m.Rows, 1) > 0
	})
	if err != nil {
		return nil, err
	}
	m.Seconds, m.PeakRSS = time.Since(begin).Seconds(), process.PeakRSS()
	userEnd, systemEnd := process.CPUTime()
	m.UserSeconds, m.SystemSeconds = (userEnd - user).Seconds(), (systemEnd - system).Seconds()
	m.CPUSeconds = m.UserSeconds + m.SystemSeconds
	s.result(m)
	m.Tokens = m.Rows * f.blockTokens()
	m.Storage, m.Stores = ds.Drivers().Traffic(), ds.Drivers().ByStore()
	m.Cache, m.Lost = useOf(ds), lostPlaces(ds.Losses())
	return m, nil
}

func (m *measurement) addStats(all ...loader.Stats) {
	var sum iterable.Stats
	for _, s := range all {
		m.LostRows += s.Lost
		m.ImagesOnDevice, m.ImagesDecoded = m.ImagesOnDevice+s.OnDevice, m.ImagesDecoded+s.Decoded
		m.Truncated += s.Stream.Truncated
		m.Tokenized += s.Stream.Tokens
		m.Special += s.Stream.Special
		m.Displaced += s.Stream.Displaced
		sum.Draws, sum.Groups = sum.Draws+s.Stream.Draws, sum.Groups+s.Stream.Groups
		m.KeptBytes += s.Stream.Kept
		m.ReadBytes, m.needed = m.ReadBytes+s.Stream.Fetched, m.needed+s.Stream.Needed
	}
	m.GroupsPerBatch = sum.GroupsPerDraw()
	m.Wait = waitOf(m.Seconds, all...)
}

func (m *measurement) report() *term.Report {
	r := &term.Report{}
	per := func(n, d float64) float64 {
		if d == 0 {
			return 0
		}
		return n / d
	}
	r.Section("bench")
	r.Fact("rows", "%s in %s of %.1f row groups in the mean", text.Count(m.Rows), text.Plural(m.Batches, "batch"), m.GroupsPerBatch)
	r.Fact("time", "%s, the first batch after %s", term.Seconds(m.Seconds), term.Seconds(m.FirstBatchSeconds))
	r.Fact("speed", "%s rows/s, %.1f MB/s decoded", text.Count(int64(per(float64(m.Rows), m.Seconds))), per(float64(m.DecodedBytes)/1e6, m.Seconds))
	if m.Tokens > 0 {
		r.Fact("", "%s tokens/s in blocks of %s", text.Count(int64(per(float64(m.Tokens), m.Seconds))), text.Count(m.Tokens/m.Rows))
	}
	r.Fact("processor", "%.3g s per million rows: %.3g s user and %.3g s system in all", per(m.CPUSeconds*1e6, float64(m.Rows)), m.UserSeconds, m.SystemSeconds)
	r.Fact("read", "%v for %v that were needed (%.2fx)", mem.Bytes(m.ReadBytes), mem.Bytes(m.needed), per(float64(m.ReadBytes), float64(m.needed)))
	if m.KeptBytes > 0 {
		r.Fact("kept decoded", "%v came from there", mem.Bytes(m.KeptBytes))
	}
	if m.ImageDecoder != "" {
		r.Fact("images", "JPEG decoded by %s", map[string]string{shardfeed.TurboDecoder: "libjpeg-turbo", shardfeed.GoDecoder: "Go"}[m.ImageDecoder])
	}
	limit := "no --memory given"
	if m.memory > 0 {
		limit = "limit " + mem.Bytes(m.memory).String()
	}
	r.Fact("memory", "peak %v resident, %v reserved, %s", mem.Bytes(m.PeakRSS), mem.Bytes(m.BudgetBytes), limit)
	reportTraffic(r, m.Storage)
	m.Cache.report(r)
	m.reportLost(r)
	m.Device.report(r, m.Seconds)
	reportWait(r, "wait", m.Wait)
	return r
}
