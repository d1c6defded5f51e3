package s3

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/shardfeed/shardfeed/internal/servertest"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/driver/bucket"
	"github.com/shardfeed/shardfeed/shard/mem"
)

// put makes objects side by side.
func put(t *testing.T, server *servertest.S3Server, bucket string, keys []string) {
	t.Helper()
	var wg sync.WaitGroup
	next := make(chan string)
	for range 16 {
		wg.Go(func() {
			for key := range next {
				server.Put(t, bucket, key, []byte("x"))
			}
		})
	}
	for _, key := range keys {
		next <- key
	}
	close(next)
	wg.Wait()
}

// TestServerListsLikeMemory: random patterns find the same in a bucket as in a store in memory,
// whatever the pages' size, so also when the directories are listed side by side.
func TestServerListsLikeMemory(t *testing.T) {
	server := servertest.S3(t)
	bucket := server.Bucket(t)
	r := rand.New(rand.NewPCG(1, 1))
	pick := func(words ...string) string { return words[r.IntN(len(words))] }
	keys := make(map[string]bool)
	for range 400 {
		key := "r/"
		for range r.IntN(4) {
			key += pick("a", "b", "k=1", "k=2", "_h", ".h", "a-b", "a.b") + ".d/"
		}
		keys[key+pick("a", "b", "x y", "_f", "a.crc", "0", "zz", "a%2Fb", "+")+fmt.Sprint(r.IntN(10))] = true
	}
	all := make([]string, 0, len(keys))
	oracle := &mem.Store{}
	for key := range keys {
		all = append(all, key)
		oracle.Put(key, []byte("x"))
	}
	put(t, server, bucket, all)
	for _, pageKeys := range []int32{0, 3, 7} {
		store := newStore(t, optionsOf(server))
		store.pageKeys = pageKeys
		for range 30 {
			pattern := "r/"
			for range r.IntN(3) {
				pattern += pick("*", "**", "a.d", "k=*", "_h.d", "[ab].d", "a*", "{a,b}.d") + "/"
			}
			pattern += pick("*", "a*", "", "**", "?[0-5]", "{a,b}1")
			want, wantErr := oracle.List(t.Context(), "mem://"+pattern)
			got, err := store.List(t.Context(), "s3://"+bucket+"/"+pattern)
			if (err == nil) != (wantErr == nil) || !slices.EqualFunc(got, want, func(a, b shard.Shard) bool {
				return strings.TrimPrefix(a.URI, "s3://"+bucket+"/") == strings.TrimPrefix(b.URI, "mem://") && slices.Equal(a.Partitions, b.Partitions)
			}) {
				t.Fatalf("%s, pages of %d: %d shards and %v, in memory %d and %v", pattern, pageKeys, len(got), err, len(want), wantErr)
			}
		}
	}
}

// TestServerListCosts: how many requests a list takes.
func TestServerListCosts(t *testing.T) {
	server := servertest.S3(t)
	bucket := server.Bucket(t)
	var keys []string
	for i := range 60 {
		for j := range 5 {
			keys = append(keys, fmt.Sprintf("t/dt=%02d/h=%d/part.parquet", i, j), fmt.Sprintf("t/_logs/%02d/%d", i, j))
		}
	}
	put(t, server, bucket, keys)
	for _, c := range []struct {
		pattern             string
		pageKeys            int32
		found, lists, looks int64
	}{
		{"t", 0, 300, 1, 1},
		{"t/", 0, 300, 1, 0},
		{"t/dt=01/h=1/part.parquet", 0, 1, 0, 1},
		{"t/dt=*/h=1/part.parquet", 0, 60, 4, 3}, // the pattern itself is looked for too, and dt=*
		{"t/**", 0, 300, 4, 3},
		{"t/dt=0{0..9}/h=1/part.parquet", 0, 10, 1, 11},
		{"t/dt={00..59}/h={0..4}/part.parquet", 0, 300, 2, 1 + 300}, // two levels of braces: no directory has many names
		{"t/dt={00..59}", 0, 300, 62, 1 + 16},
		{"t/dt=00/h={0,1,2,3,4}/part.parquet", 0, 5, 1, 6},
		{"t", 50, 300, 4 + 2 + 60, 1}, // of 600 keys in pages of 50: flat pages, two of directories, and one for each
		{"t/dt=*", 50, 300, 2 + 4 + 2 + 20, 2},
	} {
		t.Run(c.pattern, func(t *testing.T) {
			store := newStore(t, optionsOf(server))
			store.pageKeys = c.pageKeys
			found, err := store.List(t.Context(), "s3://"+bucket+"/"+c.pattern)
			if err != nil || int64(len(found)) != c.found {
				t.Errorf("%d shards, %v", len(found), err)
			}
			if tr := store.Traffic(); tr.Lists > c.lists || tr.Looks > c.looks || tr.Reads != 0 {
				t.Errorf("%d lists and %d looks, %d and %d would do", tr.Lists, tr.Looks, c.lists, c.looks)
			}
		})
	}
}

// TestServerListProgress: the number of shards is reported as they are found, from 0 in each list.
func TestServerListProgress(t *testing.T) {
	server := servertest.S3(t)
	bucket := server.Bucket(t)
	var keys []string
	for i := range 40 {
		keys = append(keys, fmt.Sprintf("d/%d/%d", i%4, i))
	}
	put(t, server, bucket, keys)
	var told []int
	o := optionsOf(server)
	o.Events.Listed = func(n int) { told = append(told, n) } // calls do not overlap
	store := newStore(t, o)
	store.pageKeys = 6
	for range 2 {
		told = nil
		if _, err := store.List(t.Context(), "s3://"+bucket+"/d"); err != nil {
			t.Fatal(err)
		}
		if len(told) < 4 || !slices.IsSorted(told) || told[len(told)-1] != 40 {
			t.Errorf("told %v", told)
		}
	}
}

// TestServerDirectoryMarks: objects that only mark directories are not shards, and a shard's
// address has the scheme that the user gave.
func TestServerDirectoryMarks(t *testing.T) {
	server := servertest.S3(t)
	bucket := server.Bucket(t)
	server.Put(t, bucket, "d/", nil)
	server.Put(t, bucket, "d/a", []byte("x"))
	server.Put(t, bucket, "d/e/", nil)
	server.Put(t, bucket, "d/f_$folder$", nil)
	server.Put(t, bucket, "empty/", nil)
	store := newStore(t, optionsOf(server))
	for _, pattern := range []string{"d", "d/", "d/*", "**"} {
		found, err := store.List(t.Context(), "S3A://"+bucket+"/"+pattern)
		if err != nil || len(found) != 1 || found[0].URI != "S3A://"+bucket+"/d/a" {
			t.Errorf("%s: %v, %v", pattern, found, err)
			continue
		}
		if err := read(t, store, found[0].URI); err != nil {
			t.Error(err)
		}
	}
	_, err := store.List(t.Context(), "s3://"+bucket+"/empty")
	if !errors.Is(err, shard.ErrNotExist) || !strings.Contains(err.Error(), "this directory has no files") {
		t.Errorf("an empty directory: %v", err)
	}
	if _, err := store.List(t.Context(), "s3://"+server.Bucket(t)); !errors.Is(err, shard.ErrNotExist) {
		t.Errorf("an empty bucket: %v", err)
	}
}

// TestServerListWithoutRight: one object, and the objects that braces name, are found without the
// right to list.
func TestServerListWithoutRight(t *testing.T) {
	server := servertest.S3(t)
	bucket := server.Bucket(t)
	put(t, server, bucket, []string{"part-1", "part-2"})
	proxy := server.Proxy(t)
	denied := servertest.AccessDenied()
	denied.Match = servertest.Listing
	proxy.Use(denied)
	o := optionsOf(server)
	o.EndpointURL = proxy.Endpoint()
	store := newStore(t, o)
	for pattern, want := range map[string]int{"part-1": 1, "part-{1..2}": 2} {
		t.Run(pattern, func(t *testing.T) {
			found, err := store.List(t.Context(), "s3://"+bucket+"/"+pattern)
			if err != nil || len(found) != want {
				t.Errorf("%v, %v", found, err)
			}
		})
	}
	for _, pattern := range []string{"part", "part-*", "", "part-{1..3}"} {
		_, err := store.List(t.Context(), "s3://"+bucket+"/"+pattern)
		if !errors.Is(err, shard.ErrDenied) || !strings.Contains(err.Error(), "s3:ListBucket") {
			t.Errorf("%s: %v", pattern, err)
		}
	}
}

func TestListInput(t *testing.T) {
	s := New(Options{RequesterPays: true})
	in := s.input(bucket.Query{Bucket: "b", Prefix: "d/na", Level: true, After: "d/nb", Token: "t"})
	if *in.Prefix != "d/na" || *in.Delimiter != "/" || *in.StartAfter != "d/nb" || *in.ContinuationToken != "t" || in.MaxKeys != nil ||
		in.EncodingType != types.EncodingTypeUrl || in.RequestPayer != types.RequestPayerRequester {
		t.Errorf("%+v", in)
	}
	for prefix, want := range map[string]string{"d/na": "d/", "d/": "d/", "na": "", "": ""} {
		t.Run(prefix, func(t *testing.T) {
			in := s.input(bucket.Query{Bucket: "b--use1-az4--x-s3", Prefix: prefix})
			if *in.Prefix != want || in.EncodingType != "" || in.Delimiter != nil || in.StartAfter != nil {
				t.Errorf("%+v", in)
			}
		})
	}
}

// TestServerVersions: an address can name one version of a key, and is asked for by it. (Not every
// server keeps versions.)
func TestServerVersions(t *testing.T) {
	server := servertest.S3(t)
	bucket := server.Bucket(t)
	server.Put(t, bucket, "a", []byte("content"))
	proxy := server.Proxy(t)
	o := optionsOf(server)
	o.EndpointURL = proxy.Endpoint()
	uri := "s3://" + bucket + "/a?versionId=null" // as it is called where no versions are kept
	err := read(t, newStore(t, o), uri)
	requests := proxy.Requests()
	if err == nil && len(requests) != 2 || len(requests) == 0 {
		t.Errorf("%d requests, %v", len(requests), err)
	}
	for _, r := range requests {
		if !strings.Contains(r.Query, "versionId=null") {
			t.Errorf("%s %s?%s", r.Method, r.Path, r.Query)
		}
	}
}

func FuzzReadPage(f *testing.F) {
	f.Add("d/a%2Bb", int64(1), "d/x/", "d/", true)
	f.Add("d/_%24folder%24", int64(0), "%", "", false)
	f.Fuzz(func(t *testing.T, key string, size int64, dir, prefix string, encoded bool) {
		out := &s3.ListObjectsV2Output{
			Contents: []types.Object{{Key: &key, Size: &size}, {}}, CommonPrefixes: []types.CommonPrefix{{Prefix: &dir}, {}},
		}
		if encoded {
			out.EncodingType = types.EncodingTypeUrl
		}
		p, err := readPage(out, prefix)
		if err != nil {
			return
		}
		for _, e := range p.Files {
			if !strings.HasPrefix(e.Name, prefix) || strings.HasSuffix(e.Name, "/") {
				t.Fatalf("%q below %q", e.Name, prefix)
			}
		}
	})
}

func TestReadPage(t *testing.T) {
	object := func(key string, size int64) types.Object {
		return types.Object{Key: &key, Size: &size, ETag: aws.String(`"v"`)}
	}
	out := &s3.ListObjectsV2Output{
		EncodingType: types.EncodingTypeUrl, IsTruncated: aws.Bool(true), NextContinuationToken: aws.String("t"),
		Contents:       []types.Object{object("d/a%2Bb+c%25", 1), object("d/", 0), object("e", 1), object("d/f_%24folder%24", 0), object("d/g_%24folder%24", 1)},
		CommonPrefixes: []types.CommonPrefix{{Prefix: aws.String("d/x+y/")}, {Prefix: aws.String("e/")}},
	}
	p, err := readPage(out, "d/")
	if err != nil || len(p.Files) != 2 || p.Files[0].Name != "d/a+b c%" || p.Files[0].Version != "v" || p.Files[1].Name != "d/g_$folder$" ||
		len(p.Dirs) != 1 || p.Dirs[0] != "d/x y/" || !p.Marked || p.Next != "t" || p.Last != "d/g_$folder$" {
		t.Errorf("%+v, %v", p, err)
	}
	out.NextContinuationToken = nil
	if _, err := readPage(out, "d/"); err == nil {
		t.Error("a list that ends in the middle")
	}
	out.Contents = []types.Object{object("d/%zz", 1)}
	if _, err := readPage(out, "d/"); err == nil {
		t.Error("a key that cannot be decoded")
	}
}

// TestServerExplain: what doctor prints holds no secret, and works without a server too.
func TestServerExplain(t *testing.T) {
	server := servertest.S3(t)
	bucket := server.Bucket(t)
	server.Setenv(t)
	o := Options{RequesterPays: true, Proxy: ""}
	facts, err := newStore(t, o).Explain(t.Context(), "s3a://"+bucket+"/x")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"bucket": bucket, "endpoint": server.Endpoint, "credentials": "from the environment", "bucket goes": "in the path",
		"requester pays": "yes", "access": "the bucket lists its keys", "region": server.Region + ", named by the environment",
	} {
		t.Run(name, func(t *testing.T) {
			if got := factOf(facts, name); !strings.HasPrefix(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
	if text := fmt.Sprint(facts); strings.Contains(text, server.Secret) {
		t.Errorf("%s holds a secret", text)
	}
	facts, err = newStore(t, o).Explain(t.Context(), "s3://no-such-bucket-anywhere/x")
	if err != nil || !strings.Contains(factOf(facts, "problem"), "NoSuchBucket") || factOf(facts, "try") == "" {
		t.Errorf("%v, %v", facts, err)
	}
	t.Setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
	facts, err = newStore(t, o).Explain(t.Context(), "s3://b")
	if err != nil || !strings.Contains(factOf(facts, "problem"), "refused") || !strings.Contains(factOf(facts, "try"), "EndpointURL") {
		t.Errorf("%v, %v", facts, err)
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	facts, err = newStore(t, o).Explain(t.Context(), "s3://b")
	if err != nil || !strings.Contains(factOf(facts, "problem"), "no AWS credentials") || !strings.Contains(factOf(facts, "try"), "Anonymous") {
		t.Errorf("%v, %v", facts, err)
	}
	if _, err := newStore(t, o).Explain(t.Context(), "s3://"); !errors.Is(err, shard.ErrBadURI) {
		t.Error(err)
	}
}

// TestServerNoBucket: a pattern in a bucket that does not exist is an error about the bucket.
func TestServerNoBucket(t *testing.T) {
	server := servertest.S3(t)
	server.Setenv(t)
	for _, address := range []string{"s3://no-such-bucket-anywhere/*.parquet", "s3://no-such-bucket-anywhere/a/*/b.parquet", "s3://no-such-bucket-anywhere/a/"} {
		_, err := newStore(t, Options{}).List(t.Context(), address)
		if !errors.Is(err, shard.ErrNotExist) || !strings.Contains(err.Error(), "NoSuchBucket") || !strings.Contains(err.Error(), "look at the bucket's name") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// Buckets that other programs fill can hold an empty object of a directory's name without a slash.
func TestListMarkWithoutSlash(t *testing.T) {
	keys := map[string]int{"t": 0, "t/k=1": 0, "t/k=1/a.parquet": 1, "t/k=2/b.parquet": 1}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := strings.TrimPrefix(r.URL.Path, "/b/")
		if size, ok := keys[key]; r.Method == http.MethodHead && ok {
			w.Header().Set("Content-Length", strconv.Itoa(size))
			w.Header().Set("ETag", `"e"`)
			return
		} else if r.Method == http.MethodHead {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "application/xml")
		_, _ = io.WriteString(w, `<ListBucketResult><Name>b</Name><IsTruncated>false</IsTruncated>`)
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			if strings.HasPrefix(key, r.URL.Query().Get("prefix")) {
				_, _ = fmt.Fprintf(w, `<Contents><Key>%s</Key><Size>%d</Size><ETag>"e"</ETag></Contents>`, key, keys[key])
			}
		}
		_, _ = io.WriteString(w, `</ListBucketResult>`)
	}))
	t.Cleanup(server.Close)
	store := newStore(t, Options{EndpointURL: server.URL, Key: "k", Secret: "s", Region: "us-east-1"})
	for address, want := range map[string]int{"s3://b/t": 2, "s3://b/t/": 2, "s3://b/t/k=1": 1, "s3://b/t/k=*": 2, "s3://b/t/{k=1,k=2}": 2, "s3://b/t/k=1/a.parquet": 1} {
		found, err := store.List(t.Context(), address)
		if err != nil || len(found) != want || slices.ContainsFunc(found, func(s shard.Shard) bool { return s.Size == 0 }) {
			t.Errorf("%s: %v, %v", address, found, err)
		}
	}
}
