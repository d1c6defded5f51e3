package top

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/watch"
	"github.com/shardfeed/shardfeed/internal/engine"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/printable"
	"github.com/shardfeed/shardfeed/internal/text"
	"github.com/shardfeed/shardfeed/internal/wait"
)

const (
	barAt   = 60 // columns from which on bars are drawn
	barWide = 24 // columns of a bar
	nameCol = 12 // columns of the names at the left
)

// opening describes a data set that is being opened.
func opening(o engine.Opening) string {
	p, what := o.Progress, "opening"
	switch p.Doing {
	case "list":
		what = fmt.Sprintf("listing: %s so far", text.Plural(p.Shards, "shard"))
	case "footers":
		what = fmt.Sprintf("reading footers: %s of %s", text.Count(p.Footers), text.Count(p.Of))
	case "rows":
		what = fmt.Sprintf("counting rows: %s of %s", text.Count(p.Counted), text.Plural(p.Of, "row group"))
	}
	return fmt.Sprintf("%s for %.0f s: %s", dataOf(o.Addresses), o.Seconds, what)
}

// dataOf names a data set by the end of its first address.
func dataOf(addresses []string) string {
	if len(addresses) == 0 {
		return "data"
	}
	name := printable.Text(text.Shorten(path.Base(strings.TrimRight(addresses[0], "/")), 24))
	if n := len(addresses) - 1; n > 0 {
		name += fmt.Sprintf(" +%d", n)
	}
	return name
}

// A column of the table of sessions: its title, width, and the terminal's width from which on it is
// there. A negative width aligns at the left.
type column struct {
	title string
	width int
	from  int
}

// columns of the table of sessions. The last one takes the rest of the line.
var columns = []column{{"DATA", -24, 116}, {"RANK", 4, 0}, {"EPOCH", 5, 90}, {"STEP", 15, 72}, {"ROWS/S", 9, 0}, {"BYTES/S", 10, 56}, {"WAIT", 6, 0}, {"FOR", 0, 0}}

// row draws cells, one for each of the columns.
func (f Frame) row(cells ...string) string {
	var line strings.Builder
	for i, c := range columns {
		if f.Width >= c.from {
			fmt.Fprintf(&line, "  %*s", c.width, cells[i])
		}
	}
	return line.String()
}

// sessions draws a table of the ranks of the open data sets. It highlights the rank that waits
// most.
func (f Frame) sessions(e *watch.Engine) []string {
	if len(e.Now.Sessions) == 0 {
		return nil
	}
	var titles []string
	for _, c := range columns {
		titles = append(titles, c.title)
	}
	lines, most := []string{faint.Render(f.row(titles...))}, mostWaiting(e.Rates)
	for i, s := range e.Now.Sessions {
		rows, bytes, waited, causes := "-", "-", "-", ""
		if e.Rates != nil {
			r := e.Rates.Sessions[i]
			rows, bytes = text.Count(int64(r.Rows+0.5)), mem.Bytes(r.Bytes).String()
			if r.Wait.Known {
				waited, causes = percent(r.Wait.Share), largest(r.Wait, 2)
			}
		}
		if now := s.Wait.Now; now != nil {
			causes = fmt.Sprintf("%s now, for %v", printable.Text(now.Cause), time.Duration(now.Seconds)*time.Second)
		}
		step := "idle"
		if s.Iterating {
			step = text.Count(s.Step) + "/" + text.Count(s.Steps)
		}
		line := f.row(dataOf(s.Addresses), strconv.Itoa(s.Rank), strconv.FormatUint(s.Epoch, 10), step, rows, bytes, waited, causes)
		if i == most {
			line = alarm.Render(line)
		}
		lines = append(lines, line)
	}
	return lines
}

// noticed is the least share of its time for which a rank that waits is highlighted.
const noticed = 0.05

// mostWaiting returns the session that waits most, or -1.
func mostWaiting(r *watch.Rates) int {
	most, share := -1, noticed
	if r == nil {
		return most
	}
	for i, s := range r.Sessions {
		if s.Wait.Share > share {
			most, share = i, s.Wait.Share
		}
	}
	return most
}

func percent(share float64) string { return fmt.Sprintf("%.1f%%", 100*share) }

// causesOf returns the causes of a wait, the largest part first.
func causesOf(w watch.Wait) []string {
	return slices.SortedFunc(maps.Keys(w.Parts), func(a, b string) int {
		return cmp.Or(cmp.Compare(w.Parts[b], w.Parts[a]), cmp.Compare(a, b))
	})
}

// largest names the n largest parts of a wait.
func largest(w watch.Wait, n int) string {
	var parts []string
	for _, cause := range causesOf(w) {
		if w.Parts[cause] < 0.0005 || len(parts) == n {
			break
		}
		parts = append(parts, printable.Text(cause)+" "+percent(w.Parts[cause]))
	}
	return strings.Join(parts, ", ")
}

// fact is a line with a name at the left.
func (f Frame) fact(name, format string, args ...any) string {
	return "  " + faint.Render(fmt.Sprintf("%-*s", nameCol, name)) + fmt.Sprintf(format, args...)
}

// barred is a line with a bar, if the terminal has room for one.
func (f Frame) barred(name string, share float64, format string, args ...any) string {
	bar := ""
	if f.Width >= barAt {
		bar = f.bar(share, barWide) + "  "
	}
	return "  " + faint.Render(fmt.Sprintf("%-*s", nameCol, name)) + bar + fmt.Sprintf(format, args...)
}

// waits draws what the loops of all ranks waited for, in the order in which data moves.
func (f Frame) waits(e *watch.Engine) (lines []string) {
	if e.Rates == nil || !e.Rates.Wait.Known {
		return nil
	}
	w := e.Rates.Wait
	lines = append(lines, f.barred("wait", w.Share, "%s of the loops' time", percent(w.Share)))
	for c := range wait.Cause(wait.Causes) {
		if share := w.Parts[c.String()]; share >= 0.0005 {
			lines = append(lines, f.barred("  "+c.String(), share, "%s", percent(share)))
		}
	}
	return lines
}

func (f Frame) memory(e *watch.Engine) (lines []string) {
	m := &e.Now.Memory
	of := "no limit"
	if m.Limit > 0 {
		of = "of " + mem.Bytes(m.Limit).String()
	}
	lines = append(lines, f.barred("memory", share(m.Reserved, m.Limit), "%v reserved %s", mem.Bytes(m.Reserved), of))
	for i := range len(mem.Amounts{}) {
		name := mem.Purpose(i).String()
		if u := m.Purposes[name]; u.Reserved > 0 || u.Used > 0 {
			room, together := roomOf(m, name)
			lines = append(lines, f.barred("  "+name, share(u.Used, room), "%v of %v%s", mem.Bytes(u.Used), mem.Bytes(room), together))
		}
	}
	return lines
}

// roomOf returns the reserved bytes that a purpose may use: decoded blocks and those in the shuffle
// buffer share theirs.
func roomOf(m *engine.Memory, name string) (bytes int64, together string) {
	if decode, shuffle := mem.Decode.String(), mem.Shuffle.String(); name == decode || name == shuffle {
		return m.Purposes[decode].Reserved + m.Purposes[shuffle].Reserved, " for both"
	}
	return m.Purposes[name].Reserved, ""
}

func share(part, of int64) float64 {
	if of <= 0 {
		return 0
	}
	return float64(part) / float64(of)
}

func (f Frame) caches(e *watch.Engine) (lines []string) {
	for _, c := range e.Now.Caches {
		hits := ""
		if e.Rates != nil && e.Rates.HitShare != nil {
			hits = fmt.Sprintf(", %s of bytes from it", percent(*e.Rates.HitShare))
		}
		lines = append(lines, f.barred("cache", share(c.Held, c.Limit), "%v of %v%s", mem.Bytes(c.Held), mem.Bytes(c.Limit), hits))
		if c.Trouble+c.Bad > 0 {
			lines = append(lines, alarm.Render(f.fact("", "the disk failed %s, %s damaged", text.Plural(c.Trouble, "time"), text.Plural(c.Bad, "block"))))
		}
	}
	return lines
}

func (f Frame) stores(e *watch.Engine) (lines []string) {
	for i, s := range e.Now.Stores {
		line := fmt.Sprintf("%s so far", text.Plural(s.Requests(), "request"))
		if e.Rates != nil {
			r := e.Rates.Stores[i]
			line = fmt.Sprintf("%s requests/s, %v/s, %.1f retries/s, %.1f throttles/s", text.Count(int64(r.Requests+0.5)), mem.Bytes(r.Bytes), r.Retries, r.Throttles)
		}
		if s.Window > 0 {
			line += fmt.Sprintf(", %d of %d in flight", s.InFlight, s.Window)
		}
		lines = append(lines, f.fact("store", "%s: %s", printable.Text(s.Store), line))
	}
	return lines
}
