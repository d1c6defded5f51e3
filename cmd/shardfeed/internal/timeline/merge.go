package timeline

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
)

// Merge writes the events of traces into one file, and returns their number. The file gets its name
// when it is whole. It is compressed if the name ends in .gz.
func Merge(out string, paths ...string) (events int, err error) {
	files := make([]*file, len(paths))
	for i, path := range paths {
		if same(out, path) {
			return 0, fmt.Errorf("%s would be overwritten: give the merged trace another name", path)
		}
		files[i] = &file{path: path}
		if err := files[i].read(func(event) error { return nil }); err != nil {
			return 0, err
		}
	}
	err = written(out, func(to io.Writer) error {
		events, err = write(to, files)
		return err
	})
	if err != nil {
		return 0, err
	}
	return events, nil
}

func same(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

func write(to io.Writer, files []*file) (events int, err error) {
	w := bufio.NewWriterSize(to, 1<<16)
	base := earliest(files)
	fmt.Fprintf(w, "{\"displayTimeUnit\": \"ms\", \"baseTimeNanoseconds\": %d, \"traceEvents\": [", base)
	m := merger{w: w, used: map[string]bool{}, numbers: map[process]string{}, ranks: map[rank]int64{}}
	for _, f := range files {
		m.open(f.head, base)
		if err := f.read(m.add); err != nil {
			return 0, err
		}
	}
	fmt.Fprint(w, "\n]}\n")
	return m.events, w.Flush()
}

// earliest returns the least base, so that no time is negative.
func earliest(files []*file) int64 {
	least := files[0].head.Base
	for _, f := range files {
		least = min(least, f.head.Base)
	}
	return least
}

type rank struct {
	host string
	rank int
}

// A process is the JSON of its number in the files of a rank.
type process struct {
	rank   rank
	number string
}

// A merger writes the events of one file after another.
type merger struct {
	w       *bufio.Writer
	events  int
	used    map[string]bool    // numbers of processes
	numbers map[process]string // that they have in the merged file
	ranks   map[rank]int64     // in the order in which they came

	rank  rank // of the file
	shift int64
}

func (m *merger) open(h head, base int64) {
	m.rank, m.shift = rank{h.Host, h.Rank.Rank}, h.Base-base
	if _, ok := m.ranks[m.rank]; !ok {
		m.ranks[m.rank] = int64(len(m.ranks))
	}
}

func (m *merger) add(e event) error {
	if pid, ok := e["pid"]; ok {
		e["pid"] = json.RawMessage(m.number(string(pid)))
	}
	if err := m.moveTime(e); err != nil {
		return err
	}
	m.moveID(e)
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if m.events++; m.events > 1 {
		_ = m.w.WriteByte(',') // an error stays, for Flush
	}
	_ = m.w.WriteByte('\n')
	_, err = m.w.Write(text)
	return err
}

// number returns the number of a process in the merged file: its own, unless another rank has it.
func (m *merger) number(pid string) string {
	p := process{m.rank, pid}
	if n, ok := m.numbers[p]; ok {
		return n
	}
	n := pid
	for i := 1; m.used[n]; i++ {
		if whole, err := strconv.ParseInt(pid, 10, 64); err == nil {
			n = strconv.FormatInt(whole+int64(i)*100_000_000, 10)
		} else {
			n = strconv.Quote(fmt.Sprintf("%s %d", strings.Trim(pid, `"`), i))
		}
	}
	m.used[n], m.numbers[p] = true, n
	return n
}

// moveTime moves the time of an event, in microseconds, to the base of the merged file.
func (m *merger) moveTime(e event) error {
	ts, ok := e["ts"]
	if m.shift == 0 || !ok || string(e["ph"]) == `"M"` {
		return nil
	}
	us, err := strconv.ParseFloat(strings.Trim(string(ts), `"`), 64)
	if err != nil {
		return fmt.Errorf("an event has the time %s", ts)
	}
	ns := int64(math.Round(us*1000)) + m.shift
	e["ts"] = fmt.Appendf(nil, "%d.%03d", ns/1000, ns%1000)
	return nil
}

// moveID makes the number of an arrow or an asynchronous event another one for each rank.
func (m *merger) moveID(e event) {
	if of := m.ranks[m.rank]; of > 0 {
		if id, err := strconv.ParseInt(string(e["id"]), 10, 64); err == nil {
			e["id"] = strconv.AppendInt(nil, id+of<<40, 10)
		}
	}
}
