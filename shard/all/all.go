// Package all lists the stores that shardfeed knows, in one place that is read and not registered.
package all

import (
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/azure"
	"github.com/shardfeed/shardfeed/shard/gs"
	"github.com/shardfeed/shardfeed/shard/hdfs"
	"github.com/shardfeed/shardfeed/shard/hub"
	"github.com/shardfeed/shardfeed/shard/local"
	"github.com/shardfeed/shardfeed/shard/mem"
	"github.com/shardfeed/shardfeed/shard/s3"
	"github.com/shardfeed/shardfeed/shard/web"
)

// Options of the stores that have some. The zero value reaches each as its own tools do: by the
// environment and the usual files.
type Options struct {
	S3    s3.Options
	HDFS  hdfs.Options
	Web   web.Options
	Hub   hub.Options
	GS    gs.Options
	Azure azure.Options
}

// Stores returns a store for each scheme. The memory store is empty. Nothing is read or asked of a
// server before the first use; Close closes the connections.
func Stores(o Options) shard.Stores {
	buckets := s3.New(o.S3)
	names := hdfs.New(o.HDFS)
	disks := local.New()
	files := names.WebHDFS()
	servers := web.New(o.Web)
	google := gs.New(o.GS)
	microsoft := azure.New(o.Azure)
	return shard.Stores{
		"":         disks,
		"file":     disks,
		"mem":      &mem.Store{},
		"s3":       buckets,
		"s3a":      buckets,
		"s3n":      buckets,
		"hdfs":     names,
		"viewfs":   names,
		"webhdfs":  files,
		"swebhdfs": files,
		"http":     servers,
		"https":    servers,
		"hf":       hub.New(o.Hub, disks),
		"gs":       google,
		"gcs":      google,
		"az":       microsoft,
		"abfs":     microsoft,
		"abfss":    microsoft,
		"wasb":     microsoft,
		"wasbs":    microsoft,
	}
}
