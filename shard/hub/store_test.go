package hub

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/local"
	"github.com/shardfeed/shardfeed/shard/shardtest"
)

func TestLists(t *testing.T) {
	shardtest.RunLists(t, func(t *testing.T) shardtest.Fixture { return newStandin(t) })
}

func TestPages(t *testing.T) {
	s := newStandin(t)
	files := map[string][]byte{}
	for i := range 95 {
		files[fmt.Sprintf("data/%03d.parquet", i)] = []byte{byte(i)}
	}
	s.commit(files)
	s.page = 10
	found, err := s.store.List(t.Context(), "hf://datasets/org/data")
	if err != nil || len(found) != 95 {
		t.Fatalf("%d shards, %v", len(found), err)
	}
	if s.lists != 10 {
		t.Errorf("%d requests for 95 files and a directory by 10", s.lists)
	}
}

// Shards have the commit: what a branch leads to later is another data set.
func TestCommitIsPinned(t *testing.T) {
	s := newStandin(t)
	commit := s.commit(map[string][]byte{"a.parquet": []byte("before")})
	found, err := s.store.List(t.Context(), "hf://datasets/org/data")
	if err != nil || len(found) != 1 || found[0].URI != "hf://datasets/org/data@"+commit+"/a.parquet" || found[0].Version != oid([]byte("before")) {
		t.Fatal(found, err)
	}
	s.commit(map[string][]byte{"a.parquet": []byte("after!")})
	if got := read(t, s.store, found[0]); string(got) != "before" {
		t.Errorf("%q", got)
	}
	s.refs["v1.0"], s.refs["refs/convert/parquet"], s.refs["a/b"] = commit, commit, commit
	for _, revision := range []string{"v1.0", "refs/convert/parquet", "a%2Fb", commit} {
		again, err := s.store.List(t.Context(), "hf://datasets/org/data@"+revision+"/a.parquet")
		if err != nil || len(again) != 1 || again[0].URI != found[0].URI {
			t.Errorf("@%s: %v, %v", revision, again, err)
		}
	}
}

func read(t *testing.T, store shard.Store, sh shard.Shard) []byte {
	t.Helper()
	o, err := store.Open(t.Context(), sh)
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	p := make([]byte, sh.Size)
	if err := o.ReadAt(t.Context(), p, 0); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestToken(t *testing.T) {
	s := newStandin(t)
	s.commit(map[string][]byte{"a.parquet": []byte("content")})
	s.gated = true
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "token"), []byte("hf_good\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, ".cache"), 0o700), os.Symlink(dir, filepath.Join(dir, ".cache", "huggingface"))); err != nil {
		t.Fatal(err)
	}
	for _, env := range []map[string]string{
		{"HF_TOKEN": "hf_good"},
		{"HUGGING_FACE_HUB_TOKEN": " hf_good\n"},
		{"HF_TOKEN_PATH": filepath.Join(dir, "token")},
		{"HF_TOKEN_PATH": "~/$NAME", "HOME": dir, "NAME": "token", "HF_HOME": "none"},
		{"HF_HOME": dir},
		{"HF_HOME": "~", "HOME": dir},
		{"XDG_CACHE_HOME": filepath.Join(dir, ".cache")},
		{"HOME": dir},
	} {
		store := s.open(t, env)
		found, err := store.List(t.Context(), "hf://datasets/org/data")
		if err != nil || len(found) != 1 {
			t.Fatalf("%v: %v, %v", env, found, err)
		}
		if got := read(t, store, found[0]); string(got) != "content" {
			t.Errorf("%q", got)
		}
	}
	if len(s.tokens) != 1 || !s.tokens[""] {
		t.Errorf("the other server got %v", s.tokens)
	}
	for _, c := range []struct {
		token, address, want string
		is                   error
	}{
		{"", "hf://datasets/org/data", "accept its terms", shard.ErrDenied},
		{"hf_bad", "hf://datasets/org/data", "whether the token is valid", shard.ErrDenied},
		{"hf_good", "hf://datasets/org/none", "one that is private needs a token", shard.ErrDenied},
		{"hf_good", "hf://datasets/org/data@v9", "branches and tags", shard.ErrNotExist},
		{"hf_good", "hf://datasets/org/data/b.parquet", "no such file", shard.ErrNotExist},
		{"hf_good", "hf://org/data", "starts with hf://datasets/", shard.ErrBadURI},
		{"hf_good", "hf://datasets/org", "names no data set", shard.ErrBadURI},
		{"hf_good", "hf://datasets/org/data@", "no revision", shard.ErrBadURI},
	} {
		store := s.open(t, map[string]string{"HF_TOKEN": c.token})
		found, err := store.List(t.Context(), c.address)
		if err == nil {
			var o shard.Object
			if o, err = store.Open(t.Context(), found[0]); err == nil {
				err = o.ReadAt(t.Context(), make([]byte, 1), 0)
			}
		}
		if !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.want) || c.token != "" && strings.Contains(err.Error(), c.token) {
			t.Errorf("%s with token %q: %v", c.address, c.token, err)
		}
	}
}

// Many requests wait for the rate limit, and none fails by it.
func TestRateLimit(t *testing.T) {
	s := newStandin(t)
	content := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	s.commit(map[string][]byte{"a.parquet": content})
	found, err := s.store.List(t.Context(), "hf://datasets/org/data")
	if err != nil {
		t.Fatal(err)
	}
	s.quota = 3
	var ranges []shard.Range
	o, err := s.store.Open(t.Context(), found[0])
	if err != nil {
		t.Fatal(err)
	}
	for range 8 {
		ranges = ranges[:0]
		for off := int64(0); off < int64(len(content)); off += 100_000 {
			ranges = append(ranges, shard.Range{Off: off, P: make([]byte, 10)})
		}
		if err := shard.ReadRanges(t.Context(), o, ranges); err != nil {
			t.Fatal(err)
		}
		for _, r := range ranges {
			if !bytes.Equal(r.P, content[r.Off:r.Off+10]) {
				t.Fatalf("bytes from %d on are wrong", r.Off)
			}
		}
	}
	if s.refused == 0 || s.resolves-s.refused != 8 {
		t.Errorf("%d requests for 8 reads of 11 ranges, %d of them refused", s.resolves, s.refused)
	}
}

// A long wait for the rate limit is noted once, with what the hub said.
func TestRateLimitNoted(t *testing.T) {
	s := newStandin(t)
	s.commit(map[string][]byte{"a.parquet": []byte("content")})
	s.quota, s.window = 1, time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	var notes []string
	store := New(Options{Endpoint: s.hub.URL, Getenv: func(string) string { return "" }, Waiting: func(text string) {
		notes = append(notes, text)
		cancel()
	}}, local.New())
	defer store.Close()
	found, err := store.List(ctx, "hf://datasets/org/data")
	if err != nil {
		t.Fatal(err)
	}
	o, err := store.Open(ctx, found[0])
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		err = o.ReadAt(ctx, make([]byte, 7), 0)
	}
	if want := s.hub.URL + " takes no more requests for 5m10s: 429 Too Many Requests (0 requests are left)"; !errors.Is(err, context.Canceled) || len(notes) != 1 || notes[0] != want {
		t.Errorf("%v, notes %q, want %s", err, notes, want)
	}
}

// A URL that expires before it is used is followed by another.
func TestExpiredURL(t *testing.T) {
	s := newStandin(t)
	s.commit(map[string][]byte{"a.parquet": []byte("content")})
	found, err := s.store.List(t.Context(), "hf://datasets/org/data")
	if err != nil {
		t.Fatal(err)
	}
	s.expireIn(-time.Second)
	time.AfterFunc(300*time.Millisecond, func() { s.expireIn(time.Minute) })
	if got := read(t, s.store, found[0]); string(got) != "content" {
		t.Errorf("%q", got)
	}
	if s.store.Traffic().Retries == 0 {
		t.Error("no request was made again")
	}
	s.expireIn(-time.Second)
	o, err := s.store.Open(t.Context(), found[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := o.ReadAt(t.Context(), make([]byte, 3), 0); !errors.Is(err, shard.ErrDenied) || !strings.Contains(err.Error(), "refuses what") {
		t.Errorf("error %v", err)
	}
}

func TestNoParquet(t *testing.T) {
	s := newStandin(t)
	s.commit(map[string][]byte{"data/train.jsonl": []byte("{}"), "README.md": []byte("x")})
	if _, err := s.store.List(t.Context(), "hf://datasets/org/data"); err == nil || !strings.Contains(err.Error(), "@refs/convert/parquet") {
		t.Errorf("error %v", err)
	}
}

// Downloads of the hub's own client are read from the disk, and offline nothing else is.
func TestDownloads(t *testing.T) {
	s := newStandin(t)
	content := []byte("downloaded")
	commit := s.commit(map[string][]byte{"data/a.parquet": content, "data/b.parquet": []byte("not downloaded")})
	cache := t.TempDir()
	base := filepath.Join(cache, "datasets--org--data")
	for _, dir := range []string{"refs", "blobs", "snapshots/" + commit + "/data"} {
		if err := os.MkdirAll(filepath.Join(base, filepath.FromSlash(dir)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(
		os.WriteFile(filepath.Join(base, "refs", "main"), []byte(commit), 0o644),
		os.WriteFile(filepath.Join(base, "blobs", oid(content)), content, 0o644),
		os.Symlink("../../../blobs/"+oid(content), filepath.Join(base, "snapshots", commit, "data", "a.parquet")),
	); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"HF_HUB_CACHE": cache}
	online := s.open(t, env)
	found, err := online.List(t.Context(), "hf://datasets/org/data/data/*.parquet")
	if err != nil || len(found) != 2 {
		t.Fatal(found, err)
	}
	if got := read(t, online, found[0]); !bytes.Equal(got, content) || s.resolves != 0 {
		t.Errorf("%q by %d requests", got, s.resolves)
	}
	if got := read(t, online, found[1]); string(got) != "not downloaded" || s.resolves != 1 {
		t.Errorf("%q by %d requests", got, s.resolves)
	}
	offline := New(Options{Endpoint: "http://127.0.0.1:1", Getenv: func(name string) string {
		return map[string]string{"HF_HUB_CACHE": cache, "HF_HUB_OFFLINE": "1"}[name]
	}}, local.New())
	defer offline.Close()
	alone, err := offline.List(t.Context(), "hf://datasets/org/data")
	if err != nil || len(alone) != 1 || alone[0].URI != found[0].URI || alone[0].Version != found[0].Version {
		t.Fatal(alone, err)
	}
	if got := read(t, offline, alone[0]); !bytes.Equal(got, content) {
		t.Errorf("%q", got)
	}
	for _, env := range []map[string]string{
		{"HF_HOME": "$AT", "AT": filepath.Dir(cache), "HUGGINGFACE_HUB_CACHE": cache, "TRANSFORMERS_OFFLINE": "1"},
		{"HF_HUB_CACHE": "~/" + filepath.Base(cache), "HOME": filepath.Dir(cache), "HF_HUB_OFFLINE": "yes"},
	} {
		other := New(Options{Endpoint: "http://127.0.0.1:1", Getenv: func(name string) string { return env[name] }}, local.New())
		if found, err := other.List(t.Context(), "hf://datasets/org/data"); err != nil || len(found) != 1 {
			t.Errorf("%v: %v, %v", env, found, err)
		}
		other.Close()
	}
	if _, err := offline.Open(t.Context(), found[1]); !errors.Is(err, shard.ErrNotExist) || !strings.Contains(err.Error(), "hf download") {
		t.Errorf("error %v", err)
	}
	if _, err := offline.List(t.Context(), "hf://datasets/org/other"); !errors.Is(err, shard.ErrNotExist) || !strings.Contains(err.Error(), "HF_HUB_OFFLINE") {
		t.Errorf("error %v", err)
	}
}

func TestOddNames(t *testing.T) {
	s := newStandin(t)
	for _, name := range []string{"a b.parquet", "100%.parquet", "한/x.parquet", "a#b.parquet", "q?x.parquet", "a+b.parquet", "k=v%2Fw/x.parquet"} {
		s.Write(t, name, []byte(name))
	}
	found, err := s.store.List(t.Context(), "hf://datasets/org/data")
	if err != nil || len(found) != 7 {
		t.Fatal(found, err)
	}
	for _, sh := range found {
		if got := read(t, s.store, sh); !strings.HasSuffix(sh.URI, "/"+string(got)) {
			t.Errorf("%s has %q", sh.URI, got)
		}
	}
}
