package timeline

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shardfeed/shardfeed/internal/loads"
	"github.com/shardfeed/shardfeed/internal/regular"
	"github.com/shardfeed/shardfeed/internal/wait"
)

// Times of torch.profiler count from the last multiple of three months, so that they fit a float.
const baseEvery = 7_889_238 * int64(time.Second)

// write writes the file of a trace. It gets its name when it is whole.
func (r *recording) write() error {
	return written(r.about.File, func(to io.Writer) error { return r.print(to, systemTime()) })
}

// written makes a file by a function, compressed if its name ends in .gz.
func written(path string, fill func(io.Writer) error) error {
	return regular.Replace(path, func(to io.Writer) error {
		if !strings.HasSuffix(path, ".gz") {
			return fill(to)
		}
		zip, _ := gzip.NewWriterLevel(to, 3)
		return errors.Join(fill(zip), zip.Close())
	})
}

// systemTime returns the difference of the system's time to CLOCK_MONOTONIC, in ns: the closest of
// several looks at both, since a process may lose the processor in between.
func systemTime() (offset int64) {
	for i, best := 0, int64(0); i < 9; i++ {
		before, system, after := wait.Now(), time.Now().UnixNano(), wait.Now()
		if took := after - before; i == 0 || took < best {
			best, offset = took, system-(before+after)/2
		}
	}
	return offset
}

// print writes the trace as JSON, for a difference of the system's time to CLOCK_MONOTONIC.
func (r *recording) print(to io.Writer, offset int64) error {
	host, _ := os.Hostname() // a machine without a name is one machine
	now := wait.Now() + offset
	base := now - now%baseEvery
	head, err := json.Marshal(map[string]any{
		"schemaVersion": 1, "displayTimeUnit": "ms", "baseTimeNanoseconds": base, "host_name": host,
		"distributedInfo": map[string]int{"rank": r.about.Rank, "world_size": r.about.WorldSize},
		"shardfeed":       map[string]any{"version": r.about.Version, "complete": r.ended && !r.full && !r.missed},
	})
	if err != nil {
		return err
	}
	p := printer{w: bufio.NewWriterSize(to, 1<<16), pid: r.about.PID, clock: offset - base, tracks: tracks{map[int]string{}}}
	fmt.Fprintf(p.w, "%s, \"traceEvents\": [", head[:len(head)-1])
	p.items(r.items)
	p.loads(r.loads, r.about.DataRank)
	p.name(r.about.Rank)
	fmt.Fprint(p.w, "\n]}\n")
	return p.w.Flush()
}

// A printer writes events. Errors stay in w, for Flush.
type printer struct {
	w      *bufio.Writer
	pid    int
	clock  int64 // added to times
	tracks tracks
	some   bool
}

// items writes what a trainer sent.
func (p *printer) items(all []item) {
	batches, threads := batchLanes(all), map[int64]int{}
	for i := range all {
		it := &all[i]
		if it.Kind > kindNext {
			args := ""
			if it.Kind == kindBatch {
				args = fmt.Sprintf(`"epoch":%d,"step":%d,"rows":%d,"bytes":%d`, it.Epoch, it.Step, it.Rows, it.Bytes)
			}
			p.event(nameOf(it.Kind), p.tracks.batch(batches[it.Of]), it.Begin, it.End, args)
			continue
		}
		n, ok := threads[it.Of]
		if !ok {
			n = len(threads)
			threads[it.Of] = n
		}
		p.event(nameOf(it.Kind), p.tracks.next(n), it.Begin, it.End, "")
	}
}

// batchLanes returns the lane of each batch, from its start until it is handed out.
func batchLanes(all []item) map[int64]int {
	at, numbers, spans := map[int64]int{}, []int64{}, []span{}
	for _, it := range all {
		if it.Kind <= kindNext {
			continue
		}
		n, ok := at[it.Of]
		if !ok {
			n = len(spans)
			at[it.Of], numbers, spans = n, append(numbers, it.Of), append(spans, span{begin: it.Begin, of: n})
		}
		spans[n].end = it.End
	}
	lanes := map[int64]int{}
	for n, lane := range lanesOf(spans) {
		lanes[numbers[n]] = lane
	}
	return lanes
}

// loads writes what the engine loaded for a rank.
func (p *printer) loads(all []loads.Load, rank int) {
	spans := make([]span, len(all))
	for n, l := range all {
		spans[n] = span{l.Begin, l.Marks[len(l.Marks)-1].End, n}
	}
	lanes := lanesOf(slices.Clone(spans))
	for n, l := range all {
		track, shard := p.tracks.load(lanes[n]), jsonOf(l.Shard)
		args := fmt.Sprintf(`"rank":%d,"unit":%d,"shard":%s,"row_group":%d,"rows":%d,"fetched_bytes":%d,"decoded_bytes":%d,"failed":%t`,
			rank, l.Unit, shard, l.RowGroup, l.Rows, l.Fetched, l.Decoded, l.Failed)
		p.event("shardfeed.load", track, spans[n].begin, spans[n].end, args)
		at := l.Begin
		for _, m := range l.Marks {
			if m.End > at {
				p.event(m.Cause, track, at, m.End, "")
				at = m.End
			}
		}
	}
}

func jsonOf(text string) []byte {
	b, _ := json.Marshal(text) // a string has no error
	return b
}

// event writes an event. There are many, so it is put together here.
func (p *printer) event(name string, track int, begin, end int64, args string) {
	p.next()
	b := append(p.w.AvailableBuffer(), `{"ph":"X","cat":"shardfeed","name":"`...)
	b = append(b, name...)
	b = strconv.AppendInt(append(b, `","pid":`...), int64(p.pid), 10)
	b = strconv.AppendInt(append(b, `,"tid":`...), int64(track), 10)
	b = appendMicros(append(b, `,"ts":`...), begin+p.clock)
	b = appendMicros(append(b, `,"dur":`...), end-begin)
	if args != "" {
		b = append(append(append(b, `,"args":{`...), args...), '}')
	}
	_, _ = p.w.Write(append(b, '}'))
}

// appendMicros appends a time in ns, in microseconds.
func appendMicros(b []byte, ns int64) []byte {
	b = strconv.AppendInt(b, ns/1000, 10)
	rest := ns % 1000
	return append(b, '.', byte('0'+rest/100), byte('0'+rest/10%10), byte('0'+rest%10))
}

// name writes the names of the process and of the tracks, and their places: above the threads.
func (p *printer) name(rank int) {
	p.meta("process_name", 0, fmt.Sprintf(`"name":"rank %d"`, rank))
	for _, track := range slices.Sorted(maps.Keys(p.tracks.names)) {
		p.meta("thread_name", track, fmt.Sprintf(`"name":"%s"`, p.tracks.names[track]))
		p.meta("thread_sort_index", track, fmt.Sprintf(`"sort_index":%d`, track-2*firstTrack))
	}
}

func (p *printer) meta(name string, track int, args string) {
	p.next()
	fmt.Fprintf(p.w, `{"ph":"M","name":"%s","pid":%d,"tid":%d,"ts":0,"args":{%s}}`, name, p.pid, track, args)
}

// next starts a line.
func (p *printer) next() {
	if p.some {
		_ = p.w.WriteByte(',')
	}
	p.some = true
	_ = p.w.WriteByte('\n')
}

func nameOf(kind int64) string {
	switch kind {
	case kindNext:
		return "shardfeed.next"
	case kindBatch:
		return "shardfeed.batch"
	case kindReady:
		return "ready"
	}
	if cause := kind % kindPart; cause >= 0 && cause < wait.Causes {
		return wait.Cause(cause).String()
	}
	return "unknown"
}
