package shardfeed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/shardfeed/shardfeed/cache"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/shard"
	"github.com/shardfeed/shardfeed/shard/mem"
	"github.com/shardfeed/shardfeed/shuffle"
)

const (
	seatedNodes, seatedRanks = 8, 2 // ranks of a node
	seatedLanes              = 112  // a multiple of the ranks of 8 and of 7 nodes, as is a step of the lanes
	seatedBatch              = 56   // per rank
)

// servedStore counts the bytes that nodes fetch.
type servedStore struct {
	shard.Store
	bytes atomic.Int64
}

type servedObject struct {
	shard.Object
	store *servedStore
}

func (s *servedStore) Open(ctx context.Context, x shard.Shard) (shard.Object, error) {
	o, err := s.Store.Open(ctx, x)
	return servedObject{o, s}, err
}

func (o servedObject) ReadAt(ctx context.Context, p []byte, off int64) error {
	o.store.bytes.Add(int64(len(p)))
	return o.Object.ReadAt(ctx, p, off)
}

// seatedTable has a shard for each of four units of a lane.
func seatedTable(b *testing.B) (*servedStore, int64) {
	b.Helper()
	type row struct {
		ID   int64
		Text []byte
	}
	store, all := &mem.Store{}, int64(0)
	noise := rand.NewChaCha8([32]byte{1})
	for k := range 4 * seatedLanes {
		rows := make([]row, 64)
		for i := range rows {
			rows[i] = row{ID: int64(64*k + i), Text: make([]byte, 500)}
			_, _ = noise.Read(rows[i].Text)
		}
		var file bytes.Buffer
		if err := parquet.Write(&file, rows); err != nil {
			b.Fatal(err)
		}
		store.Put(fmt.Sprintf("data/part-%05d.parquet", k), file.Bytes())
		all += int64(file.Len())
	}
	return &servedStore{Store: store}, all
}

// seatedNode is a machine's cache directory.
type seatedNode string

// run calls f with the data set as an engine on the node opens it.
func (n seatedNode) run(b *testing.B, store *servedStore, f func(d *iterable.Dataset)) {
	b.Helper()
	c, err := cache.Open(cache.Options{Dir: filepath.Join(string(n), "cache"), Limit: 1 << 30})
	if err != nil {
		b.Fatal(err)
	}
	d, err := iterable.Open(b.Context(), shard.Stores{"mem": c.Wrap(store)}, []string{"mem://data/"}, iterable.Options{
		Order: iterable.Order{Shuffle: true, Lanes: seatedLanes}, ShuffleBuffer: iterable.Size{Rows: 4096},
		IndexDir: filepath.Join(string(n), "index"), LaneDir: filepath.Join(string(n), "seats"),
	})
	if err != nil {
		b.Fatal(err)
	}
	f(d)
	if err := errors.Join(d.Close(), c.Close(context.WithoutCancel(b.Context()))); err != nil {
		b.Fatal(err)
	}
}

// seatedEpoch reads an epoch on all ranks of the nodes, which are numbered in this order.
func seatedEpoch(b *testing.B, store *servedStore, nodes []seatedNode, epoch int, seats shuffle.Seats) {
	for k, n := range nodes {
		n.run(b, store, func(d *iterable.Dataset) {
			for r := range seatedRanks {
				w := shuffle.Worker{Rank: k*seatedRanks + r, WorldSize: len(nodes) * seatedRanks}
				s, err := d.Stream(b.Context(), w, iterable.StreamOptions{
					BatchSize: seatedBatch, Tail: shuffle.Drop, LocalWorldSize: seatedRanks, Epoch: epoch, Epochs: 1, Seats: seats,
				})
				for err == nil {
					var draw *iterable.Draw
					if draw, err = s.Next(b.Context()); err == nil {
						draw.Release()
					}
				}
				if s.Close(); !errors.Is(err, io.EOF) {
					b.Fatal(err)
				}
			}
		})
	}
}

// seatsOf are the seats by which nodes read what they hold.
func seatsOf(b *testing.B, store *servedStore, nodes []seatedNode) (seats shuffle.Seats) {
	b.Helper()
	var held []shuffle.NodeLanes
	for k, n := range nodes {
		n.run(b, store, func(d *iterable.Dataset) {
			state, err := d.Start(len(nodes)*seatedRanks, iterable.StreamOptions{BatchSize: seatedBatch, Tail: shuffle.Drop})
			if err != nil {
				b.Fatal(err)
			}
			held = append(held, shuffle.NodeLanes{Ranks: []int{k * seatedRanks, k*seatedRanks + 1}, Held: d.HeldLanes(state)})
		})
	}
	seats, err := shuffle.SeatLanes(seatedLanes, len(nodes)*seatedRanks, held)
	if err != nil {
		b.Fatal(err)
	}
	return seats
}

// BenchmarkRestartOnOtherNodes starts a job of 8 nodes again after an epoch, with its ranks on
// other nodes, and reports the share of the data that all nodes fetch in the next epoch.
func BenchmarkRestartOnOtherNodes(b *testing.B) {
	changes := []struct {
		name string
		now  func(nodes []seatedNode, fresh func() seatedNode) []seatedNode
	}{
		{"same", func(n []seatedNode, _ func() seatedNode) []seatedNode { return n }},
		{"reversed", func(n []seatedNode, _ func() seatedNode) []seatedNode { slices.Reverse(n); return n }},
		{"first_replaced_by_last", func(n []seatedNode, fresh func() seatedNode) []seatedNode { return append(n[1:], fresh()) }},
		{"one_fewer", func(n []seatedNode, _ func() seatedNode) []seatedNode { return slices.Delete(n, 2, 3) }},
	}
	for _, c := range changes {
		for _, seated := range []bool{true, false} {
			b.Run(fmt.Sprintf("%s/seats=%t", c.name, seated), func(b *testing.B) {
				store, all := seatedTable(b)
				fetched := int64(0)
				for b.Loop() {
					fresh := func() seatedNode { return seatedNode(b.TempDir()) }
					var nodes []seatedNode
					for range seatedNodes {
						nodes = append(nodes, fresh())
					}
					seatedEpoch(b, store, nodes, 0, nil)
					nodes = c.now(nodes, fresh)
					var seats shuffle.Seats
					if seated {
						seats = seatsOf(b, store, nodes)
					}
					before := store.bytes.Load()
					seatedEpoch(b, store, nodes, 1, seats)
					fetched += store.bytes.Load() - before
				}
				b.ReportMetric(100*float64(fetched)/float64(all)/float64(b.N), "%fetched")
			})
		}
	}
}
