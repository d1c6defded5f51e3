package watch

import (
	"github.com/shardfeed/shardfeed/internal/engine"
	"github.com/shardfeed/shardfeed/internal/wait"
	"github.com/shardfeed/shardfeed/shard"
)

// ratesOf returns the work of an engine between two snapshots.
func ratesOf(before, now *engine.Snapshot) *Rates {
	seconds := now.Engine.Seconds - before.Engine.Seconds
	if seconds <= 0 {
		return nil
	}
	r := &Rates{Seconds: seconds, Processors: (now.Engine.CPUSeconds - before.Engine.CPUSeconds) / seconds, Sessions: []SessionRate{}, Stores: []StoreRate{}}
	a, b := sumOf(before.Ranks), sumOf(now.Ranks)
	r.Rows, r.Bytes, r.Read = float64(b.Rows-a.Rows)/seconds, float64(b.Bytes-a.Bytes)/seconds, float64(b.Read-a.Read)/seconds
	r.Wait = waitOf(a.Wait, b.Wait)
	r.HitShare = hitShare(before.Caches, now.Caches)
	earlier := map[int64]engine.SessionWork{}
	for _, s := range before.Sessions {
		earlier[s.ID] = s
	}
	for _, s := range now.Sessions {
		e := earlier[s.ID] // one that is new had nothing
		r.Sessions = append(r.Sessions, SessionRate{float64(s.Rows-e.Rows) / seconds, float64(s.Bytes-e.Bytes) / seconds, waitOf(e.Wait, s.Wait)})
	}
	asked := map[string]shard.StoreTraffic{}
	for _, s := range before.Stores {
		asked[s.Store] = s
	}
	for _, s := range now.Stores {
		d := s.Since(asked[s.Store])
		r.Stores = append(r.Stores, StoreRate{
			Requests: float64(d.Requests()) / seconds, Bytes: float64(d.ReadBytes) / seconds,
			Retries: float64(d.Retries) / seconds, Throttles: float64(d.Throttled) / seconds,
		})
	}
	return r
}

// sumOf returns the work of all ranks.
func sumOf(ranks []engine.RankWork) (sum engine.RankWork) {
	sum.Wait.Parts = map[string]float64{}
	for _, r := range ranks {
		sum.Rows += r.Rows
		sum.Bytes += r.Bytes
		sum.Read += r.Read
		sum.Wait.Seconds += r.Wait.Seconds
		sum.Wait.Of += r.Wait.Of
		for cause, seconds := range r.Wait.Parts {
			sum.Wait.Parts[cause] += seconds
		}
	}
	return sum
}

// waitOf returns how loops waited between two reports. Without time between them it is how they
// waited so far.
func waitOf(before, now wait.Report) Wait {
	if now.Of <= before.Of {
		before = wait.Report{}
	}
	w := Wait{Known: now.Of > 0, Parts: map[string]float64{}}
	if !w.Known {
		return w
	}
	waited := now.Seconds - before.Seconds
	of := max(now.Of-before.Of, waited) // a wait may reach back before the last report
	w.Share = waited / of
	for cause, seconds := range now.Parts {
		if d := seconds - before.Parts[cause]; d > 0 {
			w.Parts[cause] = d / of
		}
	}
	return w
}

// hitShare returns the share of the bytes that caches served from the disk, or nil without reads.
func hitShare(before, now []engine.CacheWork) *float64 {
	hit, all := int64(0), int64(0)
	add := func(caches []engine.CacheWork, sign int64) {
		for _, c := range caches {
			hit += sign * c.HitBytes
			all += sign * (c.HitBytes + c.MissBytes + c.BypassBytes)
		}
	}
	add(now, 1)
	add(before, -1)
	if all <= 0 {
		return nil
	}
	share := float64(hit) / float64(all)
	return &share
}
