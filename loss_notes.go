package shardfeed

import (
	"sync/atomic"

	"github.com/shardfeed/shardfeed/iterable"
)

// notedLosses is how many losses are noted one by one.
const notedLosses = 3

// lossNotes notes the first losses of a data set one by one and later ones in number: a table of
// images may have thousands.
type lossNotes struct {
	note func(format string, args ...any)
	n    atomic.Int64
}

func (l *lossNotes) add(x iterable.Loss) {
	switch n := l.n.Add(1); {
	case n <= notedLosses:
		l.note("%v", x)
	case isPowerOfTen(n):
		l.note("%d places have lost rows so far; the last: %v", n, x)
	}
}

func isPowerOfTen(n int64) bool {
	for n%10 == 0 {
		n /= 10
	}
	return n == 1
}
