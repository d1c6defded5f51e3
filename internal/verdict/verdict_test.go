package verdict

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/leaktest"
	"github.com/shardfeed/shardfeed/internal/wait"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

const (
	s   = time.Second
	gib = 1 << 30
)

// rank is a loop of 390 s with 1,000 steps.
func rank(n int, host string, parts wait.Parts) Rank {
	return Rank{Rank: n, Host: host, Loop: 390 * s, Wait: parts, Steps: 1000}
}

// job is 8 ranks on two machines that hardly wait.
func job() Facts {
	f := Facts{World: 8, Batch: Batch{Rows: 256, Bytes: 3 << 20}}
	for i := range 8 {
		host := []string{"gpu-01", "gpu-02"}[i/4]
		f.Ranks = append(f.Ranks, rank(i, host, wait.Parts{wait.HandOver: s / 5}))
	}
	for _, host := range []string{"gpu-01", "gpu-02"} {
		f.Nodes = append(f.Nodes, Node{
			Host: host,
			Stores: []Store{
				{Kind: "file", Requests: 3, Bytes: 1000, Busy: s, Latency: time.Millisecond},
				{Kind: "s3", Requests: 4000, Bytes: 84e8, Busy: 100 * s, Latency: 41 * time.Millisecond, InFlight: 16, Window: 16},
			},
			Cache:   Cache{Limit: 40 * gib, DiskBytes: 1e9, DiskTime: s},
			Machine: Machine{Processors: 16, Busy: 0.3},
			Memory:  Memory{Limit: 16 * gib, Buffer: 11 * gib},
		})
	}
	return f
}

// alone is one rank of one machine.
func alone(parts wait.Parts) Facts {
	f := job()
	f.World, f.Ranks, f.Nodes = 1, f.Ranks[:1], f.Nodes[:1]
	f.Ranks[0].Wait = parts
	return f
}

// with changes facts, and their first node.
func with(f Facts, change func(*Facts, *Node)) Facts {
	change(&f, &f.Nodes[0])
	return f
}

// Each row of the table has facts that it explains, and the line that it makes of them.
func TestEachKind(t *testing.T) {
	storage, cache, decode := wait.Parts{wait.Storage: 39 * s}, wait.Parts{wait.Cache: 39 * s}, wait.Parts{wait.Decode: 39 * s}
	collate, handover, call := wait.Parts{wait.Collate: 39 * s}, wait.Parts{wait.HandOver: 39 * s}, wait.Parts{wait.Map: 39 * s}
	cases := []struct {
		kind  string
		facts Facts
		line  string
	}{
		{"trainer", job(), "waited 0.1 % of 390 s; batches are ready before the training loop asks for them; nothing to do here: the step itself takes the time"},
		{"counting", alone(wait.Parts{wait.Count: 39 * s}), "waited 10.0 % of 390 s for rows to be counted; later runs find the counts in index_dir"},
		{"listing", alone(wait.Parts{wait.List: 39 * s}), "for shards and footers to be listed; later runs find the footers in index_dir"},
		{"opening", alone(wait.Parts{wait.Open: 39 * s}), "for the data set to open; keep the data set or loader"},
		{"small memory", alone(wait.Parts{wait.Room: 39 * s}), "for room in the shuffle buffer (the buffer has 11.0 GiB of 16.0 GiB of memory); raise memory from 16.0 GiB"},
		{"held batches", alone(wait.Parts{wait.Memory: 39 * s}), "for memory for batches (training holds all batches, of 3.0 MiB each); drop batches"},
		{
			"throttled", with(alone(storage), func(_ *Facts, n *Node) { n.Stores[1].Throttled = 300 }),
			"for storage (s3 refused 300 of 4,000 requests for their rate); ask the store for a higher rate",
		},
		{
			"small cache", with(job(), func(f *Facts, n *Node) {
				f.Ranks[5].Wait = wait.Parts{wait.Storage: 12 * s}
				f.Nodes[1].Cache.Needed = 61 * gib
			}),
			"waited 3.1 % of 390 s: rank 5 of 8 on gpu-02 for storage (s3: 84 MB/s at 41 ms, 16 of 16 requests in flight); " +
				"a cache of 61.0 GiB would hold the table, the limit is 40.0 GiB",
		},
		{
			"slow store", with(alone(storage), func(f *Facts, n *Node) { n.Stores[1].Latency, f.First = 412*time.Millisecond, true }),
			"at 412 ms, 16 of 16 requests in flight); requests take long: use a store that is nearer or less busy; this epoch fills the cache",
		},
		{"slow disk", with(alone(storage), func(_ *Facts, n *Node) { n.Stores[1].Kind = "file" }), "copy the shards to a faster disk"},
		{"cold cache", with(alone(storage), func(f *Facts, _ *Node) { f.First = true }), "this epoch fills the cache, and later ones read from the disk"},
		{"no cache", with(alone(storage), func(_ *Facts, n *Node) { n.Cache = Cache{} }), "no cache is in use: with cache_limit"},
		{
			"small memory", with(alone(storage), func(f *Facts, n *Node) {
				n.Stores[1].InFlight, n.Stores[1].Answering, n.Stores[1].Latency, n.Memory.Held, f.First = 7, 0.9, 412*time.Millisecond, 1, true
			}),
			"at 412 ms, 7 of 16 requests in flight); raise memory, so that more is read ahead; this epoch fills the cache",
		},
		{
			"slow network", with(alone(storage), func(_ *Facts, n *Node) {
				n.Stores[1].InFlight, n.Stores[1].Answering, n.Memory.Held = 7, 0.4, 1
			}),
			"7 of 16 requests in flight); the store or the network gives no more",
		},
		{
			"slow network", with(alone(storage), func(_ *Facts, n *Node) {
				n.Stores[1].InFlight, n.Stores[1].Answering, n.Memory.Held = 7, 0.9, 0.4
			}),
			"7 of 16 requests in flight); the store or the network gives no more",
		},
		{
			"slow network", with(alone(storage), func(_ *Facts, n *Node) { n.Stores[1].Retries = 7 }),
			"in flight, 7 retried); the store or the network gives no more",
		},
		{
			"slow node", with(job(), func(f *Facts, n *Node) {
				for i := range f.Ranks[:4] {
					f.Ranks[i].Wait = storage
				}
				n.Stores[1].Latency = s
			}),
			"ranks 0 to 3 of 8 on gpu-01 for storage (s3: 84 MB/s at 1.0 s, 16 of 16 requests in flight, elsewhere 41 ms); check the network of gpu-01",
		},
		{"small cache", with(alone(cache), func(_ *Facts, n *Node) { n.Cache.Needed = 50 * gib }), "for the cache (the disk reads 1.0 GB/s); a cache of 50.0 GiB"},
		{"slow disk", with(alone(cache), func(_ *Facts, n *Node) { n.Cache.DiskTime = 20 * s }), "for the cache (the disk reads 50 MB/s); put cache_dir on a faster disk"},
		{"busy disk", alone(cache), "for the cache (the disk reads 1.0 GB/s); read fewer columns"},
		{
			"slow node", with(job(), func(f *Facts, n *Node) { f.Ranks[2].Wait, n.Cache.DiskTime = cache, 20*s }),
			"rank 2 of 8 on gpu-01 for the cache (its disk reads 50 MB/s, elsewhere 1.0 GB/s); check the disk of gpu-01",
		},
		{
			"slow node", with(job(), func(f *Facts, n *Node) { f.Ranks[2].Wait, n.Machine.Busy = decode, 0.97 }),
			"for decoding (16 processors, 97.0 % busy, elsewhere 30.0 %); check what else runs on gpu-01",
		},
		{
			"decode-bound", with(alone(decode), func(_ *Facts, n *Node) { n.Machine.Busy, n.Decoded.Needed = 0.97, 75*gib+1 }),
			"for decoding (16 processors, 97.0 % busy); keep row groups decoded on the disk with decoded_limit=\"76GiB\", or give the engine more processors",
		},
		{
			"small decoded cache", with(alone(decode), func(_ *Facts, n *Node) { n.Decoded = Decoded{Limit: gib, Needed: 5 * gib} }),
			"decoded_limit=\"5GiB\" would keep all row groups decoded, the limit is 1.0 GiB",
		},
		{
			"cold decoded cache", with(alone(decode), func(f *Facts, n *Node) { f.First, n.Decoded = true, Decoded{Limit: gib} }),
			"this epoch keeps row groups decoded, and later ones copy rows only",
		},
		{
			"few processors", with(alone(decode), func(_ *Facts, n *Node) { n.Machine.Busy, n.Decoded = 0.97, Decoded{Limit: gib} }),
			"for decoding (16 processors, 97.0 % busy); give the engine more processors",
		},
		{"few processors", with(alone(collate), func(_ *Facts, n *Node) { n.Machine.Busy = 0.97 }), "for collating (16 processors, 97.0 % busy)"},
		{"slow decoding", with(alone(decode), func(_ *Facts, n *Node) { n.Decoded.Limit = gib }), "write smaller row groups"},
		{"slow images", with(alone(collate), func(f *Facts, _ *Node) { f.Batch.Images = true }), "(images are decoded, 16 processors, 30.0 % busy); store images"},
		{"slow collate", alone(collate), "for collating (batches of 256 rows, 3.0 MiB); raise collate_workers"},
		{"slow map", alone(call), "for map and collate_fn (the functions take 39 ms of each step in the training loop); run them beside the step with threads=1"},
		{"few workers", with(alone(call), func(f *Facts, _ *Node) { f.Map.Workers = 9 }), "(9 workers or threads); give 11 workers or threads"},
		{"few workers", with(alone(call), func(f *Facts, _ *Node) { f.Map.Workers, f.Ranks[0].Loop = 1, f.Ranks[0].Wait.Sum()+1 }), "(1 workers or threads); give 16 workers or threads"},
		{"few workers", with(alone(call), func(f *Facts, n *Node) { f.Map.Workers, n.Machine.Busy = 9, 0.9 }), "the processors are in use"},
		{"small batches", with(alone(handover), func(f *Facts, _ *Node) { f.Batch = Batch{Rows: 8, Bytes: 640} }), "for the hand-over (batches of 8 rows, 640 B); raise batch_size"},
		{"busy machine", with(alone(handover), func(_ *Facts, n *Node) { n.Machine.Busy = 0.9 }), "leave the training loop a processor"},
		{"slow hand-over", alone(handover), "other threads of the training process"},
		{
			"slow copy", with(alone(wait.Parts{wait.Copy: 39 * s}), func(f *Facts, _ *Node) { f.Ranks[0].Steps = 1000 }),
			"for copies to the device (batches of 256 rows, 3.0 MiB, 39 ms a step); set pin_memory=True, raise prefetch",
		},
		{
			"slow copy", with(alone(wait.Parts{wait.Copy: 39 * s}), func(f *Facts, _ *Node) { f.Pinned = true }),
			"a step); raise prefetch",
		},
	}
	seen := map[string]bool{Trainer: true}
	for _, c := range cases {
		t.Run(c.kind, func(t *testing.T) {
			v := Of(c.facts)
			if v.Kind != c.kind || !strings.Contains(v.Line, c.line) {
				t.Errorf("%s: %s\nwant %s: %s", v.Kind, v, c.kind, c.line)
			}
			seen[v.Kind+" "+v.Cause] = true
		})
	}
	for _, r := range table {
		if !slices.ContainsFunc(r.of, func(c wait.Cause) bool { return seen[r.kind+" "+c.String()] }) {
			t.Errorf("no case has the row %q of %v", r.kind, r.of)
		}
	}
}

// Ranks that have their batches wait in collectives for the slow one, outside of next().
func TestStragglers(t *testing.T) {
	none := wait.Parts{wait.HandOver: s / 5}
	slow := wait.Parts{wait.Decode: 100 * s}
	cases := []struct {
		name  string
		slow  []int
		world int
		hosts int
		whom  string
	}{
		{"one of eight", []int{5}, 8, 1, "rank 5 of 8 for"},
		{"one of two", []int{0}, 2, 1, "rank 0 of 2 for"},
		{"one of three", []int{2}, 3, 1, "rank 2 of 3 for"},
		{"two of eight", []int{1, 6}, 8, 1, "ranks 1, 6 of 8 for"},
		{"half of eight", []int{4, 5, 6, 7}, 8, 2, "ranks 4 to 7 of 8 on gpu-1 for"},
		{"one of each machine", []int{1, 6}, 8, 2, "ranks 1, 6 of 8 on gpu-0 and gpu-1 for"},
		{"some of many machines", []int{1, 6, 12}, 16, 4, "ranks 1, 6, 12 of 16 on 3 machines for"},
		{"all of eight", []int{0, 1, 2, 3, 4, 5, 6, 7}, 8, 2, "all 8 ranks for"},
		{"the only one", []int{0}, 1, 1, " s for"},
		{"one of a large job", []int{77}, 1024, 8, "rank 77 of 1,024 on gpu-0 for"},
		{"many of a large job", []int{1, 3, 5, 7, 9, 11, 13, 15, 17, 19}, 64, 1, "ranks 1, 3, 5, 7, 9, 11, 13, 15, 2 more of 64 for"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			f := Facts{World: c.world}
			for i := range c.world {
				host, parts := "", none
				if c.hosts > 1 {
					host = "gpu-" + string(rune('0'+i*c.hosts/c.world))
				}
				if slices.Contains(c.slow, i) {
					parts = slow
				}
				f.Ranks = append(f.Ranks, rank(i, host, parts))
			}
			rand.Shuffle(len(f.Ranks), func(i, j int) { f.Ranks[i], f.Ranks[j] = f.Ranks[j], f.Ranks[i] })
			v := Of(f)
			if !slices.Equal(v.Ranks, c.slow) || !strings.Contains(v.Line, c.whom) || v.Cause != "decode" {
				t.Errorf("%v: %s\nwant %v: %s", v.Ranks, v, c.slow, c.whom)
			}
		})
	}
}

// Machines tell each other their parts.
func TestJoin(t *testing.T) {
	f := job()
	parts := make([]Part, 2)
	for i, engine := range []string{"one", "two"} {
		parts[i] = Part{Engine: engine, Ranks: slices.Clone(f.Ranks[4*i : 4*i+4]), Node: f.Nodes[i]}
	}
	parts[1].Ranks[1].Wait = wait.Parts{wait.Decode: 100 * s}
	f.Ranks, f.Nodes = nil, nil
	f.Join([]Part{parts[1], parts[0], parts[1], {Engine: "three"}})
	if len(f.Ranks) != 8 || len(f.Nodes) != 2 || f.Ranks[0].Rank != 0 {
		t.Fatalf("%d ranks on %d machines", len(f.Ranks), len(f.Nodes))
	}
	if v := Of(f); !strings.Contains(v.Line, "rank 5 of 8 on gpu-02 for decoding") {
		t.Errorf("%s", v)
	}
	parts[1].Node.Host = "gpu-01" // as containers may have one name
	f.Ranks, f.Nodes = nil, nil
	f.Join(parts)
	if v := Of(f); !strings.Contains(v.Line, "rank 5 of 8 on gpu-01 (2) for decoding") {
		t.Errorf("%s", v)
	}
}

func TestRanksThatDifferLittleAreOne(t *testing.T) {
	f := job()
	for i := range f.Ranks {
		f.Ranks[i].Wait = wait.Parts{wait.Storage: time.Duration(100+5*i) * s}
	}
	if v := Of(f); !strings.Contains(v.Line, "all 8 ranks") || v.Rank != 7 {
		t.Errorf("rank %d: %s", v.Rank, v)
	}
	f.World = 16 // the other node's are not known
	if v := Of(f); !strings.Contains(v.Line, "ranks 0 to 7 of 16 for storage") {
		t.Errorf("%s", v)
	}
}

// The first batch takes long in any run. It is the verdict only while the loop has not passed it.
func TestStart(t *testing.T) {
	f := alone(wait.Parts{wait.List: 3 * s, wait.Storage: 2 * s, wait.Decode: s / 10})
	f.Ranks[0].Start = wait.Parts{wait.List: 3 * s, wait.Storage: 2 * s}
	f.Ranks[0].Loop = 20 * s
	if v := Of(f); v.Cause != Trainer || v.Share != 0.255 || !strings.Contains(v.Line, "waited 25.5 % of 20.0 s; 5.0 s of it before the first batch, and") {
		t.Errorf("after a start of 5 s: %s", v)
	}
	f.Ranks[0].Loop = 8 * s
	if v := Of(f); v.Cause != "list" || v.Then != "storage" {
		t.Errorf("while the start was the most of the loop: %s", v)
	}
	f.Ranks[0].Loop, f.Ranks[0].Wait[wait.Decode] = 20*s, s
	if v := Of(f); v.Cause != "decode" {
		t.Errorf("with a wait that goes on: %s", v)
	}
}

func TestSecondCause(t *testing.T) {
	v := Of(alone(wait.Parts{wait.Storage: 20 * s, wait.Decode: 10 * s}))
	if v.Cause != "storage" || v.Then != "decode" || !strings.Contains(v.Line, "), then for decoding; ") {
		t.Errorf("%s", v)
	}
	if v := Of(alone(wait.Parts{wait.Storage: 20 * s, wait.Decode: 5 * s})); v.Then != "" {
		t.Errorf("a fifth of the wait: %s", v)
	}
}

func TestNothingIsKnown(t *testing.T) {
	for _, f := range []Facts{{}, {World: 2, Ranks: []Rank{{Rank: 1}}}} {
		if v := Of(f); v.Line != "no batch was read yet" || v.Cause != "" || v.Rank != -1 {
			t.Errorf("%+v", v)
		}
	}
}

func TestJSON(t *testing.T) {
	v := Of(alone(wait.Parts{wait.Storage: 30 * s, wait.Decode: 9 * s}))
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"share":0.1,"seconds":39,"of":390,"cause":"storage"`, `"parts":{"decode":9,"storage":30}`, `"ranks":[0]`, `"world_size":1`, `"host":"gpu-01"`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s has no %s", text, want)
		}
	}
}

// The cause is the largest part of the wait after the first batches, unless the loop hardly waits.
func TestAnyFacts(t *testing.T) {
	for seed := range uint64(20_000) {
		rng := rand.New(rand.NewPCG(seed, 0))
		f := anyFacts(rng)
		v := Of(f)
		if v.Line == "" || v.Share < 0 || v.Share > 1 || v.Rank >= 0 && !slices.Contains(v.Ranks, v.Rank) {
			t.Fatalf("seed %d: %+v", seed, v)
		}
		if v.Cause == "" || v.Cause == Trainer {
			continue
		}
		g := group(f)
		c, ok := wait.CauseOf(v.Cause)
		if !ok || g.settled[c] != slices.Max(g.settled[:]) {
			t.Fatalf("seed %d: %s of %v", seed, v.Cause, g.settled)
		}
		if share(g.settled, g.settledLoop) < little {
			t.Fatalf("seed %d: %s names a cause of a wait of %v in %v", seed, v, g.settled.Sum(), g.settledLoop)
		}
	}
}

func anyFacts(rng *rand.Rand) Facts {
	number := func() int64 { return rng.Int64N(1<<rng.IntN(50)+2) - 1 }
	span := func() time.Duration { return time.Duration(number()) }
	parts := func() (p wait.Parts) {
		for range rng.IntN(5) {
			p[rng.IntN(wait.Causes)] = span()
		}
		return p
	}
	host := func() string { return []string{"", "a", "b", "c"}[rng.IntN(4)] }
	f := Facts{
		World: rng.IntN(20), First: rng.IntN(2) == 0,
		Batch: Batch{Rows: number(), Bytes: number(), Images: rng.IntN(2) == 0},
		Map:   Map{Workers: rng.IntN(4)}, Pinned: rng.IntN(2) == 0,
	}
	for i := range rng.IntN(8) {
		f.Ranks = append(f.Ranks, Rank{Rank: i, Host: host(), Loop: span(), Wait: parts(), Start: parts(), Steps: number()})
	}
	for range rng.IntN(4) {
		n := Node{
			Host:    host(),
			Cache:   Cache{DiskBytes: number(), DiskTime: span(), Limit: number(), Needed: number()},
			Decoded: Decoded{Limit: number(), Needed: number()},
			Machine: Machine{Processors: rng.IntN(100), Busy: 1.2 * rng.Float64()},
			Memory:  Memory{Limit: number(), Buffer: number(), Held: rng.Float64()},
		}
		for range rng.IntN(3) {
			n.Stores = append(n.Stores, Store{
				Kind: []string{"", "s3", "hdfs", "file"}[rng.IntN(4)], Requests: number(), Bytes: number(), Busy: span(), Latency: span(),
				InFlight: rng.IntN(20), Window: rng.IntN(20), Answering: rng.Float64(), Retries: number(), Throttled: number(),
			})
		}
		f.Nodes = append(f.Nodes, n)
	}
	return f
}
