package shard

import (
	"slices"
	"strings"
	"sync"
)

// Loans are stores with borrowed credentials. Each reads the files below a prefix. Prefixes and
// paths have one spelling. Methods are safe for concurrent use.
type Loans[S any] struct {
	mu  sync.RWMutex
	all []loan[S] // the longest prefixes first
}

type loan[S any] struct {
	prefix string // without slashes at the end
	store  S
}

// Add makes a store read what is below prefix, in place of an earlier one.
func (l *Loans[S]) Add(prefix string, store S) {
	prefix = strings.TrimRight(prefix, "/")
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = slices.DeleteFunc(l.all, func(old loan[S]) bool { return old.prefix == prefix })
	l.all = append(l.all, loan[S]{prefix, store})
	slices.SortStableFunc(l.all, func(a, b loan[S]) int { return len(b.prefix) - len(a.prefix) })
}

// Of returns the store that reads a path. ok is false if no prefix is above it.
func (l *Loans[S]) Of(path string) (store S, ok bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	for _, one := range l.all {
		if below, found := strings.CutPrefix(path, one.prefix); found && (below == "" || below[0] == '/') {
			return one.store, true
		}
	}
	return store, false
}

// All returns the stores.
func (l *Loans[S]) All() []S {
	l.mu.RLock()
	defer l.mu.RUnlock()
	all := make([]S, len(l.all))
	for i, one := range l.all {
		all[i] = one.store
	}
	return all
}
