package top

import (
	"slices"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/shardfeed/shardfeed/cache"
	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/watch"
	"github.com/shardfeed/shardfeed/internal/engine"
	"github.com/shardfeed/shardfeed/internal/engine/wire"
	"github.com/shardfeed/shardfeed/internal/wait"
	"github.com/shardfeed/shardfeed/shard"
)

// busy is a view of an engine in which each section has something, beside one that does not answer.
func busy() watch.View {
	hits := 0.75
	waits := watch.Wait{Known: true, Share: 0.25, Parts: map[string]float64{"storage": 0.2, "decode": 0.05, "copy": 0.00001}}
	return watch.View{At: time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC), Engines: []watch.Engine{
		{Socket: "/run/a.sock", Error: "no answer within 2s"},
		{
			Socket: "/run/b.sock",
			Now: &engine.Snapshot{
				Engine:   engine.Process{PID: 42, Build: "1.2.3 (go1)", Jobs: []string{"slurm 7"}, Seconds: 3723, Processors: 16, Metrics: "http://127.0.0.1:9464/metrics"},
				Memory:   engine.Memory{Limit: 64 << 30, Reserved: 16 << 30, Purposes: map[string]engine.MemoryUse{"decode": {Reserved: 1 << 30, Used: 2 << 30}, "shuffle": {Reserved: 3 << 30, Used: 1 << 30}, "ring": {Reserved: 1 << 20, Used: 1 << 20}}},
				Openings: []engine.Opening{{Addresses: []string{"s3://b/val/", "s3://b/more"}, Seconds: 12, Progress: wire.Progress{Doing: "footers", Footers: 1200, Of: 5000}}},
				Sessions: []engine.SessionWork{
					{Addresses: []string{"s3://b/train"}, Rank: 0, Epoch: 3, Step: 1204, Steps: 9000, Iterating: true, Wait: wait.Report{Now: &wait.Waiting{Cause: "decode", Seconds: 75.5}}}, {Addresses: []string{"s3://b/train"}, Rank: 1, Epoch: 3, Step: 1204, Steps: 9000, Iterating: true}, {Addresses: []string{"s3://b/val"}, Rank: 0},
				},
				Caches: []engine.CacheWork{{Directory: "/cache", Limit: 100 << 30, Held: 41 << 30, Stats: cache.Stats{Trouble: 1}}},
				Stores: []shard.StoreTraffic{{Store: "s3://b", Traffic: shard.Traffic{Reads: 5000, Window: 16}, InFlight: 3}},
			},
			Rates: &watch.Rates{
				Processors: 3.25, HitShare: &hits, Wait: waits,
				Sessions: []watch.SessionRate{{Rows: 12345.6, Bytes: 1 << 30, Wait: watch.Wait{Known: true, Share: 0.01}}, {Rows: 12000, Bytes: 1 << 30, Wait: waits}, {}},
				Stores:   []watch.StoreRate{{Requests: 120, Bytes: 84 << 20, Throttles: 2}},
			},
		},
	}}
}

const wideFrame = `shardfeed top  03:04:05  2 engines, 3 loaders

engine at /run/a.sock
  no answer within 2s

engine 42  1.2.3  up 1h2m3s  3.2 of 16 processors  slurm 7  http://127.0.0.1:9464/metrics
  val +1 for 12 s: reading footers: 1,200 of 5,000
  DATA                      RANK  EPOCH             STEP     ROWS/S     BYTES/S    WAIT  FOR
  train                        0      3      1,204/9,000     12,346     1.0 GiB    1.0%  decode now, for 1m15s
  train                        1      3      1,204/9,000     12,000     1.0 GiB   25.0%  storage 20.0%, decode 5.0%
  val                          0      0             idle          0         0 B       -
  wait        ██████··················  25.0% of the loops' time
    storage   ████▊···················  20.0%
    decode    █▎······················  5.0%
  memory      ██████··················  16.0 GiB reserved of 64.0 GiB
    decode    ████████████············  2.0 GiB of 4.0 GiB for both
    shuffle   ██████··················  1.0 GiB of 4.0 GiB for both
    ring      ████████████████████████  1.0 MiB of 1.0 MiB
  cache       █████████▉··············  41.0 GiB of 100.0 GiB, 75.0% of bytes from it
              the disk failed 1 time, 0 blocks damaged
  store       s3://b: 120 requests/s, 84.0 MiB/s, 0.0 retries/s, 2.0 throttles/s, 3 of 16 in flight`

func plain(lines []string) string {
	var all []string
	for _, line := range lines {
		all = append(all, strings.TrimRight(ansi.Strip(line), " "))
	}
	return strings.Join(all, "\n")
}

func TestFrame(t *testing.T) {
	if got := plain(Frame{Width: 120}.Lines(busy())); got != wideFrame {
		t.Errorf("got\n%s\nwant\n%s", got, wideFrame)
	}
}

// Each line fits, and has something of the rank and its rows on any terminal.
func TestFrameFits(t *testing.T) {
	for width := range 200 {
		for _, ascii := range []bool{false, true} {
			lines := Frame{Width: width + 1, ASCII: ascii}.Lines(busy())
			for _, line := range lines {
				if n := ansi.StringWidth(line); n > width+1 {
					t.Fatalf("%d columns in a terminal of %d: %s", n, width+1, line)
				}
			}
			text := plain(lines)
			if width >= 40 && !strings.Contains(text, "12,346") || width >= 79 && !strings.Contains(text, "storage 20.0%") {
				t.Fatalf("at %d columns:\n%s", width+1, text)
			}
			if i := strings.IndexFunc(text, func(r rune) bool { return r > 127 }); ascii && i >= 0 {
				t.Fatalf("not ASCII: %s", text[i:])
			}
		}
	}
}

func TestFrameOfNothing(t *testing.T) {
	text := plain(Frame{Width: 40}.Lines(watch.View{}))
	if joined := strings.Join(strings.Fields(text), " "); !strings.Contains(joined, NoEngine) {
		t.Errorf("got %s", text)
	}
}

// What engines and users name has no power over the terminal.
func TestFrameEscapes(t *testing.T) {
	v := busy()
	e := &v.Engines[1]
	evil := "\x1b]0;x\x07\x1b[2J\r"
	v.Engines[0].Socket, v.Engines[0].Error = evil, evil
	e.Now.Engine.Jobs, e.Now.Engine.Build, e.Now.Engine.Metrics = []string{evil}, evil, evil
	e.Now.Sessions[0].Addresses, e.Now.Openings[0].Addresses, e.Now.Stores[0].Store = []string{evil}, []string{evil}, evil
	e.Rates.Sessions[0].Wait.Parts = map[string]float64{evil: 1}
	text := strings.Join(Frame{Width: 150}.Lines(v), "\n")
	for _, bad := range []string{"\x1b]", "\x07", "\x1b[2J", "\r"} {
		if strings.Contains(text, bad) {
			t.Errorf("%q is in %q", bad, text)
		}
	}
}

// The first look has no rates.
func TestFrameWithoutRates(t *testing.T) {
	v := busy()
	v.Engines[1].Rates = nil
	text := plain(Frame{Width: 120}.Lines(v))
	if !strings.Contains(text, "5,000 requests so far") || !strings.Contains(text, "1,204/9,000          -           -       -") {
		t.Errorf("got\n%s", text)
	}
}

// Keys scroll as far as there are lines, and the frame always fills the terminal.
func TestKeys(t *testing.T) {
	m := &model{ctx: t.Context(), frame: Frame{Width: 80}, view: busy()}
	if _, cmd := m.Update(tea.WindowSizeMsg{Width: 80, Height: 10}); cmd != nil {
		t.Error("a change of size does something")
	}
	content := func() string {
		lines := strings.Split(m.View().Content, "\n")
		if len(lines) != m.height || !strings.Contains(lines[0], "shardfeed top") || !strings.Contains(lines[len(lines)-1], "q quits") {
			t.Fatalf("%d lines in a terminal of %d: %q", len(lines), m.height, lines)
		}
		return plain(lines[1 : len(lines)-1])
	}
	top := content()
	m.key("up")
	if content() != top {
		t.Error("it scrolls above the top")
	}
	for range 100 {
		m.key("down")
	}
	if !strings.Contains(content(), "requests/s") {
		t.Errorf("at the end: %s", content())
	}
	end := m.skipped
	m.key("pgup")
	m.key("pgdown")
	if content(); m.skipped != end {
		t.Errorf("%d lines above, want %d", m.skipped, end)
	}
	m.key("home")
	if content() != top {
		t.Error("home is not the top")
	}
	for _, key := range []string{"q", "esc", "ctrl+c"} {
		if m.key(key) == nil {
			t.Errorf("%s does not quit", key)
		}
	}
	for _, height := range []int{1, 2, 3, 100} {
		m.height = max(height, 3)
		content()
	}
	if !slices.Equal(m.visible([]string{"a"}), m.visible([]string{"a"})) {
		t.Error("a frame of a line changes")
	}
}
