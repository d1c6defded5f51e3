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
