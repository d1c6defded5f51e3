package timeline

import (
	"cmp"
	"container/heap"
	"fmt"
	"slices"
)

// A track is a line of a timeline. Threads have lower numbers.
const firstTrack = 900_000_000

// A span is the time of something on a lane.
type span struct {
	begin, end int64
	of         int // its index in a list
}

// lanesOf returns a lane for each of some spans, so that no two of a lane overlap.
func lanesOf(spans []span) []int {
	slices.SortFunc(spans, func(a, b span) int { return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.of, b.of)) })
	lanes := make([]int, len(spans))
	var busy lanes64
	for _, s := range spans {
		lane := len(busy)
		if len(busy) > 0 && busy[0].end <= s.begin {
			lane = heap.Pop(&busy).(lane64).lane
		}
		heap.Push(&busy, lane64{s.end, lane})
		lanes[s.of] = lane
	}
	return lanes
}

type lane64 struct {
	end  int64
	lane int
}

// lanes64 is a heap of lanes, the one that is free first on top.
type lanes64 []lane64

func (l lanes64) Len() int { return len(l) }
func (l lanes64) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(l[i].end, l[j].end), cmp.Compare(l[i].lane, l[j].lane)) < 0
}
func (l lanes64) Swap(i, j int) { l[i], l[j] = l[j], l[i] }
func (l *lanes64) Push(v any)   { *l = append(*l, v.(lane64)) }
func (l *lanes64) Pop() any {
	v := (*l)[len(*l)-1]
	*l = (*l)[:len(*l)-1]
	return v
}

// tracks are the numbers and names of lines: each kind has its own range, in the order of the
// ranges.
type tracks struct {
	names map[int]string
}

const ofKind = 1_000_000 // tracks of a kind

func (t *tracks) next(thread int) int {
	name := "shardfeed next"
	if thread > 0 {
		name = fmt.Sprintf("%s %d", name, thread+1)
	}
	return t.named(firstTrack+thread, name)
}

func (t *tracks) batch(lane int) int {
	return t.named(firstTrack+ofKind+lane, fmt.Sprintf("shardfeed batches %03d", lane+1))
}

func (t *tracks) load(lane int) int {
	return t.named(firstTrack+2*ofKind+lane, fmt.Sprintf("shardfeed loads %03d", lane+1))
}

func (t *tracks) named(track int, name string) int {
	t.names[track] = name
	return track
}
