package loader

import (
	"cmp"
	"context"
	"slices"

	"github.com/shardfeed/shardfeed/internal/wait"
)

// do decodes the rows of a job. All lenses take rows of the earliest step first, so that they all
// make the batch that training waits for.
func (im *imaging) do(ctx context.Context, j *imageJob) error {
	j.ctx, j.done, j.over, j.next, j.end, j.making = ctx, make(chan struct{}), false, 0, j.batch.Rows, 0
	if err := im.enter(j); err != nil {
		return err
	}
	select {
	case <-j.done:
	case <-ctx.Done():
		im.leave(j)
		<-j.done
	}
	return context.Cause(ctx)
}

// enter puts a job into the queue by its step, and gives idle lenses a goroutine each.
func (im *imaging) enter(j *imageJob) error {
	im.mu.Lock()
	defer im.mu.Unlock()
	if im.closed {
		return ErrClosed
	}
	if im.settleLocked(j); j.over {
		return nil
	}
	at, _ := slices.BinarySearchFunc(im.queue, j, func(q, j *imageJob) int {
		return cmp.Or(cmp.Compare(q.batch.Epoch, j.batch.Epoch), cmp.Compare(q.batch.Step, j.batch.Step), -1)
	})
	im.queue = slices.Insert(im.queue, at, j)
	for range j.end {
		l := im.pickLocked()
		if l == nil {
			break
		}
		im.group.Go(func() { im.work(l) })
	}
	return nil
}

// leave hands out no further rows of a job.
func (im *imaging) leave(j *imageJob) {
	im.mu.Lock()
	defer im.mu.Unlock()
	j.end = j.next
	im.settleLocked(j)
}

// work decodes rows with a lens while there are any. Between two jobs it gives its share of the
// room back, for which others may wait.
func (im *imaging) work(l *lens) {
	begin := wait.Now()
	for last, row := im.next(l, nil); last != nil; {
		last.make(l, row)
		begin = blocked(im.took, begin)
		j, next := im.next(l, last)
		if j != last && j != nil && l.more > 0 {
			im.drop(l)
		}
		last, row = j, next
	}
}

// next ends a row of a job, and returns the first row that no lens has. Without such a row the lens
// becomes idle.
func (im *imaging) next(l *lens, last *imageJob) (j *imageJob, row int) {
	im.mu.Lock()
	defer im.mu.Unlock()
	if last != nil {
		last.making--
		im.settleLocked(last)
	}
	for _, j = range im.queue {
		if j.ctx.Err() == nil {
			row, j.next, j.making = j.next, j.next+1, j.making+1
			im.settleLocked(j)
			return j, row
		}
	}
	im.giveLocked(l)
	return nil, 0
}

// settleLocked takes a job out of the queue when lenses have all its rows, and reports it done when
// they are made.
func (im *imaging) settleLocked(j *imageJob) {
	if j.next < j.end {
		return
	}
	if at := slices.Index(im.queue, j); at >= 0 {
		im.queue = slices.Delete(im.queue, at, at+1)
	}
	if j.making == 0 && !j.over {
		j.over = true
		close(j.done)
	}
}
