package hub

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/local"
)

// A standin answers as the hub does: the revision and tree interfaces, and resolve with a redirect
// to another server, whose URLs are signed for one range and expire. It has one data set, org/data.
type standin struct {
	hub, cdn *httptest.Server
	store    *Store

	mu       sync.Mutex
	commits  map[string]map[string][]byte // by commit: contents by path
	refs     map[string]string
	page     int
	gated    bool          // the content needs the token hf_good, the lists do not
	ttl      time.Duration // of signed URLs
	quota    int           // requests to resolve in a window
	used     int
	window   time.Duration
	reset    time.Time
	lists    int
	resolves int
	refused  int
	tokens   map[string]bool // that the other server got
	ranges   []string
}

func newStandin(t *testing.T) *standin {
	s := &standin{
		commits: map[string]map[string][]byte{}, refs: map[string]string{}, page: 1000, ttl: time.Minute, quota: 1 << 30, window: time.Second,
		tokens: map[string]bool{},
	}
	s.commit(map[string][]byte{})
	s.cdn = httptest.NewServer(http.HandlerFunc(s.bridge))
	t.Cleanup(s.cdn.Close)
	m := http.NewServeMux()
	m.HandleFunc("/api/datasets/", s.api)
	m.HandleFunc("/datasets/", s.resolve)
	s.hub = httptest.NewServer(m)
	t.Cleanup(s.hub.Close)
	s.store = s.open(t, nil)
	return s
}

// open returns a store with an environment.
func (s *standin) open(t *testing.T, env map[string]string) *Store {
	store := New(Options{Endpoint: s.hub.URL, RetryFor: 2 * time.Second, Getenv: func(name string) string { return env[name] }}, local.New())
	t.Cleanup(func() { _ = store.Close() })
	return store
}

// commit makes files the newest of main.
func (s *standin) commit(files map[string][]byte) string {
	h := sha1.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(h, "%s %x\n", name, sha256.Sum256(files[name]))
	}
	id := hex.EncodeToString(h.Sum(nil))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.commits[id], s.refs["main"] = files, id
	return id
}

// expireIn makes the signed URLs of later answers expire after a time.
func (s *standin) expireIn(ttl time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ttl = ttl
}

func (s *standin) head() map[string][]byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.commits[s.refs["main"]])
}

func (s *standin) Store() shard.Store { return s.store }

func (s *standin) Write(_ testing.TB, name string, content []byte) {
	files := s.head()
	for other := range files { // a name is a file's or a directory's
		if strings.HasPrefix(other, name+"/") || strings.HasPrefix(name, other+"/") {
			return
		}
	}
	files[name] = content
	s.commit(files)
}

func (s *standin) Remove(_ testing.TB, name string) {
	files := s.head()
	delete(files, name)
	s.commit(files)
}

// Address has the commit, as shards have it.
func (s *standin) Address(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return address{repo: "org/data"}.uri(s.refs["main"], name)
}

func fail(w http.ResponseWriter, status int, code, text string) {
	w.Header().Set("X-Error-Code", code)
	w.Header().Set("X-Error-Message", text)
	w.WriteHeader(status)
}

func oid(content []byte) string { return fmt.Sprintf("%x", sha256.Sum256(content)) }

// find returns the files of a revision, or answers as the hub does.
func (s *standin) find(w http.ResponseWriter, r *http.Request, repo, revision string) (map[string][]byte, string) {
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	s.mu.Lock()
	defer s.mu.Unlock()
	commit := revision
	if named, ok := s.refs[revision]; ok {
		commit = named
	}
	files, ok := s.commits[commit]
	switch {
	case repo != "org/data":
		fail(w, 401, "RepoNotFound", "Repository not found")
	case token != "" && token != "hf_good":
		fail(w, 401, "", "Invalid credentials in Authorization header")
	case s.gated && token == "" && strings.HasPrefix(r.URL.Path, "/datasets/"):
		fail(w, 401, "GatedRepo", "Access to dataset org/data is restricted")
	case !ok:
		fail(w, 404, "RevisionNotFound", "Invalid rev id: "+revision)
	default:
		return files, commit
	}
	return nil, ""
}

func (s *standin) api(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.TrimPrefix(r.URL.EscapedPath(), "/api/datasets/"), "/")
	for i := range parts {
		parts[i], _ = url.PathUnescape(parts[i])
	}
	files, commit := s.find(w, r, parts[0]+"/"+parts[1], parts[3])
	if files == nil {
		return
	}
	if parts[2] == "revision" {
		_ = json.NewEncoder(w).Encode(map[string]any{"id": "org/data", "sha": commit})
		return
	}
	s.mu.Lock()
	s.lists++
	s.mu.Unlock()
	dir := strings.Join(parts[4:], "/")
	all := entries(files, dir, r.FormValue("recursive") == "true")
	if len(all) == 0 && dir != "" {
		fail(w, 404, "EntryNotFound", dir+" does not exist")
		return
	}
	from, _ := strconv.Atoi(r.FormValue("cursor"))
	end := min(len(all), from+s.page)
	if end < len(all) {
		q := r.URL.Query()
		q.Set("cursor", strconv.Itoa(end))
		w.Header().Set("Link", fmt.Sprintf("<%s%s?%s>; rel=\"next\"", s.hub.URL, r.URL.EscapedPath(), q.Encode()))
	}
	_ = json.NewEncoder(w).Encode(all[from:end])
}

// entries are what the tree interface lists of a directory.
func entries(files map[string][]byte, dir string, recursive bool) []map[string]any {
	all, dirs := []map[string]any{}, map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		below, ok := strings.CutPrefix(name, dir+"/")
		if dir == "" {
			below, ok = name, true
		}
		if !ok {
			continue
		}
		for up := path.Dir(below); up != "." && !dirs[up]; up = path.Dir(up) {
			dirs[up] = true
			if recursive || !strings.Contains(up, "/") {
				all = append(all, map[string]any{"type": "directory", "path": path.Join(dir, up), "oid": "0", "size": 0})
			}
		}
		if recursive || !strings.Contains(below, "/") {
			content := files[name]
			all = append(all, map[string]any{
				"type": "file", "path": name, "size": len(content), "oid": "0123", "lfs": map[string]any{"oid": oid(content), "size": len(content)},
			})
		}
	}
	return all
}

func (s *standin) sign(parts ...string) string {
	m := hmac.New(sha256.New, []byte("key"))
	m.Write([]byte(strings.Join(parts, "\n")))
	return hex.EncodeToString(m.Sum(nil))
}

func (s *standin) allowed(w http.ResponseWriter) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); now.After(s.reset) {
		s.used, s.reset = 0, now.Add(s.window)
	}
	s.used++
	s.resolves++
	seconds := int(time.Until(s.reset).Seconds()) + 1
	w.Header().Set("RateLimit", fmt.Sprintf(`"resolvers";r=%d;t=%d`, max(0, s.quota-s.used), seconds))
	if s.used > s.quota {
		s.refused++
		w.WriteHeader(http.StatusTooManyRequests)
		return false
	}
	return true
}

func (s *standin) resolve(w http.ResponseWriter, r *http.Request) {
	repo, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.EscapedPath(), "/datasets/"), "/resolve/")
	revision, name, _ := strings.Cut(rest, "/")
	name, _ = url.PathUnescape(name)
	if !s.allowed(w) {
		return
	}
	files, commit := s.find(w, r, repo, revision)
	if files == nil {
		return
	}
	content, ok := files[name]
	if !ok {
		fail(w, 404, "EntryNotFound", "Entry not found")
		return
	}
	s.mu.Lock()
	expires := strconv.FormatInt(time.Now().Add(s.ttl).UnixMilli(), 10)
	s.mu.Unlock()
	q := url.Values{"commit": {commit}, "name": {name}, "expires": {expires}, "sig": {s.sign(commit, name, expires, r.Header.Get("Range"))}}
	w.Header().Set("X-Linked-Etag", `"`+oid(content)+`"`)
	w.Header().Set("Location", s.cdn.URL+"/bridge?"+q.Encode())
	w.WriteHeader(http.StatusFound)
}

func (s *standin) bridge(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	expires, _ := strconv.ParseInt(q.Get("expires"), 10, 64)
	s.mu.Lock()
	s.tokens[r.Header.Get("Authorization")] = true
	s.ranges = append(s.ranges, r.Header.Get("Range"))
	content := s.commits[q.Get("commit")][q.Get("name")]
	s.mu.Unlock()
	if q.Get("sig") != s.sign(q.Get("commit"), q.Get("name"), q.Get("expires"), r.Header.Get("Range")) || time.Now().UnixMilli() > expires {
		http.Error(w, "the URL has expired or is for another range", http.StatusForbidden)
		return
	}
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(string(content)))
}
