package hdfs

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/colinmarc/hdfs/v2"

	"github.com/shardfeed/shardfeed/internal/servertest"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/hdfs/wire"
)

const damagedSize = 3 << 20

// damages are what can happen to a replica, and how a reader sees it when it happened to all.
func damages(c *servertest.Cluster) map[string]struct {
	do   func(t testing.TB, node int, block string)
	want error
} {
	type damage = struct {
		do   func(t testing.TB, node int, block string)
		want error
	}
	return map[string]damage{
		"flipped":   {func(t testing.TB, n int, b string) { c.FlipBlock(t, n, b, 600_000) }, wire.ErrChecksum},
		"truncated": {func(t testing.TB, n int, b string) { c.TruncateBlock(t, n, b, 500_000) }, io.ErrUnexpectedEOF},
		"removed":   {func(t testing.TB, n int, b string) { c.RemoveBlock(t, n, b) }, wire.ErrRefused},
		"unsummed":  {func(t testing.TB, n int, b string) { c.RemoveChecksums(t, n, b) }, wire.ErrNull},
	}
}

// TestServerDamage hurts one replica of a block, and then all. One costs nothing but a second
// connection, all are a clear error, and bytes before the damage are still right.
func TestServerDamage(t *testing.T) {
	c := servertest.HDFS(t, servertest.HDFSOptions{})
	all := content(1, damagedSize)
	for name, damage := range damages(c) {
		t.Run(name, func(t *testing.T) {
			path := c.Dir(t) + "/x"
			options := serverOptions(c)
			options.RetryFor = 3 * time.Second
			s := newStore(t, options)
			for try := 0; s.transfer.Failed.Load() == 0; try++ { // until the bad replica is asked first
				if try == 20 {
					t.Fatal("the damaged replica was never asked")
				}
				c.Put(t, path, all)
				b := c.Blocks(t, path)[1]
				damage.do(t, b.Nodes[try%2], b.Name)
				if err := expect(t, openOne(t, s, c.URI+path), all, 0, damagedSize); err != nil {
					t.Fatalf("one replica: %v", err)
				}
			}
			c.Put(t, path, all)
			b := c.Blocks(t, path)[1]
			for _, n := range b.Nodes {
				damage.do(t, n, b.Name)
			}
			o := openOne(t, s, c.URI+path)
			if err := expect(t, o, all, 0, 1<<20); err != nil {
				t.Errorf("the block before: %v", err)
			}
			checkDamaged(t, expect(t, o, all, 100, damagedSize-100), damage.want, c.URI+path, b.Name)
		})
	}
}

// checkDamaged: the error names the file, the datanode and the block.
func checkDamaged(t *testing.T, err, want error, uri, block string) {
	t.Helper()
	if errors.Is(want, wire.ErrRefused) && errors.Is(err, errNoDatanode) {
		return // the datanodes have told the namenode that the block is gone
	}
	var e *shard.Error
	var w *wire.Error
	if !errors.Is(err, want) || !errors.As(err, &e) || !errors.As(err, &w) {
		t.Fatalf("all replicas: %v, want one that is %v", err, want)
	}
	if !errors.Is(want, io.ErrUnexpectedEOF) && !errors.Is(err, shard.ErrCorrupt) {
		t.Errorf("not corrupt: %v", err)
	}
	for _, part := range []string{uri, "datanode ", strings.TrimPrefix(block, "blk_")} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not name %s", err, part)
		}
	}
}

// TestServerControl shows that these tests can fail: the library alone hands out the flipped bit,
// without an error.
func TestServerControl(t *testing.T) {
	c := servertest.HDFS(t, servertest.HDFSOptions{})
	all := content(1, damagedSize)
	path := c.Dir(t) + "/x"
	c.Put(t, path, all)
	b := c.Blocks(t, path)[1]
	for _, n := range b.Nodes {
		c.FlipBlock(t, n, b.Name, 600_000)
	}
	alone, err := hdfs.NewClient(hdfs.ClientOptions{Addresses: c.RPC, User: "root"})
	if err != nil {
		t.Fatal(err)
	}
	defer alone.Close()
	got, err := alone.ReadFile(path)
	if err != nil || bytes.Equal(got, all) {
		t.Errorf("the library alone: right bytes %v, %v; then our checks are not needed", bytes.Equal(got, all), err)
	}
}

// TestServerNull reads files that were written without checksums.
func TestServerNull(t *testing.T) {
	c := servertest.HDFS(t, servertest.HDFSOptions{})
	all := content(2, 2<<20)
	path := c.Dir(t) + "/x"
	c.Put(t, path, all, "checksum=NULL")
	err := expect(t, openOne(t, newStore(t, serverOptions(c)), c.URI+path), all, 0, len(all))
	if !errors.Is(err, wire.ErrNull) || !strings.Contains(err.Error(), "hdfs.allow_unverified") {
		t.Errorf("not allowed: %v", err)
	}
	o := serverOptions(c)
	o.AllowUnverified = true
	if err := expect(t, openOne(t, newStore(t, o), c.URI+path), all, 5, len(all)-10); err != nil {
		t.Errorf("allowed: %v", err)
	}
}

// TestServerChecksums reads files of other checksums than the usual.
func TestServerChecksums(t *testing.T) {
	c := servertest.HDFS(t, servertest.HDFSOptions{})
	all := content(3, 4<<20+12345)
	s := newStore(t, serverOptions(c))
	for _, options := range [][]string{{"checksum=CRC32"}, {"bytes-per-checksum=1536", "blocksize=1536000"}, {"replication=3"}} {
		path := c.Dir(t) + "/x"
		c.Put(t, path, all, options...)
		o := openOne(t, s, c.URI+path)
		for _, r := range [][2]int{{0, len(all)}, {1, 1}, {511, 513}, {1535, 3}, {1<<20 - 1, 2}, {3_000_001, 1_000_000}, {len(all) - 1, 1}} {
			if err := expect(t, o, all, r[0], r[1]); err != nil {
				t.Errorf("%v, %v: %v", options, r, err)
			}
		}
	}
}
