package gs

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/cloud"
	"github.com/shardfeed/shardfeed/shard/driver/bucket"
	"github.com/shardfeed/shardfeed/shard/web"
)

// New returns a store of gs:// and gcs:// addresses. It reads no file and asks no server before the
// first use.
func New(o Options) *cloud.Store {
	return o.store(func() (cloud.Service, error) { return o.service() })
}

func (o Options) store(start func() (cloud.Service, error)) *cloud.Store {
	return cloud.New(cloud.Options{
		Locate: locate,
		Start:  start,
		Lend:   o.lend,
		Web:    web.Options{CABundle: o.CABundle, Proxy: o.Proxy, RetryFor: o.RetryFor, Waiting: o.Waiting},
		Listed: o.Listed,
	})
}

// bucketName matches letters, digits, dashes, underscores and dots, as Google allows them.
var bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{1,221}$`)

// locate cuts a path into its bucket and the key.
func locate(path string) (bucket.Location, error) {
	name, key, _ := strings.Cut(path, "/")
	switch {
	case name == "":
		return bucket.Location{}, fmt.Errorf("%w: it has no bucket, as gs://bucket/path has", shard.ErrBadURI)
	case strings.Contains(name, "@"):
		return bucket.Location{}, fmt.Errorf("%w: an address cannot hold credentials; see GOOGLE_APPLICATION_CREDENTIALS and gs.token", shard.ErrBadURI)
	case !bucketName.MatchString(name):
		return bucket.Location{}, fmt.Errorf("%w: %q cannot be a bucket's name", shard.ErrBadURI, name)
	}
	return bucket.Location{Bucket: name, Key: key}, nil
}
