package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/internal/servertest"
)

// A plan is read from any storage, with the flags that reach the shards, and not written to it.
func TestServerPlanAddress(t *testing.T) {
	s3, hdfs := servertest.S3(t), servertest.HDFS(t, servertest.HDFSOptions{})
	dir := hdfs.Dir(t)
	for _, f := range families(t)[1:] {
		t.Run(f.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "run.plan")
			must(t, f.args("plan", "--shuffle", "--world-size", "6", "--save", file)...)
			address := "hdfs://" + strings.TrimPrefix(hdfs.URI, "hdfs://") + dir + "/" + f.name + ".plan"
			if f.name == "s3" {
				bucket := s3.Bucket(t)
				s3.PutFile(t, bucket, "run.plan", file)
				address = "s3://" + bucket + "/run.plan"
			} else {
				hdfs.PutFile(t, dir+"/"+f.name+".plan", file)
			}
			got := must(t, f.args("cat", "--columns", "unique_id", "--seed", "5", "--plan", address)...)
			if want := must(t, f.args("cat", "--columns", "unique_id", "--seed", "5", "--plan", file)...); got != want {
				t.Error("the rows differ")
			}
			code, _, stderr := command(t, f.args("cat", "--plan", address+".none")...)
			if code != exitFailed || !strings.Contains(stderr, ".plan.none: ") || !strings.Contains(stderr, "does not exist") || strings.Count(stderr, "\n") != 1 {
				t.Errorf("exit %d, %s", code, stderr)
			}
			if code, _, stderr := command(t, f.args("plan", "--shuffle", "--save", address)...); code != exitUsage || !strings.Contains(stderr, "must be a path on this machine") {
				t.Errorf("exit %d, %s", code, stderr)
			}
		})
	}
}

// Two nodes that start with a plan in a bucket ask for the plan alone: they list no shard and read
// no footer. A shard that was replaced since is named as changed where it is read.
func TestServerPlanSparesFooters(t *testing.T) {
	s3 := servertest.S3(t)
	quietHome(t)
	bucket := s3.Bucket(t)
	for _, file := range shopFiles(t) {
		s3.PutFile(t, bucket, "shop/"+filepath.Base(file), file)
	}
	proxy := s3.Proxy(t)
	s3.Via(proxy.Endpoint()).Setenv(t)
	shop := "s3://" + bucket + "/shop"
	args := func(verb string, more ...string) []string {
		return append([]string{verb, shop, "--cache-dir", t.TempDir()}, more...)
	}
	file := filepath.Join(t.TempDir(), "run.plan")
	must(t, args("plan", "--shuffle", "--world-size", "2", "--save", file)...)
	if len(shardRequests(proxy)) < 9 {
		t.Errorf("without a plan: %v", shardRequests(proxy))
	}
	s3.PutFile(t, bucket, "run.plan", file)
	address := "s3://" + bucket + "/run.plan"
	for range 2 {
		proxy.Forget()
		must(t, args("plan", "--plan", address, "--world-size", "2")...)
		if n := len(proxy.Requests()); len(shardRequests(proxy)) != 0 || n == 0 || n > 3 {
			t.Errorf("%d requests: %v", n, proxy.Requests())
		}
	}
	want := must(t, args("cat", "--columns", "unique_id", "--plan", file, "--seed", "2")...)
	if got := must(t, args("cat", "--columns", "unique_id", "--plan", address, "--seed", "2")...); got != want {
		t.Error("the rows differ")
	}
	s3.PutFile(t, bucket, "shop/part-00003.parquet", shopFiles(t)[4])
	code, _, stderr := command(t, args("cat", "--columns", "unique_id", "--plan", address)...)
	if code != exitFailed || !strings.Contains(stderr, "part-00003.parquet") || !strings.Contains(stderr, "changed since it was listed") {
		t.Errorf("exit %d, %s", code, stderr)
	}
}

// shardRequests are the requests that list shards, or read them.
func shardRequests(p *servertest.HTTPProxy) (all []string) {
	for _, r := range p.Requests() {
		if strings.Contains(r.Path, "/shop") || strings.Contains(r.Query, "shop") {
			all = append(all, r.Method+" "+r.Path+"?"+r.Query)
		}
	}
	return all
}
