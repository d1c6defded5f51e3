package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/internal/servertest"
)

// A family is the shop on one kind of storage.
type family struct {
	name    string
	address string
	flags   []string // that reach it
}

// families puts the shop on real servers of each kind. The environment tells nothing of them: flags
// do.
func families(t *testing.T) []family {
	t.Helper()
	s3, hdfs := servertest.S3(t), servertest.HDFS(t, servertest.HDFSOptions{})
	quietHome(t)
	bucket, dir := s3.Bucket(t), hdfs.Dir(t)
	for _, file := range shopFiles(t) {
		s3.PutFile(t, bucket, "shop/"+filepath.Base(file), file)
		hdfs.PutFile(t, dir+"/shop/"+filepath.Base(file), file, "blocksize=65536")
	}
	secret := filepath.Join(t.TempDir(), "s3.json")
	write(t, secret, fmt.Sprintf(`{"key": %q, "secret": %q, "client_kwargs": {"endpoint_url": %q}}`, s3.Key, s3.Secret, s3.Endpoint))
	conf := []string{"--hdfs-conf", hdfs.ConfDir}
	return []family{
		{"file", shop, nil},
		{"s3", "s3://" + bucket + "/shop", []string{"--storage-option", "@" + secret}},
		{"hdfs", hdfs.URI + dir + "/shop", conf},
		{"webhdfs", "webhdfs://" + hdfs.HTTP[0] + dir + "/shop", conf},
	}
}

// quietHome keeps the user's own configuration and cache away.
func quietHome(t *testing.T) {
	t.Helper()
	home := t.TempDir()
	for name, value := range map[string]string{
		"HOME": home, dirVariable: filepath.Join(home, "cache"), limitVariable: "256MiB", "XDG_CACHE_HOME": "", "SLURM_TMPDIR": "",
		"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_SESSION_TOKEN": "", "AWS_PROFILE": "", "AWS_REGION": "", "AWS_ENDPOINT_URL": "",
		"AWS_EC2_METADATA_DISABLED": "true", "HADOOP_CONF_DIR": "", "HADOOP_HOME": "", "HADOOP_USER_NAME": "", "KRB5CCNAME": "",
	} {
		t.Setenv(name, value)
	}
}

func shopFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(shop, "*.parquet"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	return files
}

// args is a command line for the family.
func (f family) args(verb string, more ...string) []string {
	return append(append([]string{verb, f.address}, f.flags...), more...)
}

// must runs a command that succeeds and says nothing on stderr, and returns what it prints.
func must(t *testing.T, args ...string) string {
	t.Helper()
	code, stdout, stderr := command(t, args...)
	if code != 0 || stderr != "" {
		t.Fatalf("%q: exit %d, stderr %q", args, code, stderr)
	}
	return stdout
}

// object runs a command with --json and reads what it prints into o.
func object(t *testing.T, o any, args ...string) {
	t.Helper()
	if out := must(t, append(args, "--json")...); json.Unmarshal([]byte(out), o) != nil {
		t.Fatalf("%q prints %s", args, out)
	}
}

// The rows are the same, byte for byte and in the same order, wherever the shop is; a state of one
// place goes on at another.
func TestServerRows(t *testing.T) {
	var inOrder, shuffled, rest, state string
	for _, f := range families(t) {
		t.Run(f.name, func(t *testing.T) {
			plain := must(t, f.args("cat")...)
			mixed := must(t, f.args("cat", "--shuffle", "--seed", "7", "--columns", "unique_id,price")...)
			again := must(t, f.args("cat", "--shuffle", "--seed", "7", "--columns", "unique_id,price", "--no-cache")...)
			if inOrder == "" {
				inOrder, shuffled = plain, mixed
				state = filepath.Join(t.TempDir(), "state")
				head := must(t, f.args("cat", "--shuffle", "--seed", "7", "--columns", "unique_id,price", "--limit", "777", "--save-state", state)...)
				rest = strings.TrimPrefix(mixed, head)
				content, err := os.ReadFile(state)
				if err != nil {
					t.Fatal(err)
				}
				state = filepath.Join(filepath.Dir(os.Getenv("HOME")), "state") // outlives this subtest
				write(t, state, string(content))
			}
			if strings.Count(plain, "\n") != 2026 || plain != inOrder {
				t.Error("rows in file order differ")
			}
			if mixed != shuffled || again != shuffled {
				t.Error("shuffled rows differ")
			}
			if got := must(t, f.args("cat", "--columns", "unique_id,price", "--state", state)...); got != rest {
				t.Error("the rows after a state differ")
			}
		})
	}
}

// Each verb says the same of the shop, wherever it is.
func TestServerVerbs(t *testing.T) {
	for _, f := range families(t) {
		t.Run(f.name, func(t *testing.T) {
			var b measurement
			object(t, &b, f.args("bench", "--shuffle", "--batch-size", "64")...)
			if b.Rows != 2026 || (b.Storage.Reads > 0) == (f.name == "file") || (b.Cache == nil) != (f.name == "file") {
				t.Errorf("bench: %+v", b)
			}
			if f.name != "file" && (b.Storage.ReadBytes < b.ReadBytes || b.Storage.Lists == 0) {
				t.Errorf("bench: %d bytes read of %d received, %+v", b.ReadBytes, b.Storage.ReadBytes, b.Storage)
			}
			var p plan
			object(t, &p, f.args("plan", "--shuffle")...)
			if p.Rows != 2026 || p.Groups != 24 || !p.Fits {
				t.Errorf("plan: %+v", p)
			}
			var i inspection
			object(t, &i, f.args("inspect")...)
			if i.Total.Rows != 2026 || len(i.Shards) != 8 || !strings.HasPrefix(i.Shards[0].URI, f.address) {
				t.Errorf("inspect: %+v", i.Total)
			}
			if placed := strings.HasSuffix(f.name, "hdfs"); (len(i.Placement) == 8) != placed {
				t.Errorf("%d shards are placed", len(i.Placement))
			} else if placed && (i.Placement[2].BlockSize != 65536 || i.Placement[2].Replication != 2 || i.Placement[2].Blocks != 5 || len(i.Placement[2].Hosts) == 0) {
				t.Errorf("placed: %+v", i.Placement[2])
			}
			var d diagnosis
			object(t, &d, f.args("doctor")...)
			if got := d.Places[0]; got.Shards != 8 || got.RangeBytes == 0 || got.Problem != "" || len(got.Facts) == 0 {
				t.Errorf("doctor: %+v", got)
			}
			if text := must(t, f.args("bench")...); strings.Contains(text, "\nstorage\n") != (f.name != "file") {
				t.Errorf("bench prints\n%s", text)
			}
		})
	}
}

// A second pass, and a second run, ask for no byte; without the cache they do.
func TestServerCache(t *testing.T) {
	for _, f := range families(t)[1:] {
		t.Run(f.name, func(t *testing.T) {
			dir := t.TempDir()
			bench := func(more ...string) (m measurement) {
				object(t, &m, f.args("bench", append(more, "--shuffle")...)...)
				if m.Rows != 2026 {
					t.Errorf("%d rows", m.Rows)
				}
				return m
			}
			if first := bench("--cache-dir", dir); first.Storage.Reads == 0 || first.Cache.MissBytes == 0 {
				t.Errorf("the first run: %+v, %+v", first.Storage, first.Cache)
			}
			if second := bench("--cache-dir", dir); second.Storage.Reads != 0 || second.Cache.Misses != 0 || second.Cache.HitBytes < second.ReadBytes {
				t.Errorf("the second run: %+v, %+v", second.Storage, second.Cache)
			}
			if none := bench("--cache-dir", dir, "--no-cache"); none.Storage.Reads == 0 || none.Cache != nil {
				t.Errorf("without the cache: %+v, %+v", none.Storage, none.Cache)
			}
		})
	}
}
