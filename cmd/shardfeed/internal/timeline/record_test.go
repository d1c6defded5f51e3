package timeline

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/loads"
	"github.com/shardfeed/shardfeed/internal/wait"
)

// sent is what a trainer sends: an About of a file, and then some items.
func sent(t *testing.T, file string, all ...item) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	about, err := json.Marshal(About{File: file, PID: 77, Rank: 3, WorldSize: 4, Version: "v"})
	if err != nil {
		t.Fatal(err)
	}
	put := func(it item) {
		if err := binary.Write(&b, binary.LittleEndian, it); err != nil {
			t.Fatal(err)
		}
	}
	put(item{Kind: kindAbout, Of: int64(len(about))})
	b.Write(about)
	for _, it := range all {
		put(it)
		if it.Kind == kindBatch {
			b.Write(marksOf[it.Of])
		}
	}
	return &b
}

// marksOf is what follows batches: when they were handed out, and their marks.
var marksOf = map[int64][]byte{}

func batch(of, begin, finished, handed int64, causes ...wait.Cause) item {
	rest := binary.LittleEndian.AppendUint64(nil, uint64(handed))
	rest = binary.LittleEndian.AppendUint64(rest, uint64(finished-begin)<<8)
	for _, c := range causes { // each until the end
		rest = binary.LittleEndian.AppendUint64(rest, uint64(c))
	}
	marksOf[of] = rest
	return item{Kind: kindBatch, Of: of, Begin: int64(1 + len(causes)), End: finished, Epoch: 1, Step: 2, Rows: 3, Bytes: 4}
}

type recorded struct {
	Base      int64 `json:"baseTimeNanoseconds"`
	Shardfeed struct {
		Complete bool
	}
	Events []struct {
		Name, Ph string
		PID, TID int
		TS, Dur  float64
		Args     map[string]any
	} `json:"traceEvents"`
}

func record(t *testing.T, all ...item) (r recorded) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "run.json")
	var answers bytes.Buffer
	if err := Record(t.Context(), sent(t, file, all...), &answers); err != nil || answers.String() != "." {
		t.Fatalf("error %v, answered %q", err, &answers)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return r
}

func TestRecord(t *testing.T) {
	now := wait.Now()
	at := func(us int64) int64 { return now + us*1000 }
	r := record(t,
		item{Kind: int64(wait.Decode), Of: 9, Begin: at(0), End: at(3)},
		item{Kind: kindNext, Of: 9, Begin: at(0), End: at(4), Epoch: int64(wait.HandOver), Step: at(3)},
		batch(0, at(-9), at(1), at(4), wait.Collate),
		batch(1, at(2), at(5), at(6)),
		batch(2, at(4), at(5), at(7)),
		item{Kind: kindEnd})
	if !r.Shardfeed.Complete {
		t.Error("it is not complete")
	}
	var got []string
	names := map[int]string{}
	for _, e := range r.Events {
		if e.Name == "thread_name" {
			names[e.TID] = e.Args["name"].(string)
		}
	}
	for _, e := range r.Events {
		if e.PID != 77 {
			t.Errorf("process %d", e.PID)
		}
		if e.Ph == "X" {
			us := time.Duration(r.Base+int64(e.TS*1000)) - time.Duration(time.Now().Add(-time.Duration(wait.Now()-now)).UnixNano())
			got = append(got, fmt.Sprintf("%s: %s at %v for %v %v", names[e.TID], e.Name, us.Round(time.Millisecond), e.Dur, len(e.Args)))
		}
	}
	want := `shardfeed next: decode at 0s for 3 0
shardfeed next: handover at 0s for 1 0
shardfeed next: shardfeed.next at 0s for 4 0
shardfeed batches 001: shardfeed.batch at 0s for 10 4
shardfeed batches 001: collate at 0s for 10 0
shardfeed batches 001: ready at 0s for 3 0
shardfeed batches 002: shardfeed.batch at 0s for 3 4
shardfeed batches 002: ready at 0s for 1 0
shardfeed batches 001: shardfeed.batch at 0s for 1 4
shardfeed batches 001: ready at 0s for 2 0`
	if text := strings.Join(got, "\n"); text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
}

func TestRecordOfTrainersThatDie(t *testing.T) {
	next := item{Kind: kindNext, Begin: 1, End: 2, Step: 2}
	if r := record(t, next); r.Shardfeed.Complete || len(r.Events) != 4 {
		t.Errorf("without an end: %+v", r)
	}
	if r := record(t, next, item{Kind: kindEnd, Of: 1}); r.Shardfeed.Complete {
		t.Error("a full trace is complete")
	}
	if err := Record(t.Context(), strings.NewReader("cut"), nil); err != nil {
		t.Errorf("before anything: %v", err)
	}
	dir := t.TempDir()
	if err := Record(t.Context(), sent(t, filepath.Join(dir, "none", "x.json")), new(bytes.Buffer)); err == nil {
		t.Error("it wrote into a missing directory")
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left %v", left)
	}
}

func TestLoadsOfATrace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.json.gz")
	load := func(unit int, begin int64) loads.Load {
		return loads.Load{Unit: unit, Shard: `a"b`, Begin: begin, Marks: []loads.Mark{{End: begin, Cause: "room"}, {End: begin + 10, Cause: "storage"}, {End: begin + 15, Cause: "decode"}}}
	}
	r := recording{about: About{File: path, DataRank: 2}, ended: true, loads: []loads.Load{load(1, 100), load(0, 90), load(2, 110)}}
	if err := r.write(); err != nil {
		t.Fatal(err)
	}
	tracks := map[string]int{}
	f := &file{path: path}
	err := f.read(func(e event) error {
		if string(e["name"]) != `"shardfeed.load"` {
			return nil
		}
		var args struct {
			Unit, Rank int
			Shard      string
		}
		if err := json.Unmarshal(e["args"], &args); err != nil || args.Rank != 2 || args.Shard != `a"b` {
			t.Errorf("%s: %+v, error %v", e["args"], args, err)
		}
		tracks[fmt.Sprint(args.Unit)] = int(e["tid"][len(e["tid"])-1] - '0')
		return nil
	})
	if err != nil || len(tracks) != 3 || tracks["0"] != 0 || tracks["1"] != 1 || tracks["2"] != 0 {
		t.Errorf("lanes %v, error %v", tracks, err)
	}
}
