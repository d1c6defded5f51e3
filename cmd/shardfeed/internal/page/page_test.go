package page

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/watch"
	"github.com/shardfeed/shardfeed/internal/engine"
)

var began = time.Now()

// viewOf is a view at a second, of engines with some work by their ids.
func viewOf(second int, ids ...string) watch.View {
	v := watch.View{At: began.Add(time.Duration(second) * time.Second)}
	for _, id := range ids {
		v.Engines = append(v.Engines, watch.Engine{
			Socket: "/run/" + id, Now: &engine.Snapshot{Engine: engine.Process{ID: id}, Ranks: []engine.RankWork{{}}}, Rates: &watch.Rates{Rows: float64(second)},
		})
	}
	return v
}

// A history keeps the newest points, shows what has ended for a while, and forgets it.
func TestHistory(t *testing.T) {
	h := history{}
	for second := range kept + 10 {
		if changes := h.add(viewOf(second, "a", "b")); len(changes) != 2 || len(changes["a"].Points) != 1 || changes["a"].Points[0].Rows != float64(second) {
			t.Fatalf("changes %+v", changes)
		}
	}
	if p := h["a"].Points; len(p) != kept || p[0].Rows != 10 || p[kept-1].Rows != kept+9 {
		t.Errorf("%d points", len(p))
	}
	at := kept + 10
	if changes := h.add(viewOf(at, "b")); !changes["a"].Ended || len(changes["a"].Points) != 0 || changes["b"].Ended {
		t.Errorf("after one has ended: %+v", changes)
	}
	if changes := h.add(viewOf(at+1, "b")); changes["a"] != nil || h["a"] == nil {
		t.Errorf("the end is told twice: %+v", changes)
	}
	h.add(viewOf(at+int(keptTime.Seconds()), "b"))
	if h["a"] != nil || h["b"] == nil {
		t.Error("an engine that ended long ago is kept")
	}
	silent := watch.View{Engines: []watch.Engine{{Socket: "/run/c", Error: "no answer"}}}
	h = history{}
	if changes := h.add(silent); changes["/run/c"] == nil {
		t.Errorf("changes %+v", changes)
	}
	if changes := h.add(watch.View{}); !changes["/run/c"].Ended || len(h) != 0 {
		t.Errorf("one that never answered is kept: %+v", h)
	}
}

// shown serves a page of no engines, whose looks the test makes.
func shown(t *testing.T) (p *Page, url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p = New(watch.New("/none"), time.Hour)
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- p.Serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return p, p.URL(l)
}

var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

func get(t *testing.T, url string) *http.Response {
	t.Helper()
	r, err := client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Body.Close() })
	return r
}

// Without the token the page and its events are refused. All that it is made of is its own.
func TestToken(t *testing.T) {
	_, url := shown(t)
	base, token, _ := strings.Cut(url, "/?token=")
	if len(token) < 20 {
		t.Errorf("the token is %q", token)
	}
	for _, path := range []string{"/", "/events", "/?token=", "/events?token=" + token[1:], "/events?token=x" + token} {
		r := get(t, base+path)
		if text, err := io.ReadAll(r.Body); err != nil || r.StatusCode != http.StatusForbidden || !strings.Contains(string(text), "token") {
			t.Errorf("%s: %s, %s, %v", path, r.Status, text, err)
		}
	}
	for path, kind := range map[string]string{"/?token=" + token: "text/html", "/page.js": "text/javascript", "/page.css": "text/css"} {
		r := get(t, base+path)
		text, err := io.ReadAll(r.Body)
		h := r.Header
		if err != nil || r.StatusCode != http.StatusOK || !strings.HasPrefix(h.Get("Content-Type"), kind) || h.Get("Referrer-Policy") != "no-referrer" || !strings.HasPrefix(h.Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s: %s, %v, %v", path, r.Status, h, err)
		}
		if s := strings.ReplaceAll(string(text), "http://www.w3.org/2000/svg", ""); strings.Contains(s, "http://") || strings.Contains(s, "https://") || strings.Contains(s, "innerHTML") {
			t.Errorf("%s names another server, or makes HTML of text", path)
		}
	}
	if r := get(t, base+"/files/index.html?token="+token); r.StatusCode != http.StatusNotFound {
		t.Errorf("another path: %s", r.Status)
	}
}

// events reads server-sent events.
func events(t *testing.T, url string) func() (event string, stories history) {
	t.Helper()
	r := get(t, strings.Replace(url, "/?", "/events?", 1))
	if kind := r.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Fatalf("events are %q: %s", kind, r.Status)
	}
	lines := bufio.NewReader(r.Body)
	line := func(name string) string {
		text, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		value, is := strings.CutPrefix(strings.TrimSuffix(text, "\n"), name)
		if !is {
			t.Fatalf("%q where %q has to be", text, name)
		}
		return value
	}
	return func() (event string, stories history) {
		event = line("event: ")
		if err := json.Unmarshal([]byte(line("data: ")), &stories); err != nil {
			t.Fatal(err)
		}
		line("")
		return event, stories
	}
}

// A reader gets all that is kept, and then what changes; one that has missed a look gets all again.
func TestEvents(t *testing.T) {
	p, url := shown(t)
	for second := range 5 {
		p.add(viewOf(second+1, "a"))
	}
	next := events(t, url)
	if event, all := next(); event != "all" || len(all["a"].Points) != 5 {
		t.Fatalf("first %s: %+v", event, all)
	}
	p.add(viewOf(6, "a", "b"))
	points := 5
	for points < 6 {
		event, got := next()
		if n := len(got["a"].Points); event == "change" {
			points += n
		} else {
			points = n
		}
	}
	if points != 6 {
		t.Errorf("%d points", points)
	}
	if event, data, _, _ := p.since(0); event != "all" || len(data) == 0 {
		t.Errorf("after missed looks: %s", event)
	}
	_, _, looks, _ := p.since(-1)
	if _, data, _, _ := p.since(looks); data != nil {
		t.Errorf("nothing is new, and %s is sent", data)
	}
}

func TestMostReaders(t *testing.T) {
	p, url := shown(t)
	for range mostReaders {
		if !p.enter() {
			t.Fatal("a reader is refused")
		}
	}
	if r := get(t, strings.Replace(url, "/?", "/events?", 1)); r.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("one more: %s", r.Status)
	}
	for range mostReaders {
		p.leave()
	}
}
