package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/servertest"
	"github.com/shardfeed/shardfeed/internal/wait"
	"github.com/shardfeed/shardfeed/shard"
)

// A rig is a store that reads one object of a real server through a proxy that makes faults.
type rig struct {
	server  *servertest.S3Server
	proxy   *servertest.HTTPProxy
	store   *Store
	bucket  string
	content []byte
	shard   shard.Shard
	object  shard.Object
}

// random returns n bytes.
func random(seed uint64, n int) []byte {
	r := rand.NewChaCha8([32]byte{byte(seed)})
	b := make([]byte, n)
	_, _ = r.Read(b)
	return b
}

func newRig(t *testing.T, size int, o Options) *rig {
	t.Helper()
	r := &rig{server: servertest.S3(t), content: random(1, size)}
	r.proxy = r.server.Proxy(t)
	reach := optionsOf(r.server)
	o.EndpointURL, o.Key, o.Secret, o.Region = r.proxy.Endpoint(), reach.Key, reach.Secret, reach.Region
	r.store = newStore(t, o)
	r.bucket = r.server.Bucket(t)
	r.server.Put(t, r.bucket, "a.parquet", r.content)
	found, err := r.store.List(t.Context(), "s3://"+r.bucket+"/a.parquet")
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	r.shard = found[0]
	if r.object, err = r.store.Open(t.Context(), r.shard); err != nil {
		t.Fatal(err)
	}
	r.proxy.Forget()
	return r
}

// readAll reads the object whole, n times side by side, and returns the first error; wrong bytes
// fail the test.
func (r *rig) readAll(t *testing.T, n int) error {
	t.Helper()
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() {
			p := make([]byte, len(r.content))
			if errs[i] = r.object.ReadAt(t.Context(), p, 0); errs[i] == nil && !bytes.Equal(p, r.content) {
				t.Error("wrong bytes without an error")
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// TestServerFaultsPass: faults that pass are not seen by the reader, within a bounded time and
// number of requests.
func TestServerFaultsPass(t *testing.T) {
	const parts = 16                                                                             // of each read
	quick := Options{PartSize: 256 << 10, ReadTimeout: 3 * time.Second, HedgeAfter: time.Minute} // on a busy machine an answer may take a second
	calm := Options{PartSize: 256 << 10}
	eager := Options{PartSize: 256 << 10, HedgeAfter: 500 * time.Millisecond, ReadTimeout: 5 * time.Second, MaxRequests: 8}
	for _, c := range []struct {
		name    string
		o       Options
		rule    *servertest.Rule
		reads   int     // of the whole object, of 16 parts each
		most    float64 // requests for each part
		traffic func(shard.Traffic) bool
	}{
		{"none", calm, &servertest.Rule{Times: 1}, 4, 1, func(tr shard.Traffic) bool { return tr.Retries == 0 && tr.Throttled == 0 }},
		{"slow down, 5 of 100", calm, servertest.SlowDown(0.05), 8, 1.3, throttled},
		{"slow down, 30 of 100", calm, servertest.SlowDown(0.3), 8, 2.2, throttled},
		{"slow down, a burst", calm, &servertest.Rule{Times: 100, Answer: servertest.SlowDown(1).Answer}, 4, 3, throttled},
		{"too many requests", calm, &servertest.Rule{Chance: 0.1, Answer: servertest.Refusal(429, "TooManyRequests", "later")}, 4, 1.5, throttled},
		{"internal error", calm, &servertest.Rule{Chance: 0.1, Answer: servertest.Refusal(500, "InternalError", "oops")}, 4, 1.5, retried},
		{"cut bodies", calm, chance(servertest.CutBody(100_000, false), 0.1), 8, 1.3, retried},
		{"cut again and again", calm, servertest.CutBody(64<<10, false), 2, 5, retried},
		{"reset bodies", calm, chance(servertest.CutBody(100_000, true), 0.1), 8, 1.3, retried},
		{"cut before the first byte", calm, chance(servertest.CutBody(0, true), 0.2), 4, 2, retried},
		{"stalls", quick, chance(servertest.StallBody(100_000, time.Minute), 0.05), 4, 1.6, retried},
		{"no answer", quick, chance(servertest.SlowFirstByte(time.Minute), 0.05), 4, 1.6, retried},
		{"slow first byte", eager, chance(servertest.SlowFirstByte(time.Minute), 0.05), 4, 2, hedged},
		{"a web page", calm, &servertest.Rule{Chance: 0.2, Answer: webPage(200)}, 4, 2, retried},
		{"a part of a web page", calm, &servertest.Rule{Chance: 0.2, Answer: webPage(206)}, 4, 2, retried},
		{"compressed on the way", calm, &servertest.Rule{Chance: 0.2, Header: compress}, 4, 2, retried},
		{"without a tag", calm, &servertest.Rule{Chance: 0.2, Header: func(r *http.Response) { r.Header.Del("ETag") }}, 4, 2, retried},
		{"another tag now and then", calm, chance(servertest.WrongETag(), 0.1), 4, 2, retried},
		{"another size now and then", calm, chance(servertest.WrongTotal(1), 0.1), 4, 2, retried},
		{"another range", calm, &servertest.Rule{Chance: 0.2, Header: anotherRange}, 4, 2, retried},
		{"a longer range", calm, &servertest.Rule{Chance: 0.2, Header: longerRange}, 4, 2, retried},
		{"throttled asks for a second", calm, &servertest.Rule{Times: 5, Answer: retryAfterOne()}, 1, 2, throttled},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, parts*256<<10, c.o)
			r.proxy.Use(c.rule)
			before, start := r.store.Traffic(), time.Now()
			if err := r.readAll(t, c.reads); err != nil {
				t.Fatal(err)
			}
			if took := time.Since(start); took > 45*time.Second {
				t.Errorf("it took %v", took)
			}
			sent, _ := r.proxy.Reads()
			if most := int(c.most * float64(parts*c.reads)); sent > most {
				t.Errorf("%d requests, %d would do", sent, most)
			}
			tr := r.store.Traffic()
			if asked := tr.Reads - before.Reads; asked < int64(sent) || asked > int64(sent)+tr.Hedges || !c.traffic(tr) {
				t.Errorf("traffic %+v, and the proxy saw %d", tr, sent)
			}
			if bytes := tr.ReadBytes - before.ReadBytes; bytes != int64(c.reads*len(r.content)) {
				t.Errorf("%d bytes were read", bytes)
			}
			if c.rule.Struck() == 0 {
				t.Error("the fault did not happen")
			}
			r.checkFigures(t)
			t.Logf("%d requests for %d parts in %v: %+v", sent, parts*c.reads, time.Since(start), tr)
		})
	}
}

// checkFigures compares the figures of a bucket with each other, after its last read.
func (r *rig) checkFigures(t *testing.T) {
	t.Helper()
	all := r.store.ByStore()
	if len(all) != 1 || all[0].Store != "s3://"+r.bucket {
		t.Fatalf("figures of %+v", all)
	}
	f := all[0]
	if f.InFlight != 0 || f.Answers > f.Reads || f.Answers < f.Reads-f.Errors-f.Hedges || f.Errors < f.Retries || f.Retries+f.Hedges == 0 && f.Errors > 0 {
		t.Errorf("requests do not add up: %+v", f)
	}
	if f.BusySeconds <= 0 || f.Seconds < f.BusySeconds || f.Seconds < f.FirstByteSeconds || f.Latency() <= 0 || f.Throughput() <= 0 {
		t.Errorf("times do not add up: %+v", f)
	}
}

// A slow answer is latency, and a load waits for the store meanwhile, also in the pauses between
// two tries.
func TestServerFigures(t *testing.T) {
	const delay = 300 * time.Millisecond
	r := newRig(t, 64<<10, Options{HedgeAfter: time.Minute})
	r.proxy.Use(servertest.SlowFirstByte(delay))
	before := r.store.ByStore()[0]
	var trail wait.Trail
	p := wait.NewProbe(&trail, wait.Cache)
	begin := wait.Now()
	if err := r.object.ReadAt(wait.With(t.Context(), p), make([]byte, len(r.content)), 0); err != nil {
		t.Fatal(err)
	}
	p.Stop()
	var parts wait.Parts
	trail.Charge(&parts, begin, trail.End())
	got := r.store.ByStore()[0].Since(before)
	if l := got.Latency(); got.Reads != 1 || l < delay || l > 10*delay || got.BusySeconds < delay.Seconds() {
		t.Errorf("latency %v of %+v", l, got)
	}
	if parts[wait.Storage] < delay || parts[wait.Storage] < parts.Sum()*9/10 {
		t.Errorf("waited for %v", parts.Seconds())
	}

	r.proxy.Use(&servertest.Rule{Times: 1, Answer: servertest.Refusal(503, "SlowDown", "later")})
	trail.Reset()
	p, begin, parts = wait.NewProbe(&trail, wait.Cache), wait.Now(), wait.Parts{}
	if err := r.object.ReadAt(wait.With(t.Context(), p), make([]byte, 10), 0); err != nil {
		t.Fatal(err)
	}
	p.Stop()
	trail.Charge(&parts, begin, trail.End())
	if parts[wait.Storage] < firstWait/2 || parts[wait.Storage] < parts.Sum()*9/10 {
		t.Errorf("throttled, it waited for %v", parts.Seconds())
	}
}

// While a request hangs, the figures show it.
func TestServerFiguresOfSilence(t *testing.T) {
	r := newRig(t, 1000, Options{HedgeAfter: time.Minute})
	r.proxy.Use(servertest.SlowFirstByte(time.Minute))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- r.object.ReadAt(ctx, make([]byte, 10), 0) }()
	for end := time.Now().Add(10 * time.Second); r.store.ByStore()[0].InFlight != 1; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("nothing is in flight: %+v", r.store.ByStore())
		}
	}
	first := r.store.ByStore()[0]
	time.Sleep(50 * time.Millisecond)
	if d := r.store.ByStore()[0].Since(first); d.Seconds < 0.05 || d.BusySeconds < 0.05 || d.Answers != 0 {
		t.Errorf("figures of a request that hangs: %+v", d)
	}
	cancel()
	<-ended
	if f := r.store.ByStore()[0]; f.InFlight != 0 || f.Errors != 0 {
		t.Errorf("after it was given up: %+v", f)
	}
}

// webPage is what captive portals and proxies answer.
func webPage(status int) *servertest.Answer {
	a := &servertest.Answer{Status: status, Header: http.Header{"Content-Type": {"text/html"}}, Body: "<html><body>please log in</body></html>"}
	if status == http.StatusPartialContent {
		a.Header.Set("Content-Range", "bytes 0-38/39")
	}
	return a
}

// anotherRange says that the bytes are those of the beginning of another object.
func anotherRange(r *http.Response) {
	r.Header.Set("Content-Range", fmt.Sprintf("bytes 0-%d/%d", r.ContentLength-1, 10_000_000))
}

// longerRange says that there are more bytes from the first one on than were asked for.
func longerRange(r *http.Response) {
	first, length, total, err := contentRange(r.Header.Get("Content-Range"))
	if err == nil {
		r.Header.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", first, first+length, total))
	}
}

// compress answers with fewer bytes than the range has.
func compress(r *http.Response) {
	r.Header.Set("Content-Encoding", "gzip")
	r.Header.Set("Content-Length", strconv.FormatInt(r.ContentLength/2, 10))
	r.Body = io.NopCloser(io.LimitReader(r.Body, r.ContentLength/2))
	r.ContentLength /= 2
}

// TestServerForeignAnswersToLists: a web page in place of a list or of a look at an object is asked
// for again, not taken for an empty directory or an object of its own size.
func TestServerForeignAnswersToLists(t *testing.T) {
	for _, body := range []string{"<html><body>please log in</body></html>", "<html><br><p>please", ""} {
		r := newRig(t, 1000, Options{})
		for _, address := range []string{r.shard.URI, r.shard.URI[:strings.LastIndexByte(r.shard.URI, '/')]} {
			page := &servertest.Rule{Match: servertest.Any, Times: 2, Answer: webPage(200)}
			page.Answer.Body = body
			r.proxy.Use(page)
			got, err := r.store.List(t.Context(), address)
			if err != nil || len(got) != 1 || got[0].Size != r.shard.Size || got[0].Version != r.shard.Version {
				t.Errorf("%s: %+v, %v", address, got, err)
			}
			if page.Struck() != 2 {
				t.Errorf("%d answers were foreign", page.Struck())
			}
		}
	}
}

func chance(r *servertest.Rule, p float64) *servertest.Rule {
	r.Chance = p
	return r
}

func retryAfterOne() *servertest.Answer {
	a := servertest.Refusal(http.StatusServiceUnavailable, "SlowDown", "later")
	a.Header.Set("Retry-After", "1")
	return a
}

func throttled(tr shard.Traffic) bool {
	return tr.Throttled > 0 && tr.Retries > 0 && tr.Window < startRequests
}
func retried(tr shard.Traffic) bool { return tr.Retries > 0 && tr.Throttled == 0 }
func hedged(tr shard.Traffic) bool  { return tr.Hedges > 0 && tr.Retries <= 2 } // the second may suffer too

// TestServerFaultsStay: what does not pass is one clear error within a bounded time.
func TestServerFaultsStay(t *testing.T) {
	quick := Options{PartSize: 256 << 10, RetryFor: time.Second}
	for _, c := range []struct {
		name string
		rule *servertest.Rule
		kind error
		want string // in the text, words apart by |
		most int    // requests
	}{
		{"slow down for ever", servertest.SlowDown(0), shard.ErrTransient, "gave up after|SlowDown: Please reduce|fewer requests|HTTP 503", 300},
		{"silence", servertest.SlowFirstByte(time.Minute), shard.ErrTransient, "gave up after|no byte came", 300},
		{"a body without bytes", servertest.StallBody(0, time.Minute), shard.ErrTransient, "gave up after|no byte came", 300},
		{"cut at once", servertest.CutBody(0, false), shard.ErrTransient, "gave up after", 300},
		{"denied", servertest.AccessDenied(), shard.ErrDenied, "access denied: AccessDenied: Access Denied [HTTP 403, request SERVERTEST0001, " +
			"endpoint http://|region us-east-1, credentials: from the options|s3:GetObject", 20},
		{"expired", servertest.ExpiredToken(), shard.ErrDenied, "ExpiredToken|log in again", 20},
		{"wrong tag", servertest.WrongETag(), shard.ErrTransient, "was version|is 00000000000000000000000000000000|a look at the object finds", 200},
		{"wrong total", servertest.WrongTotal(1), shard.ErrTransient, "of 4194304 bytes, is|of 4194305 bytes|a look at the object finds", 200},
		{
			"archived", refusing(403, "InvalidObjectState", "The operation is not valid for the object's storage class"), shard.ErrDenied,
			"archived|restore-object", 20,
		},
		{"gone", refusing(404, "NoSuchKey", "The specified key does not exist."), shard.ErrNotExist, "NoSuchKey", 20},
		{"another bucket", refusing(404, "NoSuchBucket", "The specified bucket does not exist."), shard.ErrNotExist, "look at the bucket's name", 20},
		{"not implemented", refusing(501, "NotImplemented", "no"), nil, "NotImplemented", 20},
		{"region without a name", refusing(301, "PermanentRedirect", "elsewhere"), shard.ErrBadURI, "is in another region|Region", 20},
		{
			"strange Content-Range", &servertest.Rule{Header: func(r *http.Response) { r.Header.Set("Content-Range", "bytes x") }}, shard.ErrTransient,
			"Content-Range cannot be read", 200,
		},
		{
			"other bytes", &servertest.Rule{Request: func(r *http.Request) { r.Header.Set("Range", "bytes=7-99") }}, shard.ErrTransient,
			"starts with byte 7", 200,
		},
		{"no ranges", servertest.NoRange(), shard.ErrTransient, "does not serve ranges", 200},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := quick
			if c.rule.Delay > 0 || c.rule.Stall > 0 {
				o.ReadTimeout = 300 * time.Millisecond
			}
			r := newRig(t, 4<<20, o)
			r.proxy.Use(c.rule)
			start := time.Now()
			err := r.readAll(t, 1)
			if took := time.Since(start); took > defaultReadTimeout {
				t.Errorf("it took %v", took)
			}
			if err == nil || c.kind != nil && !errors.Is(err, c.kind) {
				t.Fatalf("error %v", err)
			}
			var e *shard.Error
			if !errors.As(err, &e) || e.URI != r.shard.URI || e.Op != "read" {
				t.Errorf("error %q is not about the shard", err)
			}
			for _, want := range strings.Split(c.want, "|") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not say %q", err, want)
				}
			}
			if strings.Contains(err.Error(), r.server.Secret) || strings.Contains(err.Error(), "operation error") {
				t.Errorf("error %q says too much", err)
			}
			if sent, _ := r.proxy.Reads(); sent > c.most {
				t.Errorf("%d requests", sent)
			}
			r.proxy.Use()
			if err := r.readAll(t, 1); err != nil {
				t.Errorf("when the fault is over: %v", err)
			}
		})
	}
}

func refusing(status int, code, message string) *servertest.Rule {
	return &servertest.Rule{Answer: servertest.Refusal(status, code, message)}
}

// TestServerOverwritten: an object that is replaced while it is read gives its bytes or an error
// that names both versions.
func TestServerOverwritten(t *testing.T) {
	for _, rule := range []*servertest.Rule{{Times: 1}, servertest.NoIfMatch()} { // also by a server that does not know If-Match
		r := newRig(t, 1<<20, Options{PartSize: 64 << 10})
		if err := r.readAll(t, 1); err != nil {
			t.Fatal(err)
		}
		r.proxy.Use(rule)
		r.server.Put(t, r.bucket, "a.parquet", random(2, 1<<20))
		err := r.readAll(t, 1)
		now, listErr := r.store.List(t.Context(), r.shard.URI)
		if listErr != nil {
			t.Fatal(listErr)
		}
		want := "was version " + r.shard.Version + ", is " + now[0].Version
		if !errors.Is(err, shard.ErrChanged) || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not say %q", err, want)
		}
		r.server.Put(t, r.bucket, "a.parquet", random(3, 100))
		if err := r.readAll(t, 1); !errors.Is(err, shard.ErrChanged) || !strings.Contains(err.Error(), "of 100 bytes") {
			t.Errorf("error %v of a shorter object", err)
		}
	}
}

// TestServerOtherRegion: the region that an answer names is gone to, once for the bucket.
func TestServerOtherRegion(t *testing.T) {
	r := newRig(t, 1<<20, Options{PartSize: 64 << 10})
	r.proxy.Use(servertest.OtherRegion("eu-west-1")...)
	if err := r.readAll(t, 4); err != nil {
		t.Fatal(err)
	}
	facts, err := r.store.Explain(t.Context(), r.shard.URI)
	if err != nil || factOf(facts, "region") != "eu-west-1, found by asking the bucket" {
		t.Errorf("facts %v, error %v", facts, err)
	}
	r.proxy.Forget()
	if err := r.readAll(t, 1); err != nil {
		t.Fatal(err)
	}
	if sent, _ := r.proxy.Reads(); sent != 16 {
		t.Errorf("%d requests for 16 parts: the region was not remembered", sent)
	}
}

func factOf(facts []shard.Fact, name string) string {
	for _, f := range facts {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

// TestServerCancelled: a read ends with its context, whatever it is waiting for, and leaves nothing
// behind.
func TestServerCancelled(t *testing.T) {
	for name, rule := range map[string]*servertest.Rule{
		"answer":  servertest.SlowFirstByte(time.Minute),
		"body":    servertest.StallBody(1000, time.Minute),
		"backoff": servertest.SlowDown(0),
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, 4<<20, Options{PartSize: 64 << 10, MaxRequests: 8})
			r.proxy.Use(rule)
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			start := time.Now()
			err := r.object.ReadAt(ctx, make([]byte, 4<<20), 0)
			if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) > defaultReadTimeout*3/4 {
				t.Errorf("after %v: %v", time.Since(start), err)
			}
			// Counted before the next read: the proxy notices a cancelled request a moment late.
			if most := r.proxy.MostInFlight(); most > 8 {
				t.Errorf("%d requests were in flight", most)
			}
			r.proxy.Use()
			if err := r.readAll(t, 1); err != nil { // all tokens came back
				t.Error(err)
			}
		})
	}
}

// TestServerSlowButSteady: a body that takes longer than the read timeout, but never pauses for so
// long, is read by one request.
func TestServerSlowButSteady(t *testing.T) {
	r := newRig(t, 512<<10, Options{})
	slow := servertest.NewProxy(t, r.server.Endpoint)
	slow.Set(servertest.Faults{Rate: 512 << 10})
	o := optionsOf(r.server)
	o.EndpointURL, o.ReadTimeout = slow.Endpoint(), 300*time.Millisecond
	store := newStore(t, o)
	object, err := store.Open(t.Context(), r.shard)
	if err != nil {
		t.Fatal(err)
	}
	p, start := make([]byte, 512<<10), time.Now()
	if err := object.ReadAt(t.Context(), p, 0); err != nil || !bytes.Equal(p, r.content) {
		t.Fatal(err)
	}
	if took := time.Since(start); took < 2*o.ReadTimeout {
		t.Errorf("it took %v only", took)
	}
	if tr := store.Traffic(); tr.Reads != 1 || tr.Retries != 0 {
		t.Errorf("%+v", tr)
	}
}

// TestServerListFaults: a list is whole or an error, whatever happens to its pages.
func TestServerListFaults(t *testing.T) {
	r := newRig(t, 1000, Options{ReadTimeout: 500 * time.Millisecond, RetryFor: 3 * time.Second})
	keys := make([]string, 60)
	for i := range keys {
		keys[i] = fmt.Sprintf("d/%d/%02d", i%7, i)
	}
	put(t, r.server, r.bucket, keys)
	r.store.pageKeys = 5
	for name, rule := range map[string]*servertest.Rule{
		"slow down":   servertest.SlowDown(0.3),
		"cut":         chance(servertest.CutBody(100, false), 0.3),
		"reset":       chance(servertest.CutBody(100, true), 0.3),
		"cut early":   chance(servertest.CutBody(0, false), 0.3),
		"stall":       {Times: 1, After: 100, Stall: time.Minute},
		"bad gateway": {Chance: 0.3, Answer: &servertest.Answer{Status: 502, Body: "<html>no</html>"}},
	} {
		t.Run(name, func(t *testing.T) {
			rule.Match = servertest.Listing
			r.proxy.Use(rule)
			found, err := r.store.List(t.Context(), "s3://"+r.bucket+"/d")
			if err != nil || len(found) != len(keys) || rule.Struck() == 0 { // the proxy's chances are the same in each run
				t.Errorf("%d shards, %v, after %d faults", len(found), err, rule.Struck())
			}
		})
	}
	for name, rule := range map[string]*servertest.Rule{
		"slow down for ever": servertest.SlowDown(0),
		"cut for ever":       servertest.CutBody(100, false),
		"silent for ever":    servertest.StallBody(100, time.Minute),
	} {
		t.Run(name, func(t *testing.T) {
			rule.Match = servertest.Listing
			r.proxy.Use(rule)
			start := time.Now()
			found, err := r.store.List(t.Context(), "s3://"+r.bucket+"/d")
			if !errors.Is(err, shard.ErrTransient) || strings.Contains(err.Error(), "StatusCode") || found != nil || time.Since(start) > 45*time.Second {
				t.Errorf("%d shards, %v after %v", len(found), err, time.Since(start))
			}
		})
	}
}
