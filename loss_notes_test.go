package shardfeed

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/shardfeed/shardfeed/iterable"
)

func TestLossNotes(t *testing.T) {
	var notes []string
	l := &lossNotes{note: func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }}
	for i := range int64(120) {
		l.add(iterable.Loss{Lo: i, Hi: i + 1, Err: errors.New("bad")})
	}
	want := []string{
		"row 0 is lost: bad; further lost rows are counted, and listed by stats",
		"10 places have lost rows so far; the last: row 9 is lost: bad", "100 places have lost rows so far; the last: row 99 is lost: bad",
	}
	if !slices.Equal(notes, want) {
		t.Errorf("got %q, want %q", notes, want)
	}
}
