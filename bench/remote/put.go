package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"golang.org/x/sync/errgroup"
)

// put uploads the first parquet files of a directory, by name, into a bucket, which it makes if it
// is missing.
func put(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("put", flag.ContinueOnError)
	bucket := fs.String("bucket", "", "the bucket")
	prefix := fs.String("prefix", "", "what the keys start with, before a slash")
	files := fs.Int("files", 0, "how many files; 0: all")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if fs.NArg() != 1 {
		return fmt.Errorf("one directory, not %d", fs.NArg())
	}
	paths, err := filepath.Glob(filepath.Join(fs.Arg(0), "*.parquet"))
	if err != nil {
		return err
	}
	if *files > 0 && len(paths) > *files {
		paths = paths[:*files]
	}
	c, done, err := newClient(ctx)
	if err != nil {
		return err
	}
	defer done()
	var owned *types.BucketAlreadyOwnedByYou
	if _, err := c.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: bucket}); err != nil && !errors.As(err, &owned) {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(8)
	for _, p := range paths {
		g.Go(func() error { return putFile(ctx, c, *bucket, path.Join(*prefix, filepath.Base(p)), p) })
	}
	return g.Wait()
}

func putFile(ctx context.Context, c *s3.Client, bucket, key, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = c.PutObject(ctx, &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: f})
	return err
}
