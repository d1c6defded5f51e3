package webhdfs

import (
	"net/http"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/internal/servertest"
	"github.com/shardfeed/shardfeed/shard/hdfs/conf"
	"github.com/shardfeed/shardfeed/shard/hdfs/krb"
)

// configured is the setup of a cluster's configuration without Kerberos.
func configured(t *testing.T, c *servertest.Cluster) func() (*conf.Conf, *krb.Source, error) {
	t.Helper()
	loaded, err := conf.Load(c.ConfDir)
	if err != nil {
		t.Fatal(err)
	}
	return func() (*conf.Conf, *krb.Source, error) { return loaded, nil, nil }
}

// inodePath matches requests that name a file by its inode.
func inodePath(r *http.Request) bool { return strings.Contains(r.URL.Path, "/.reserved/.inodes/") }
