package main

import (
	"fmt"
	"math/bits"
	"strconv"
	"sync"

	"github.com/shardfeed/shardfeed/internal/text"
)

// A ledger proves that each of n rows came exactly once: it has a bit for each. It is safe for
// concurrent use.
type ledger struct {
	mu       sync.Mutex
	seen     []uint64
	n        int64
	came     int64
	repeated int64 // rows that came again
	unknown  int64 // rows that are not in the data
}

func newLedger(n int64) *ledger {
	return &ledger{seen: make([]uint64, (n+63)/64), n: n}
}

func (l *ledger) add(row int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.came++
	if row < 0 || row >= l.n {
		l.unknown++
		return
	}
	word, bit := &l.seen[row/64], uint64(1)<<(row%64)
	if *word&bit != 0 {
		l.repeated++
	}
	*word |= bit
}

func (l *ledger) missing() int64 {
	n := l.n
	for _, w := range l.seen {
		n -= int64(bits.OnesCount64(w))
	}
	return n
}

// verify returns nil if each row came exactly once, or an error with the counts.
func (l *ledger) verify() error {
	if missing := l.missing(); missing > 0 || l.repeated > 0 || l.unknown > 0 {
		return fmt.Errorf("of %s rows, %s did not come, %s came more than once, %s are not in the data",
			text.Count(l.n), text.Count(missing), text.Count(l.repeated), text.Count(l.unknown))
	}
	return nil
}

// verdict is the outcome in a word, with what is wrong.
func (l *ledger) verdict() string {
	if err := l.verify(); err != nil {
		return "no: " + err.Error()
	}
	return "yes"
}

// productNumber is the number in a product's id, N and eleven digits, or -1: its place among all
// rows in file order.
func productNumber(id []byte) int64 {
	if len(id) != 12 || id[0] != 'N' {
		return -1
	}
	n, err := strconv.ParseUint(string(id[1:]), 10, 63)
	if err != nil {
		return -1
	}
	return int64(n)
}
