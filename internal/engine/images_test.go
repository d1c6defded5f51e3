package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"github.com/shardfeed/shardfeed/images"
	"github.com/shardfeed/shardfeed/images/codec"
	"github.com/shardfeed/shardfeed/internal/engine/wire"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
	"github.com/shardfeed/shardfeed/shard"
	memstore "github.com/shardfeed/shardfeed/shard/mem"
)

// servePhotos serves rows with a JPEG each, in file order.
func servePhotos(t *testing.T, rows int, losses iterable.Losses) (socket string, files [][]byte) {
	t.Helper()
	type photo struct {
		ID  int64  `parquet:"id"`
		Img []byte `parquet:"img"`
	}
	var b bytes.Buffer
	w := parquet.NewGenericWriter[photo](&b)
	for i := range rows {
		m := image.NewRGBA(image.Rect(0, 0, 20+i%5, 30))
		for at := range m.Pix {
			m.Pix[at] = byte(at * (i + 3))
		}
		m.Set(1, 1, color.White)
		var file bytes.Buffer
		err := jpeg.Encode(&file, m, nil)
		if _, werr := w.Write([]photo{{int64(i), file.Bytes()}}); errors.Join(err, werr) != nil {
			t.Fatal(err, werr)
		}
		files = append(files, file.Bytes())
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	store := &memstore.Store{}
	store.Put("data/a.parquet", b.Bytes())
	socket = serveWares(t, nil, func(o *Options, d *Data) {
		budget := o.Budget
		d.Loader = loader.Options{BatchSize: 8, Workers: 2, Images: map[string]images.Options{"img": photoOptions()}}
		d.Stats = func(f Figures) any {
			sum := photoStats{Share: f.ImageCPUShare, Refused: f.ImagesRefused, Rows: f.Rows}
			for _, l := range f.Loaders {
				sum.OnDevice += l.OnDevice
				sum.Lost += l.Lost
			}
			return sum
		}
		how := *d
		o.Open = func(ctx context.Context, _ Request, _ func(wire.Progress)) (*Data, error) {
			d := how
			var err error
			d.Dataset, err = iterable.Open(ctx, shard.Stores{"mem": store}, []string{"mem://data/"}, iterable.Options{
				Reading: iterable.Reading{RowKeys: true}, Losses: losses, Resources: iterable.Resources{Budget: (*iterable.Budget)(budget)},
			})
			return &d, err
		}
	})
	return socket, files
}

func photoOptions() images.Options {
	return images.Options{Height: 7, Width: 5, Crop: images.CropRandomResized, Flip: 0.5}
}

// A photo is a row of a batch with images on a device.
type photo struct {
	id   int64
	task images.Task
	data []byte
}

// photos are the rows of a batch.
func (b *clientBatch) photos(t *testing.T) (rows []photo) {
	t.Helper()
	if len(b.nodes) != 6 {
		t.Fatalf("a batch of %d nodes", len(b.nodes))
	}
	buffer := func(node, field int, n int64) []byte { return b.bytes(b.nodes[node][field], n) }
	n := b.nodes[0][0]
	ids, starts, data := mem.As[int64](buffer(0, 4, 8*n)), mem.As[int32](buffer(1, 3, 4*(n+1))), buffer(2, 4, b.nodes[2][5])
	if !slices.Equal(ids, mem.As[int64](buffer(5, 4, 8*n))) {
		t.Error("rows have the numbers of others")
	}
	for i, k := range mem.As[images.Task](buffer(4, 4, 96*n)) {
		rows = append(rows, photo{ids[i], k, data[starts[i]:][:k.Bytes]})
	}
	return rows
}

func nodeNames(nodes []wire.Node) (names []string) {
	for _, n := range nodes {
		text := n.Kind
		for c := n; len(c.Children) > 0; c = c.Children[0] {
			text += fmt.Sprint(" ", c.ListSize, " ", c.Children[0].Type)
		}
		names = append(names, fmt.Sprintf("%s: %s, %v", n.Name, text, n.Added))
	}
	return names
}

var deviceNodes = []string{"id: fixed, false", "img: list 0 uint8, false", "img\x00device: list 24 int32, true", "\x00row: fixed, true"}

// A trainer that asks for a share gets files and tensors, changes the share, and continues
// in the next epoch with the batches that were read ahead. The data set keeps its columns.
func TestImageShares(t *testing.T) {
	socket, files := servePhotos(t, 80, iterable.Losses{})
	c := dial(t, socket)
	opened, err := c.open(opening)
	if err != nil {
		t.Fatal(err)
	}
	tensors := []string{"id: fixed, false", "img: list 3 list 7 list 5 uint8, false"}
	if got := nodeNames(opened.Schema); !slices.Equal(got, tensors) {
		t.Errorf("opened: %q", got)
	}
	share := 0.0
	for epoch := range int64(3) {
		joined, err := c.join(wire.Join{Iteration: fmt.Sprint(epoch), WorldSize: 1, ImageCPUShare: &share, Bundle: 8})
		if err != nil {
			t.Fatal(err)
		}
		if got := nodeNames(joined.Schema); !slices.Equal(got, deviceNodes) {
			t.Fatalf("joined: %q", got)
		}
		kinds := []images.TaskKind{}
		for range 10 {
			b, _, err := c.batch()
			if err != nil {
				t.Fatal(err)
			}
			rows := b.photos(t)
			kinds = append(kinds, rows[0].task.Kind)
			for _, row := range rows {
				seed := loader.ImageSeed(0, epoch, row.id, 0, "img", 0)
				want, ok := photoOptions().Task(files[row.id], seed)
				if row.task.Kind == images.TaskDone {
					want.Kind, want.Bytes = images.TaskDone, 105
				}
				if !ok || row.task.Kind != rows[0].task.Kind || row.task.Bytes != want.Bytes || row.task.Kind == images.TaskJPEG && (row.task != want || !bytes.Equal(row.data, files[row.id])) {
					t.Errorf("epoch %d, row %d: %+v", epoch, row.id, row.task)
				}
			}
			if share = float64(epoch % 2); b.head.Step == 0 {
				if err := c.send(wire.FrameShare, wire.Share{ImageCPUShare: share}); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.release(b); err != nil {
				t.Fatal(err)
			}
		}
		last := images.TaskJPEG - images.TaskKind(share)
		if kinds[9] != last {
			t.Errorf("epoch %d: %v, want %v at the end", epoch, kinds, last)
		}
		if _, end, err := c.batch(); end == nil {
			t.Fatal(err)
		}
	}
	if s := c.photoStats(t); s.OnDevice < 80 || s.OnDevice > 3*80+100 || s.Share == nil || *s.Share != 0 {
		t.Errorf("%+v", s)
	}
	if joined, err := c.join(wire.Join{Iteration: "tensors", WorldSize: 1}); err != nil || !slices.Equal(nodeNames(joined.Schema), tensors) {
		t.Errorf("without a share: %q, %v", nodeNames(joined.Schema), err)
	}
}

// photoStats are the figures of images on a device.
type photoStats struct {
	OnDevice, Refused, Lost, Rows int64
	Share                         *float64
}

func (c *testClient) photoStats(t *testing.T) (got photoStats) {
	t.Helper()
	var s wire.Session
	if err := errors.Join(c.send(wire.FrameAsk, wire.Ask{WorldSize: 1, Stats: true}), c.ask(wire.FrameSession, &s)); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(s.Stats, &got); err != nil {
		t.Fatal(err)
	}
	return got
}

// refuse asks for the image of a row that a device refuses.
func (c *testClient) refuse(t *testing.T, row photo, file []byte) ([]byte, error) {
	t.Helper()
	var s wire.Session
	refused := loader.RefusedImage{Column: "img", Row: row.id, Task: mem.As[int32](mem.AsBytes([]images.Task{row.task})), File: file}
	if err := c.send(wire.FrameAsk, wire.Ask{WorldSize: 1, Refused: &refused}); err != nil {
		t.Fatal(err)
	}
	err := c.ask(wire.FrameSession, &s)
	return s.Image, err
}

// The engine makes the images that a device refuses, also of rows by number. A file that it cannot
// decode either follows on_error.
func TestRefusedImages(t *testing.T) {
	for _, onError := range []iterable.OnError{iterable.Raise, iterable.Mask} {
		t.Run(string(onError), func(t *testing.T) {
			losses := iterable.Losses{OnError: onError}
			socket, files := servePhotos(t, 80, losses)
			c, other := dial(t, socket), dial(t, socket)
			_, err := c.open(opening)
			_, oerr := other.open(opening)
			if err = errors.Join(err, oerr); err != nil {
				t.Fatal(err)
			}
			share := 0.0
			if _, err := c.join(wire.Join{Iteration: "a", WorldSize: 1, ImageCPUShare: &share}); err != nil {
				t.Fatal(err)
			}
			b, _, err := c.batch()
			if err != nil {
				t.Fatal(err)
			}
			rows := b.photos(t)
			augmenter, err := images.New(photoOptions(), new(codec.Go))
			if err != nil {
				t.Fatal(err)
			}
			want := make([]byte, photoOptions().Bytes())
			if err := augmenter.Apply(want, files[rows[1].id], loader.ImageSeed(0, 0, rows[1].id, 0, "img", 0)); err != nil {
				t.Fatal(err)
			}
			if got, err := other.refuse(t, rows[1], rows[1].data); err != nil || !bytes.Equal(got, want) {
				t.Errorf("got %d bytes, %v", len(got), err)
			}
			got, err := other.refuse(t, rows[2], rows[2].data[:200])
			var f *wire.Failure
			if onError == iterable.Raise && (!errors.As(err, &f) || f.Kind != wire.KindData || f.Column != "img" || f.RowGroup != 0 || !strings.Contains(f.Text, "row 2: JPEG: it is truncated")) {
				t.Errorf("a damaged file: %+v", f)
			}
			stats := other.photoStats(t)
			if onError == iterable.Mask && (err != nil || got != nil || stats.Refused != 2 || stats.Lost != 1) {
				t.Errorf("a damaged file: %d bytes, %v; %+v", len(got), err, stats)
			}
			if _, err = other.refuse(t, rows[3], nil); onError == iterable.Mask && (err == nil || !strings.Contains(err.Error(), "2 of 80 rows of the epoch are lost")) {
				t.Errorf("more than max_lost: %v", err)
			}
			if got, err := other.refuse(t, photo{id: 80, task: rows[1].task}, nil); err == nil {
				t.Errorf("a row that is not there: %d bytes", len(got))
			}
		})
	}
}

// Rows by number have the form of their MAP.
func TestImageSharesOfMap(t *testing.T) {
	socket, files := servePhotos(t, 20, iterable.Losses{})
	c := dial(t, socket)
	if _, err := c.open(opening); err != nil {
		t.Fatal(err)
	}
	var m wire.Mapped
	share := 0.0
	if err := errors.Join(c.send(wire.FrameMap, wire.Map{ImageCPUShare: &share}), c.ask(wire.FrameMapped, &m)); err != nil {
		t.Fatal(err)
	}
	if got := nodeNames(m.Schema); !slices.Equal(got, deviceNodes) {
		t.Errorf("mapped: %q", got)
	}
	c.take(t, 3, 19)
	b, _, err := c.batch()
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range b.photos(t) {
		if want := []int64{3, 19}[i]; row.id != want || row.task.Kind != images.TaskJPEG || !bytes.Equal(row.data, files[want]) {
			t.Errorf("row %d: %+v", want, row.task)
		}
	}
	if err := errors.Join(c.release(b), c.send(wire.FrameShare, wire.Share{ImageCPUShare: 1})); err != nil {
		t.Fatal(err)
	}
	c.take(t, 4)
	if b, _, err = c.batch(); err != nil || b.photos(t)[0].task.Kind != images.TaskDone {
		t.Errorf("%v: %+v", err, b)
	}
}

// Replicas measure shares of their own, and get the same batches: by the share of the first.
func TestImageSharesOfReplicas(t *testing.T) {
	socket, _ := servePhotos(t, 80, iterable.Losses{})
	var all []*testClient
	for k, share := range []float64{0, 1} {
		c := dial(t, socket)
		if _, err := c.open(opening); err != nil {
			t.Fatal(err)
		}
		j := wire.Join{Iteration: fmt.Sprint(k), WorldSize: 1, Replica: k, Replicas: 2, ImageCPUShare: &share}
		if err := c.send(wire.FrameJoin, j); err != nil {
			t.Fatal(err)
		}
		all = append(all, c)
	}
	for _, c := range all {
		if err := c.ask(wire.FrameJoined, &wire.Joined{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := all[1].send(wire.FrameShare, wire.Share{ImageCPUShare: 1}); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		for k, c := range all {
			b, _, err := c.batch()
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range b.photos(t) {
				if row.task.Kind != images.TaskJPEG {
					t.Errorf("replica %d, row %d: %+v", k, row.id, row.task)
				}
			}
			if err := c.release(b); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Wrong shares are refused, and workers agree on the form.
func TestImageSharesRefused(t *testing.T) {
	socket, _ := servePhotos(t, 80, iterable.Losses{})
	for _, share := range []float64{-0.1, 1.5} {
		c := dial(t, socket)
		if _, err := c.open(opening); err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf("image_cpu_share must be from 0 to 1, got %v", share)
		if _, err := c.join(wire.Join{Iteration: "i", WorldSize: 1, ImageCPUShare: &share}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("JOIN: %v", err)
		}
		if err := errors.Join(c.send(wire.FrameShare, wire.Share{ImageCPUShare: share}), c.ask(wire.FrameEnd, &wire.End{})); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("SHARE: %v", err)
		}
	}
	if err := (wire.Share{ImageCPUShare: math.NaN()}).Validate(); err == nil {
		t.Error("a share that is no number is allowed")
	}
	share, first, second := 0.5, dial(t, socket), dial(t, socket)
	for k, c := range []*testClient{first, second} {
		if _, err := c.open(opening); err != nil {
			t.Fatal(err)
		}
		j := wire.Join{Iteration: "i", WorldSize: 1, Workers: 2, Worker: k}
		if k == 1 {
			j.ImageCPUShare = &share
		}
		if err := c.send(wire.FrameJoin, j); err != nil {
			t.Fatal(err)
		}
		if k == 0 {
			_ = c.send(wire.FrameAsk, wire.Ask{WorldSize: 1}) // answered after the JOIN
			if err := c.ask(wire.FrameSession, &json.RawMessage{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := second.ask(wire.FrameJoined, &wire.Joined{}); err == nil || !strings.Contains(err.Error(), "do not agree with others of the same iteration whether a device decodes images") {
		t.Errorf("workers: %v", err)
	}
}
