package loader

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync/atomic"

	"github.com/shardfeed/shardfeed/column"
	"github.com/shardfeed/shardfeed/images"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/internal/wait"
)

// Names of columns in batches with images on a device; see [ImageSplit].
const (
	DeviceSuffix = "\x00device" // follows the name of an image column in the name of its tasks
	DeviceRows   = "\x00row"    // the rows' numbers
)

// An ImageSplit divides the JPEGs of a loader's images between the loader and a device of its
// consumer, such as a GPU. It is safe for concurrent use.
//
// An image column that has tasks ([images.Options.NoTasks]) and one image a row, of at most 11
// MiB, is a list of bytes in batches then: of each row the finished tensor, or the file of a JPEG.
// A further column, of the name with DeviceSuffix, has the row's [images.Task]. The bytes of each
// row start at a multiple of 16, and zeros follow them up to the next one. Rows that are lost have
// no bytes. The column DeviceRows has each row's number in the list of shards, for errors of the
// device.
//
// The loader decodes its share of the rows, and all files that a device cannot. Which rows these
// are is drawn by the seed, the epoch, the row and the column's name, so that a share that does not
// change gives the same batches on any number of ranks and after a resume. Images have the same
// crop, flip and colors on either side. An [ImageMender] makes images that the device refuses.
type ImageSplit struct {
	share atomic.Uint64 // float64's bits
}

// NewImageSplit returns a split that leaves a share of the rows, from 0 to 1, to the loader.
func NewImageSplit(share float64) *ImageSplit {
	s := &ImageSplit{}
	s.SetShare(share)
	return s
}

// Share returns the loader's share.
func (s *ImageSplit) Share() float64 { return math.Float64frombits(s.share.Load()) }

// SetShare changes the loader's share in the batches that it has not begun.
func (s *ImageSplit) SetShare(share float64) { s.share.Store(math.Float64bits(share)) }

// validateSplit reports a share out of range.
func validateSplit(p *option.List, s *ImageSplit) {
	if s == nil {
		return
	}
	if share := s.Share(); !(share >= 0 && share <= 1) {
		p.Add("ImageSplit", "must have a share from 0 to 1, got %v", share)
	}
}

const (
	deviceAlign = 16
	taskInts    = 24 // of an images.Task
)

// deviceBytes rounds the bytes of a row up.
func deviceBytes(n int) int { return (n + deviceAlign - 1) &^ (deviceAlign - 1) }

// onDevice makes the field of a column whose JPEGs may be left to a device.
func (m *imageColumn) onDevice() {
	item := &column.Field{Name: m.field.Name, Kind: column.Fixed, Type: column.TypeUint8, Width: 1}
	m.device, m.divides = true, imageNumber(m.name+DeviceSuffix)
	m.field = &column.Field{Name: m.field.Name, Kind: column.List, Children: []*column.Field{item}}
}

// devices returns the columns whose JPEGs may be left to a device.
func (s *Shape) devices() (all []*imageColumn) {
	for _, c := range s.columns {
		for _, m := range c.images {
			if m.device {
				all = append(all, m)
			}
		}
	}
	return all
}

// DeviceImages returns for each column of images why its JPEGs cannot be left to a device, or "" if
// they can; nil without images.
func (s *Shape) DeviceImages() map[string]string {
	var all map[string]string
	for _, c := range s.columns {
		for _, m := range c.images {
			if all == nil {
				all = map[string]string{}
			}
			all[m.name] = m.alone
		}
	}
	return all
}

// TaskFields returns the columns that Options.ImageSplit adds to batches, the last ones.
func (s *Shape) TaskFields() (all []*column.Field) {
	for _, m := range s.devices() {
		all = append(all, addedList(taskInts, column.FieldOf[int32](m.name+DeviceSuffix)))
	}
	if len(all) > 0 {
		rows := column.FieldOf[int64](DeviceRows)
		rows.Made = true
		all = append(all, rows)
	}
	return all
}

// deviceRows are the rows of a column in the making, which have files or tensors.
type deviceRows struct {
	tasks  []images.Task // by row
	starts []int32       // of the rows among the column's bytes, and the end of the last row
}

// divide decides which rows of a column go to the device, and allocates the bytes of all.
func (c *collator) divide(j *imageJob, k int, b *Batch) error {
	m, r, files := c.images[k], &j.devices[k], j.files[k]
	r.tasks = slices.Grow(r.tasks[:0], len(files))[:len(files)]
	share := c.split.Share()
	for row, file := range files {
		r.tasks[row] = c.task(m, row, file, share)
	}
	starts, err := b.Alloc(4 * (len(files) + 1))
	if err != nil {
		return err
	}
	r.starts = mem.As[int32](starts)
	n, ok := r.place(deviceBytes(m.bytes), math.MaxInt32)
	if !ok {
		return fmt.Errorf("images: %d rows of column %q take more than 2 GiB, which a batch with images on a device cannot hold; lower the batch size", len(files), m.name)
	}
	j.tensors[k], err = b.Alloc(n)
	return err
}

// place gives each row its bytes, n in all. The loader decodes files that would make them more than
// most. ok is false if tensors take more than that.
func (r *deviceRows) place(tensor, most int) (n int, ok bool) {
	room := most - len(r.tasks)*tensor
	for row := range r.tasks {
		t, more := &r.tasks[row], 0
		if t.Kind == images.TaskJPEG {
			more = deviceBytes(int(t.Bytes)) - tensor
		}
		if more > max(0, room) {
			*t, more = images.Task{Kind: images.TaskDone}, 0
		}
		room -= max(0, more)
		r.starts[row] = int32(n)
		n += tensor + more
	}
	r.starts[len(r.tasks)] = int32(n)
	return n, room >= 0
}

// task returns the task of a row's file, of kind TaskDone for a file that the loader decodes.
func (c *collator) task(m *imageColumn, row int, file []byte, share float64) images.Task {
	if hi, _ := c.names.keyOf(row, m.divides).pcg(); len(file) > mostOnDevice || float64(hi>>11)/(1<<53) < share {
		return images.Task{Kind: images.TaskDone}
	}
	seed, _ := c.names.keyOf(row, m.number).pcg()
	t, _ := m.options.Task(file, seed)
	return t
}

// deviceRow makes the bytes of a row.
func (j *imageJob) deviceRow(ctx context.Context, l *lens, k, row int) error {
	m, r, file := j.columns[k], &j.devices[k], j.files[k][row]
	t, data := &r.tasks[row], j.tensors[k][r.starts[row]:r.starts[row+1]]
	if t.Kind == images.TaskJPEG {
		clear(data[copy(data, file):])
		return j.sized(k, row, t.Picture())
	}
	clear(data[m.bytes:])
	begin := wait.Now()
	seed, _ := j.names.keyOf(row, m.number).pcg()
	err := j.apply(ctx, l, k, imageFile{dst: data[:m.bytes], data: file, seed: seed, job: j, row: row})
	t.Width, t.Bytes = int32(min((wait.Now()-begin)/1000, math.MaxInt32)), int32(m.bytes)
	return err
}

// compact moves good rows to the front. Failed rows, which follow, have no bytes.
func (r *deviceRows) compact(data []byte, failed []imageFailure) {
	good, at := 0, int32(0)
	for row, lo := 0, r.starts[0]; row < len(r.tasks); row++ {
		hi := r.starts[row+1]
		if len(failed) > 0 && failed[0].row == row {
			failed = failed[1:]
		} else {
			at += int32(copy(data[at:], data[lo:hi]))
			r.tasks[good], r.starts[good+1] = r.tasks[row], at
			good++
		}
		lo = hi
	}
	for ; good < len(r.tasks); good++ {
		r.tasks[good], r.starts[good+1] = images.Task{Kind: images.TaskNone}, at
	}
}

// imageValues is a column of images, without lists: the field of its rows.
func (c *collator) imageValues(m *imageColumn, rows int) *column.Array {
	data := c.job.tensors[m.place]
	if !m.device {
		n := rows * m.bytes
		return tensor(m.field, rows, data[:n:n])
	}
	starts := c.job.devices[m.place].starts[:rows+1]
	n := int(starts[rows])
	bytes := &column.Array{Field: m.field.Children[0], Len: n, Data: data[:n:n]}
	return &column.Array{Field: m.field, Len: rows, Offsets: starts, Children: []*column.Array{bytes}}
}

// addTasks adds the tasks of a batch's rows, and their numbers.
func (c *collator) addTasks(b *Batch) error {
	all := c.shape.devices()
	for _, m := range all {
		to, err := AddTensor[int32](b, m.name+DeviceSuffix, taskInts)
		if err != nil {
			return err
		}
		tasks := c.job.devices[m.place].tasks[:b.Rows]
		copy(to, mem.As[int32](mem.AsBytes(tasks)))
		for i := range tasks {
			if tasks[i].Kind == images.TaskJPEG {
				c.onDevice.Add(1)
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	rows, err := AddTensor[int64](b, DeviceRows)
	copy(rows, c.names.rows)
	return err
}
