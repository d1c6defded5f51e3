package driver

import (
	"fmt"
	"sync"

	"github.com/shardfeed/shardfeed/shard"
)

// The bounds of one list. They are far above what a data set has: a list of ten million files takes
// some 5 GB of memory.
const (
	MaxEntries = 10_000_000 // files and directories that an address wants
	MaxNames   = 1 << 30    // bytes of their names
	MaxPages   = 1_000_000  // answers of a server, whether an address wants what they hold or not
)

// A Listing counts what one List takes from servers, and ends it when it takes more than a list may
// hold.
type Listing struct {
	report func(files int)

	mu                    sync.Mutex
	pages, entries, files int
	names                 int64 // bytes
}

// NewListing returns the counts of a list. Report, which may be nil, receives the number of files
// after each page that adds some; its calls do not overlap.
func NewListing(report func(files int)) *Listing { return &Listing{report: report} }

// Take counts a page and the entries of it that are wanted. Its error ends the list.
func (l *Listing) Take(wanted []Entry) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pages++
	if files := l.add(wanted, 1); files > 0 && l.report != nil {
		l.report(l.files)
	}
	switch {
	case l.entries > MaxEntries:
		return tooLong("%d files and directories", MaxEntries)
	case l.names > MaxNames:
		return tooLong("%d bytes of names", MaxNames)
	case l.pages > MaxPages:
		return tooLong("%d pages", MaxPages)
	}
	return nil
}

// Undo takes back the entries of pages that will be listed again.
func (l *Listing) Undo(wanted []Entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(wanted, -1)
}

// add returns how many of the entries are files.
func (l *Listing) add(wanted []Entry, sign int) (files int) {
	for _, e := range wanted {
		l.names += int64(sign * len(e.Name))
		if e.Kind == KindFile {
			files++
		}
	}
	l.entries += sign * len(wanted)
	l.files += sign * files
	return files
}

func tooLong(format string, most int) error {
	return fmt.Errorf("the list is too long: over "+format+"; give narrower addresses, such as one for each directory: each has its own list", most)
}

// Pages follows one chain of pages, each of which names the next by a token.
type Pages struct {
	seen  string // the token that the chain is compared with; it moves on ever more slowly, so that a cycle of any length is found (Brent)
	steps int    // tokens since seen
	limit int    // steps after which seen moves on
}

// Next takes the token of the next page, and refuses one that leads in a circle.
func (p *Pages) Next(token string) error {
	if p.limit > 0 && token == p.seen {
		return fmt.Errorf("%w: the server's list repeats itself: the same continuation token came twice, %.40q", shard.ErrCorrupt, token)
	}
	if p.steps++; p.steps > p.limit {
		p.seen, p.steps, p.limit = token, 0, 2*p.limit+1
	}
	return nil
}
