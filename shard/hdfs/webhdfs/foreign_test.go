package webhdfs

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/shard"
)

// A flaky is a gateway with one file, whose answers are replaced by those of others.
type flaky struct {
	*httptest.Server
	content []byte
	ops     string // of the requests that are hit; "" hits all
	every   int64  // each so many-th of them; 0 hits none
	answer  func(w http.ResponseWriter, r *http.Request, body []byte)
	n       atomic.Int64
}

func newFlaky(t *testing.T, content []byte) *flaky {
	f := &flaky{content: content}
	f.Server = httptest.NewServer(http.HandlerFunc(f.handle))
	t.Cleanup(f.Close)
	return f
}

func (f *flaky) handle(w http.ResponseWriter, r *http.Request) {
	args := r.URL.Query()
	op := args.Get("op")
	var body []byte
	kind := "application/json"
	status := func(name string) string {
		return fmt.Sprintf(`{"pathSuffix":%q,"type":"FILE","length":%d,"modificationTime":5,"fileId":7}`, name, len(f.content))
	}
	switch op {
	case "GETFILESTATUS":
		body = []byte(`{"FileStatus":` + status("") + `}`)
		if strings.HasSuffix(r.URL.Path, "/dir") {
			body = []byte(`{"FileStatus":{"type":"DIRECTORY","modificationTime":5,"fileId":6}}`)
		}
	case "LISTSTATUS_BATCH":
		body = []byte(`{"DirectoryListing":{"partialListing":{"FileStatuses":{"FileStatus":[` + status("a.parquet") + `]}},"remainingEntries":0}}`)
	case "GET_BLOCK_LOCATIONS":
		body = []byte(`{"LocatedBlocks":{"isUnderConstruction":false,"locatedBlocks":[]}}`)
	case "OPEN":
		off, _ := strconv.Atoi(args.Get("offset"))
		n, _ := strconv.Atoi(args.Get("length"))
		body, kind = f.content[off:off+n], "application/octet-stream"
	}
	if r.URL.Path == "/login" {
		f.answer(w, r, nil)
		return
	}
	if f.every > 0 && strings.Contains(op, f.ops) && f.n.Add(1)%f.every == 0 {
		f.answer(w, r, body)
		return
	}
	w.Header().Set("Content-Type", kind)
	_, _ = w.Write(body)
}

const loginPage = "<html><body>please log in</body></html>"

// foreignAnswers are what a proxy, a login page or another service says in place of the cluster.
var foreignAnswers = map[string]func(w http.ResponseWriter, r *http.Request, body []byte){
	"html": func(w http.ResponseWriter, _ *http.Request, _ []byte) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte(loginPage))
	},
	"html without a length": func(w http.ResponseWriter, _ *http.Request, _ []byte) {
		w.Header().Set("Content-Type", "text/html")
		w.(http.Flusher).Flush()
		_, _ = w.Write([]byte(loginPage))
	},
	"html of the same length": func(w http.ResponseWriter, _ *http.Request, body []byte) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write(bytes.Repeat([]byte(" "), len(body)))
	},
	"another service": func(w http.ResponseWriter, _ *http.Request, _ []byte) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"status":"ok","items":[]}`))
	},
	"a redirect to a login page": func(w http.ResponseWriter, r *http.Request, _ []byte) {
		if r.URL.Path == "/login" {
			w.Header().Set("Content-Type", "text/html")
			_, _ = w.Write([]byte(loginPage))
			return
		}
		http.Redirect(w, r, "http://"+r.Host+"/login?op="+r.URL.Query().Get("op"), http.StatusFound)
	},
	"a redirect to nowhere": func(w http.ResponseWriter, _ *http.Request, _ []byte) { w.WriteHeader(http.StatusFound) },
	"short": func(w http.ResponseWriter, _ *http.Request, body []byte) {
		_, _ = w.Write(body[:len(body)/2])
	},
	"long": func(w http.ResponseWriter, _ *http.Request, body []byte) {
		_, _ = w.Write(append(bytes.Clone(body), body...))
	},
	"gzip": func(w http.ResponseWriter, _ *http.Request, body []byte) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(bytes.Repeat([]byte{31}, len(body)))
	},
	"another range": func(w http.ResponseWriter, _ *http.Request, body []byte) {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes 1-%d/%d", len(body), 1<<20))
		w.WriteHeader(http.StatusPartialContent)
		_, _ = w.Write(bytes.Repeat([]byte{1}, len(body)))
	},
}

// Answers that are not the cluster's are faults of the network: the bytes that come are the file's.
func TestForeignAnswers(t *testing.T) {
	all := content(300_000)
	for name, answer := range foreignAnswers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFlaky(t, all)
			f.answer, f.every = answer, 3
			if name == "long" || name == "gzip" || name == "another range" {
				f.ops = "OPEN"
			}
			s := newStore(t, Options{RetryFor: 20 * time.Second, PartSize: 100_000})
			uri := strings.Replace(f.URL, "http", "webhdfs", 1) + "/dir"
			found, err := s.List(t.Context(), uri)
			if err != nil || len(found) != 1 || found[0].Size != int64(len(all)) {
				t.Fatalf("%+v, %v", found, err)
			}
			o, err := s.Open(t.Context(), found[0])
			if err != nil {
				t.Fatal(err)
			}
			defer o.Close()
			for off := 0; off < 100; off += 50 {
				got := make([]byte, len(all)-off-7)
				if err := o.ReadAt(t.Context(), got, int64(off)); err != nil || !bytes.Equal(got, all[off:off+len(got)]) {
					t.Fatalf("from %d: %v, the right bytes %t", off, err, bytes.Equal(got, all[off:off+len(got)]))
				}
			}
			if s.Traffic().Retries == 0 {
				t.Error("no answer was foreign")
			}
		})
	}
}

// Where they do not end, one error says so when the time is over.
func TestForeignAnswersForGood(t *testing.T) {
	for name, answer := range foreignAnswers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFlaky(t, content(10_000))
			f.answer, f.every, f.ops = answer, 1, "OPEN"
			s := newStore(t, Options{RetryFor: time.Second})
			o := open(t, s, strings.Replace(f.URL, "http", "webhdfs", 1)+"/dir/a.parquet")
			err := o.ReadAt(t.Context(), make([]byte, 1000), 0)
			if !errors.Is(err, shard.ErrTransient) || !strings.Contains(err.Error(), errForeign.Error()) {
				t.Errorf("error %v", err)
			}
			if e, ok := errors.AsType[*shard.Error](err); !ok || !strings.Contains(e.Hint, "a proxy") {
				t.Errorf("error %+v", err)
			}
		})
	}
}
