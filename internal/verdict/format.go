package verdict

import (
	"fmt"
	"strings"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/text"
	"github.com/shardfeed/shardfeed/internal/wait"
)

// line puts a verdict on ranks of some hosts together.
func line(v Verdict, all bool, hosts []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "waited %s of %s", percent(v.Share), seconds(v.Of))
	if v.Cause == Trainer {
		fmt.Fprintf(&b, "; %s", v.Found)
	} else {
		if v.World > 1 {
			fmt.Fprintf(&b, ": %s", whom(v, all, hosts))
		}
		fmt.Fprintf(&b, " for %s", nouns[v.Cause])
		if v.Found != "" {
			fmt.Fprintf(&b, " (%s)", v.Found)
		}
		if v.Then != "" {
			fmt.Fprintf(&b, ", then for %s", nouns[v.Then])
		}
	}
	fmt.Fprintf(&b, "; %s", v.Cure)
	return b.String()
}

// whom names ranks: "rank 5 of 8", "ranks 8 to 15 of 16 on gpu-02" or "all 8 ranks".
func whom(v Verdict, all bool, hosts []string) string {
	if all && len(v.Ranks) == v.World {
		return "all " + text.Plural(v.World, "rank")
	}
	s := "rank " + text.Count(int64(v.Ranks[0]))
	if n := len(v.Ranks); n > 1 {
		s = "ranks " + numbers(v.Ranks)
	}
	s += " of " + text.Count(int64(v.World))
	if !all {
		s += on(hosts)
	}
	return s
}

// on is " on gpu-02", or " on 3 machines".
func on(hosts []string) string {
	switch {
	case len(hosts) > 2:
		return fmt.Sprintf(" on %d machines", len(hosts))
	case len(hosts) == 0 || hosts[0] == "":
		return ""
	}
	return " on " + strings.Join(hosts, " and ")
}

// mostNumbers bounds the ranks that a line lists.
const mostNumbers = 8

// numbers prints ranks as "0, 3" or "8 to 15".
func numbers(ranks []int) string {
	if last := len(ranks) - 1; last > 1 && ranks[last]-ranks[0] == last {
		return fmt.Sprintf("%d to %d", ranks[0], ranks[last])
	}
	listed := make([]string, 0, mostNumbers)
	for _, r := range ranks[:min(mostNumbers, len(ranks))] {
		listed = append(listed, text.Count(int64(r)))
	}
	if more := len(ranks) - mostNumbers; more > 0 {
		listed = append(listed, fmt.Sprintf("%s more", text.Count(int64(more))))
	}
	return strings.Join(listed, ", ")
}

// nouns name the causes in a line.
var nouns = map[string]string{
	wait.Open.String():     "the data set to open",
	wait.List.String():     "shards and footers to be listed",
	wait.Count.String():    "rows to be counted",
	wait.Storage.String():  "storage",
	wait.Cache.String():    "the cache",
	wait.Decode.String():   "decoding",
	wait.Room.String():     "room in the shuffle buffer",
	wait.Memory.String():   "memory for batches",
	wait.Collate.String():  "collating",
	wait.Map.String():      "map and collate_fn",
	wait.HandOver.String(): "the hand-over",
	wait.Copy.String():     "copies to the device",
}

func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

func seconds(s float64) string {
	switch {
	case s < 1:
		return fmt.Sprintf("%.3g ms", 1000*s)
	case s < 99.95:
		return fmt.Sprintf("%.1f s", s)
	}
	return text.Count(int64(s+0.5)) + " s"
}

func speed(bytesPerSecond float64) string {
	switch {
	case bytesPerSecond >= 999.5e6:
		return fmt.Sprintf("%.1f GB/s", bytesPerSecond/1e9)
	case bytesPerSecond >= 9.95e6:
		return fmt.Sprintf("%.0f MB/s", bytesPerSecond/1e6)
	}
	return fmt.Sprintf("%.2g MB/s", bytesPerSecond/1e6)
}

func size(n int64) string { return mem.Bytes(n).String() }

// option prints a size that holds n bytes as the value of an option, in whole GiB from 1 GiB on.
func option(n int64) string {
	if n >= 1<<30 {
		return fmt.Sprintf("%dGiB", (n-1)>>30+1)
	}
	return fmt.Sprintf("%dMiB", max(0, n-1)>>20+1)
}

// list joins what there is.
func list(parts ...string) string {
	var found []string
	for _, p := range parts {
		if p != "" {
			found = append(found, p)
		}
	}
	return strings.Join(found, ", ")
}
