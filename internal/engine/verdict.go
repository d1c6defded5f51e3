package engine

import (
	"cmp"
	"encoding/json"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/shardfeed/shardfeed/internal/engine/wire"
	"github.com/shardfeed/shardfeed/internal/verdict"
	"github.com/shardfeed/shardfeed/shard"
)

// verdict explains the waits of the session's rank, and of the other ranks of this machine and of
// other machines that read the same data.
func (s *session) verdict(a wire.VerdictAsk) (r wire.Session, err error) {
	if a.Waited != nil {
		w := wire.Waited{Report: *a.Waited}
		if err := w.Validate(); err != nil {
			return r, err
		}
		s.waited(w)
	}
	s.hears(a.Told)
	f := verdict.Facts{Map: verdict.Map{Workers: a.Workers}, Pinned: a.Pinned}
	host, _ := os.Hostname() // a machine without a name is one machine
	own := verdict.Part{Engine: s.dataset.engine.id}
	for _, other := range s.alike() {
		other.mu.Lock()
		if r := rankOf(other.rank, host, other.paces.last(a.Seconds)); other == s || r.Loop > 0 {
			own.Ranks = append(own.Ranks, r)
		}
		if other == s {
			s.describeTo(&f)
		}
		other.mu.Unlock()
	}
	own.Node = s.node(host, a.Seconds, len(own.Ranks), max(1, f.World))
	r.Speaks = len(own.Ranks) == 0 || own.Ranks[0].Rank == s.rank
	parts := []verdict.Part{own}
	for _, waits := range a.Others {
		var other verdict.Part
		if err := json.Unmarshal(waits, &other); err != nil {
			return r, wire.ProtocolError("waits of another machine: %v", err)
		}
		parts = append(parts, other)
	}
	f.Join(parts)
	r.Leads = len(f.Ranks) == 0 || f.Ranks[0].Rank == s.rank
	if r.Waits, err = json.Marshal(own); err != nil {
		return r, err
	}
	r.Verdict, err = json.Marshal(verdict.Of(f))
	return r, err
}

// mostHearing bounds the time in which reports on other connections may still arrive.
const mostHearing = 250 * time.Millisecond

// hears waits for reports that were sent earlier on other connections: the loop has told seconds in
// all. An engine that replaces another never gets all of them.
func (s *session) hears(told float64) {
	for begin := time.Now(); time.Since(begin) < mostHearing; time.Sleep(time.Millisecond) {
		s.mu.Lock()
		heard := s.figures.sum.Wait.Of
		s.mu.Unlock()
		if heard >= told-1e-6 {
			return
		}
	}
}

// alike returns a session of each rank of this data: of several, the one that read last.
func (s *session) alike() []*session {
	e := s.dataset.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	ranks := map[int]*session{s.rank: s}
	for d := range e.living {
		if d != s.dataset && !reflect.DeepEqual(d.request.Spec, s.dataset.request.Spec) {
			continue
		}
		for _, g := range d.groups {
			for rank, other := range g.sessions {
				if was := ranks[rank]; was != s && (was == nil || other.reported.Load() > was.reported.Load()) {
					ranks[rank] = other
				}
			}
		}
	}
	all := make([]*session, 0, len(ranks))
	for _, one := range ranks {
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b *session) int { return cmp.Compare(a.rank, b.rank) })
	return all
}

// describeTo adds what a session knows of its batches. The mutex is held.
func (s *session) describeTo(f *verdict.Facts) {
	f.First = s.begun <= 1
	if s.latest != nil {
		f.World = s.latest.join.WorldSize
	}
	if n := s.figures.sum.Batches; n > 0 {
		f.Batch = verdict.Batch{Rows: s.figures.sum.Rows / n, Bytes: s.figures.sum.Bytes / n}
	}
	f.Batch.Images = len(s.dataset.request.Spec.Images) > 0
}

// node describes this machine, for some ranks of a world.
func (s *session) node(host string, seconds float64, ranks, world int) verdict.Node {
	e := s.dataset.engine
	now := e.measure()
	since := e.measured.before(s.past(seconds))
	n := verdict.Node{Host: host, Memory: verdict.Memory{
		Limit: now.memory.Limit, Buffer: now.memory.Purposes["shuffle"].Reserved, Held: ratio((now.held - since.held).Seconds(), now.at.Sub(since.at).Seconds()*float64(max(1, ranks))),
	}}
	n.Machine = verdict.Machine{Processors: now.process.Processors}
	if took := now.process.Seconds - since.process.Seconds; took > 0 {
		n.Machine.Busy = min(1, (now.process.CPUSeconds-since.process.CPUSeconds)/took/float64(max(1, now.process.Processors)))
	}
	for _, st := range now.stores {
		n.Stores = append(n.Stores, storeOf(st, since.stores))
	}
	if s.dataset.data.Kept != nil {
		k := s.dataset.data.Kept()
		if s.dataset.request.Spec.Shuffle { // a node reads the same part in each epoch
			k.CacheNeeded = k.CacheNeeded * int64(ranks) / int64(world)
			k.DecodedNeeded = k.DecodedNeeded * int64(ranks) / int64(world)
		}
		n.Cache = verdict.Cache{
			Limit: k.CacheLimit, Needed: k.CacheNeeded,
			DiskBytes: now.diskBytes - since.diskBytes, DiskTime: span(now.diskSeconds - since.diskSeconds),
		}
		n.Decoded = verdict.Decoded{Limit: k.DecodedLimit, Needed: k.DecodedNeeded}
	}
	return n
}

// past is the age of the start of the last seconds, or of the last iteration.
func (s *session) past(seconds float64) time.Duration {
	if seconds > 0 {
		return span(seconds)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.began)
}

func ratio(part, of float64) float64 {
	if of <= 0 {
		return 0
	}
	return part / of
}

// storeOf describes the requests to a store since an earlier measurement.
func storeOf(now shard.StoreTraffic, earlier []shard.StoreTraffic) verdict.Store {
	t := now
	if i := slices.IndexFunc(earlier, func(o shard.StoreTraffic) bool { return o.Store == now.Store }); i >= 0 {
		t = now.Since(earlier[i])
	}
	kind, _, _ := strings.Cut(t.Store, "://")
	return verdict.Store{
		Kind: kind, Requests: t.Requests(), Bytes: t.ReadBytes, Busy: span(t.BusySeconds), Latency: t.Latency(),
		InFlight: int(math.Round(ratio(t.Seconds, t.BusySeconds))), Window: now.Window, Answering: ratio(t.FirstByteSeconds, t.Seconds),
		Retries: t.Retries, Throttled: t.Throttled,
	}
}
