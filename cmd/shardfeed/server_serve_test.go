package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/shardfeed/shardfeed"
	"github.com/shardfeed/shardfeed/cache"
	"github.com/shardfeed/shardfeed/internal/engine/wire"
	"github.com/shardfeed/shardfeed/internal/servertest"
	"github.com/shardfeed/shardfeed/shard"
)

// Data sets of an engine share the cache of a directory, and each reads with the credentials of its
// trainer's environment, which the engine does not have.
func TestServerServe(t *testing.T) {
	s3 := servertest.S3(t)
	quietHome(t)
	bucket, dir := s3.Bucket(t), t.TempDir()
	for _, file := range shopFiles(t) {
		s3.PutFile(t, bucket, "shop/"+filepath.Base(file), file)
	}
	env := map[string]string{
		"AWS_ACCESS_KEY_ID": s3.Key, "AWS_SECRET_ACCESS_KEY": s3.Secret, "AWS_ENDPOINT_URL": s3.Endpoint, "AWS_EC2_METADATA_DISABLED": "true",
		"HOME": os.Getenv("HOME"), "SHARDFEED_CACHE_LIMIT": "100MiB",
	}
	spec := wire.Spec{Addresses: []string{"s3://" + bucket + "/shop"}, Caching: shardfeed.Caching{CacheDir: dir}, Env: env, BatchSize: 64, Order: shardfeed.Order{Shuffle: true}}
	h := newHost(quiet())
	first := opened(t, h, asked(spec))
	spec.Seed = 2
	second := opened(t, h, asked(spec))
	if !first.Versioned {
		t.Error("versions of S3 are the same everywhere")
	}
	one := first.Stats(readAll(t, first)).(*measurement)
	two := second.Stats(readAll(t, second)).(*measurement)
	if one.Storage.Reads == 0 || two.Rows != 2026 || two.Storage.ReadBytes >= one.Storage.ReadBytes || two.Cache == nil || two.Cache.HitBytes == 0 {
		t.Errorf("first %+v, second %+v, %+v", one.Storage, two.Storage, two.Cache)
	}
	var denied *shard.Error
	spec.Env = map[string]string{"AWS_ENDPOINT_URL": s3.Endpoint, "AWS_EC2_METADATA_DISABLED": "true", "HOME": os.Getenv("HOME")}
	if _, err := h.open(t.Context(), asked(spec), func(wire.Progress) {}); !errors.As(err, &denied) || !errors.Is(err, shard.ErrDenied) {
		t.Errorf("without credentials: %v", err)
	}
	h.close(t.Context())
	if space, err := cache.Usage(dir); err != nil || space.Shards != 8 || space.Limit != 100<<20 {
		t.Errorf("the cache has %+v, %v", space, err)
	}
}
