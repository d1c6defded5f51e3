package main

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"github.com/shardfeed/shardfeed/cache"
	"github.com/shardfeed/shardfeed/internal/servertest"
)

// What is warm is not asked for again, by warm or by a run.
func TestServerWarm(t *testing.T) {
	for _, f := range families(t)[1:] {
		t.Run(f.name, func(t *testing.T) {
			dir := t.TempDir()
			var first, second warmth
			object(t, &first, f.args("warm", "--cache-dir", dir, "--columns", "unique_id,token_ids")...)
			if !first.Complete || first.Shards != 8 || first.RowGroups != 24 || first.There != 0 || first.Fetched < first.Bytes || first.Lacking != 0 {
				t.Errorf("the first time: %+v", &first)
			}
			object(t, &second, f.args("warm", "--cache-dir", dir, "--columns", "unique_id,token_ids")...)
			if !second.Complete || second.There != second.Bytes || second.Fetched != 0 || second.Bytes != first.Bytes {
				t.Errorf("the second time: %+v", &second)
			}
			var m measurement
			object(t, &m, f.args("bench", "--cache-dir", dir, "--columns", "token_ids")...)
			if m.Rows != 2026 || m.Storage.Reads != 0 {
				t.Errorf("a run after it: %+v", m.Storage)
			}
		})
	}
}

// A filter leaves out the row groups that no row passes, and a run under it asks for nothing.
func TestServerWarmFilter(t *testing.T) {
	f := families(t)[1]
	dir := t.TempDir()
	args := []string{"--cache-dir", dir, "--columns", "unique_id,token_ids", "--where", "unique_id < 'N00000000500'"}
	var w warmth
	object(t, &w, f.args("warm", args...)...)
	if !w.Complete || w.RowGroups == 0 || w.RowGroups >= 24 {
		t.Errorf("%+v", &w)
	}
	var m measurement
	object(t, &m, f.args("bench", args...)...)
	if m.Rows == 0 || m.Storage.Reads != 0 {
		t.Errorf("a run after it: %d rows, %+v", m.Rows, m.Storage)
	}
}

// All that the sources of a mixture read is warm then, though they share shards, and a run asks for
// nothing.
func TestServerWarmSources(t *testing.T) {
	f := families(t)[1]
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "sources.json")
	sources := fmt.Sprintf(`{"one": {"addresses": [%q]}, "all": {"addresses": [%q], "filters": "len(title) > 3"}}`,
		strings.TrimRight(f.address, "/")+"/part-00000.parquet", f.address)
	if err := os.WriteFile(file, []byte(sources), 0o600); err != nil {
		t.Fatal(err)
	}
	args := func(verb string, more ...string) []string {
		all := append([]string{verb, "--sources", file, "--cache-dir", dir, "--columns", "unique_id,token_ids"}, f.flags...)
		return append(all, more...)
	}
	var w, again warmth
	object(t, &w, args("warm")...)
	object(t, &again, args("warm")...)
	if !w.Complete || w.RowGroups != 24 || w.Shards != 8 || again.Fetched != 0 || again.There != w.Bytes {
		t.Errorf("%+v, then %+v", &w, &again)
	}
	var m measurement
	object(t, &m, args("bench", "--shuffle", "--stop", "all")...)
	if m.Rows == 0 || m.Storage.Reads != 0 {
		t.Errorf("a run after it: %d rows, %+v", m.Rows, m.Storage)
	}
}

// Ranks warm disjoint parts that together are all of it.
func TestServerWarmRanks(t *testing.T) {
	f := families(t)[1]
	dir := t.TempDir()
	var whole warmth
	var bytes, fetched int64
	groups := 0
	for _, rank := range []string{"0", "1", "2"} {
		t.Run(rank, func(t *testing.T) {
			var w warmth
			object(t, &w, f.args("warm", "--cache-dir", dir, "--rank", rank, "--world-size", "3")...)
			bytes, fetched, groups = bytes+w.Bytes, fetched+w.Fetched, groups+w.RowGroups
			if !w.Complete || w.Bytes == 0 {
				t.Errorf("rank %s: %+v", rank, &w)
			}
		})
	}
	object(t, &whole, f.args("warm", "--cache-dir", dir)...)
	if groups != 24 || whole.Bytes != bytes || whole.There != bytes || whole.Fetched != 0 {
		t.Errorf("ranks warmed %d row groups, %d bytes; of all: %+v", groups, bytes, &whole)
	}
}

// What does not fit is known before it is fetched, exits with 1, and a run still has all rows.
func TestServerWarmFull(t *testing.T) {
	f := families(t)[1]
	dir := t.TempDir()
	code, stdout, stderr := command(t, f.args("warm", "--cache-dir", dir, "--cache-limit", "1MiB", "--json")...)
	if code != exitFailed || !strings.Contains(stdout, `"complete":false`) || !strings.Contains(stderr, "did not fit") || strings.Count(stderr, "\n") != 2 || !strings.Contains(stderr, "are not fetched") {
		t.Errorf("exit %d, %s, %q", code, stdout, stderr)
	}
	var w warmth
	if err := json.Unmarshal([]byte(stdout), &w); err != nil || w.Fetched > 1<<20 || w.Fetched < 1<<19 || w.Lacking < w.Bytes-1<<20 {
		t.Errorf("%v: %+v", err, &w)
	}
	space, err := cache.Usage(dir)
	if err != nil || space.Bytes > 1<<20 || space.Shards == 0 {
		t.Errorf("the cache has %+v, %v", space, err)
	}
	if got := must(t, f.args("cat", "--cache-dir", dir, "--cache-limit", "1MiB", "--columns", "unique_id")...); strings.Count(got, "\n") != 2026 {
		t.Error("rows are missing")
	}
}

// Tiny chunks take whole pages: what the cache cannot keep of them is not fetched, and what is
// fetched stays.
func TestServerWarmTinyChunks(t *testing.T) {
	server := servertest.S3(t)
	quietHome(t)
	bucket := server.Bucket(t)
	server.PutFile(t, bucket, "tiny.parquet", tinyChunks(t))
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": server.Endpoint, "AWS_ACCESS_KEY_ID": server.Key, "AWS_SECRET_ACCESS_KEY": server.Secret, "AWS_REGION": server.Region,
	} {
		t.Setenv(name, value)
	}
	args := []string{"warm", "s3://" + bucket + "/tiny.parquet", "--columns", "ID", "--cache-dir", t.TempDir(), "--cache-limit", "1MiB", "--json"}
	var first, second warmth
	for _, w := range []*warmth{&first, &second} {
		code, stdout, stderr := command(t, args...)
		if err := json.Unmarshal([]byte(stdout), w); err != nil || code != exitFailed || !strings.Contains(stderr, "are not fetched") {
			t.Fatalf("exit %d, %s, %q", code, stdout, stderr)
		}
	}
	if first.Lacking >= first.Bytes || first.Fetched > 1<<20 || second.There != first.Bytes-first.Lacking || second.Fetched > first.Fetched/20 {
		t.Errorf("%+v, then %+v", &first, &second)
	}
}

// tinyChunks writes a file with a chunk of a few bytes in every 30 KB.
func tinyChunks(t *testing.T) string {
	t.Helper()
	type row struct {
		ID   int64
		Text string
	}
	rows, rng := make([]row, 500), rand.New(rand.NewPCG(1, 1))
	for i := range rows {
		text := make([]byte, 15_000)
		for k := range text {
			text[k] = byte(rng.Int())
		}
		rows[i] = row{int64(i), hex.EncodeToString(text)}
	}
	path := filepath.Join(t.TempDir(), "tiny.parquet")
	if err := parquet.WriteFile(path, rows, parquet.MaxRowsPerRowGroup(1)); err != nil {
		t.Fatal(err)
	}
	return path
}

// With lru, shards that are not wanted make room, and the wanted ones stay.
func TestServerWarmMakesRoom(t *testing.T) {
	f := families(t)[1]
	dir := t.TempDir()
	warm := func(files string, more ...string) *warmth {
		w := &warmth{}
		args := append([]string{"warm", f.address + files, "--cache-dir", dir, "--cache-limit", "1MiB"}, f.flags...)
		object(t, w, append(args, more...)...)
		return w
	}
	warm("/part-0000[0-3].parquet")
	some, again := warm("/part-0000[2-7].parquet", "--cache-policy", "lru"), warm("/part-0000[2-7].parquet", "--cache-policy", "lru")
	if !some.Complete || some.There == 0 || !again.Complete || again.Fetched != 0 {
		t.Errorf("%+v, then %+v", some, again)
	}
}

// A warm-up that is killed leaves what it has, and the next one needs the rest alone.
func TestServerWarmKilled(t *testing.T) {
	s3 := servertest.S3(t) // before families hides the home directory, where servers are installed
	f := families(t)[1]
	dir := t.TempDir()
	slow := servertest.NewProxy(t, strings.TrimPrefix(s3.Endpoint, "http://"))
	slow.Set(servertest.Faults{Rate: 100 << 10})
	args := f.args("warm", "--cache-dir", dir, "--endpoint-url", slow.Endpoint())
	for range 3 {
		before := held(t, dir)
		c := exec.Command("shardfeed", args...)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		for begin := time.Now(); held(t, dir) == before && time.Since(begin) < time.Minute; {
			time.Sleep(10 * time.Millisecond)
		}
		_ = c.Process.Kill()
		_ = c.Wait()
	}
	var w warmth
	object(t, &w, f.args("warm", "--cache-dir", dir)...)
	if !w.Complete || w.There == 0 || w.There == w.Bytes {
		t.Errorf("after three kills: %+v", &w)
	}
	if report, err := cache.Verify(t.Context(), dir, nil); err != nil || report.Bad != 0 {
		t.Errorf("verify: %+v, %v", report, err)
	}
	if got, want := must(t, f.args("cat", "--cache-dir", dir)...), must(t, "cat", shop); got != want {
		t.Error("rows differ")
	}
}

// the verbs of the cache see the warmed shards, find damage, and clear it; the index beside it
// stays.
func TestServerCacheVerbs(t *testing.T) {
	f := families(t)[1]
	dir := t.TempDir()
	must(t, f.args("warm", "--cache-dir", dir)...)
	var list struct {
		Entries []cache.Entry `json:"entries"`
	}
	object(t, &list, "cache", "ls", "--cache-dir", dir)
	if len(list.Entries) != 8 || list.Entries[0].URI != f.address+"/part-00000.parquet" || list.Entries[0].Held == 0 {
		t.Errorf("ls: %+v", list.Entries)
	}
	if text := must(t, "cache", "ls", "--cache-dir", dir); strings.Count(text, "\n") != 9 {
		t.Errorf("ls prints\n%s", text)
	}
	var space cache.Space
	object(t, &space, "cache", "du", "--cache-dir", dir)
	if space.Shards != 8 || space.Bytes < 1<<20 {
		t.Errorf("du: %+v", space)
	}
	var checked cache.Report
	object(t, &checked, "cache", "verify", "--cache-dir", dir)
	if checked.Shards != 8 || checked.Blocks == 0 || checked.Bad != 0 {
		t.Errorf("verify: %+v", checked)
	}
	damage(t, list.Entries[0].Path, list.Entries[0].Size/2)
	object(t, &checked, "cache", "verify", "--cache-dir", dir)
	if checked.Bad != 1 || len(checked.BadURIs) != 1 || checked.BadURIs[0] != list.Entries[0].URI {
		t.Errorf("verify after damage: %+v", checked)
	}
	var freed cache.Freed
	object(t, &freed, "cache", "gc", "--cache-dir", dir, "--to", "512KiB")
	if freed.Shards == 0 || freed.Shards == 8 || freed.InUse != 0 {
		t.Errorf("gc: %+v", freed)
	}
	must(t, "cache", "clear", "--cache-dir", dir)
	if text := must(t, "cache", "ls", "--cache-dir", dir); text != "the cache is empty: "+dir+"\n" {
		t.Errorf("after clear: %s", text)
	}
	if index, _ := filepath.Glob(filepath.Join(dir, "index", "*")); len(index) == 0 {
		t.Error("clear took the index along")
	}
	if got := strings.TrimSpace(must(t, "cache", "path", "--cache-dir", dir)); got != dir {
		t.Errorf("path: %s", got)
	}
}

// held is how many bytes of shards the cache holds.
func held(t *testing.T, dir string) (bytes int64) {
	t.Helper()
	entries, err := cache.List(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		bytes += e.Held
	}
	return bytes
}

// damage flips a bit of the file, so many bytes before its end.
func damage(t *testing.T, path string, before int64) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 1)
	if _, err := file.ReadAt(b, info.Size()-before); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 1
	if _, err := file.WriteAt(b, info.Size()-before); err != nil {
		t.Fatal(err)
	}
}
