package shuffle

import "fmt"

// Tail selects how to treat the last N mod G rows of an epoch, which fill no global batch.
type Tail string

const (
	Drop  Tail = "drop"  // they are left out of this epoch
	Pad   Tail = "pad"   // the last step is filled up with rows that are marked invalid
	Short Tail = "short" // the last step is short
	Carry Tail = "carry" // they become part of the next epoch's first step
)

// Validate returns an error unless t is one of the four tails.
func (t Tail) Validate() error {
	switch t {
	case Drop, Pad, Short, Carry:
		return nil
	}
	return refuse("tail", "must be %q, %q, %q or %q, got %q", Drop, Pad, Short, Carry, t)
}

// Steps is the arithmetic of an epoch's steps. A position counts rows of the epoch; under Carry the
// first step may start at a negative position, in rows left over from the epoch before.
type Steps struct {
	Rows        int64 // N, of an epoch
	GlobalBatch int64 // G, rows of a step over all ranks
	Tail        Tail
	From, To    int64 // the rows that are read; To 0 is the end
}

// Window returns the steps without the first ones, and at most take of the others. take 0 has no
// limit.
func (s Steps) Window(skip, take int64) (Steps, error) {
	whole := s.Count(0)
	switch {
	case skip == 0 && take == 0:
		return s, nil
	case skip < 0 || take < 0:
		return s, refuse("take", "must be at least 1 step, and skip at least 0, got %d and %d", take, skip)
	case s.Tail == Carry:
		return s, refuse("tail", "%q moves rows into the next epoch, and skip and take choose steps of each epoch; use another tail", s.Tail)
	case skip >= whole:
		return s, &Error{Field: "skip", sentence: true, Msg: fmt.Sprintf("skip(%d) leaves nothing of the %d steps of an epoch: skip fewer", skip, whole)}
	}
	s.From = skip * s.GlobalBatch
	if take > 0 && take < whole-skip {
		s.To = s.From + take*s.GlobalBatch
	}
	return s, nil
}

// Part reports whether only a part of an epoch is read.
func (s Steps) Part() bool { return s.From > 0 || s.To > 0 }

// Begin moves a position before the window to its first row.
func (s Steps) Begin(pos int64) int64 {
	if s.Part() {
		return max(pos, s.From)
	}
	return pos
}

// Validate refuses what makes no steps, and an epoch that Drop would leave empty.
func (s Steps) Validate() error {
	if err := s.Tail.Validate(); err != nil {
		return err
	}
	if s.Rows < 0 {
		return refuse("rows", "%d is not a number of rows", s.Rows)
	}
	if s.GlobalBatch < 1 {
		return refuse("global_batch", "%d is under 1 row", s.GlobalBatch)
	}
	if s.Tail == Drop && s.Rows < s.GlobalBatch {
		return &Error{Field: "tail", sentence: true, Msg: fmt.Sprintf("%d rows are fewer than one global batch of %d rows, so nothing is left when the "+
			"last rows are dropped: use a smaller batch size, or keep the last rows", s.Rows, s.GlobalBatch)}
	}
	return nil
}

// Count returns the number of steps that end in the epoch if the first starts at position from. The
// last step before To is whole.
func (s Steps) Count(from int64) int64 {
	from = s.Begin(from)
	if s.To > 0 {
		return ceilDiv(max(0, s.To-from), s.GlobalBatch)
	}
	left := s.Rows - from
	if left <= 0 {
		return 0
	}
	if s.Tail == Pad || s.Tail == Short {
		return ceilDiv(left, s.GlobalBatch)
	}
	return left / s.GlobalBatch
}

// At returns the first position of step i, counted from the step at from, and the rows that it
// takes from the data, which is less than G only in the last step under Pad and Short.
func (s Steps) At(from, i int64) (pos, rows int64) {
	pos = from + i*s.GlobalBatch
	return pos, max(0, min(s.GlobalBatch, s.Rows-pos))
}

// Next returns the start of the next epoch's first step if this epoch's was at from: 0, or a
// negative position under Carry.
func (s Steps) Next(from int64) int64 {
	if s.Tail != Carry {
		return 0
	}
	return from + s.Count(from)*s.GlobalBatch - s.Rows
}

// Normalize moves a position after the last step of its epoch to the start of the next epoch; rows
// left over under Carry stay in their epoch until a step takes them.
func (s Steps) Normalize(epoch uint64, pos int64) (uint64, int64) {
	if s.Tail == Carry {
		for s.Rows > 0 && pos >= s.Rows {
			epoch, pos = epoch+1, pos-s.Rows
		}
		return epoch, pos
	}
	if s.Rows > 0 && s.Count(pos) == 0 {
		return epoch + 1, 0
	}
	return epoch, pos
}
