package servertest

import (
	"errors"
	"sync"
	"testing"
)

// A pool holds the servers of one kind that tests of this binary share, until the process ends.
type pool[K, S comparable] struct {
	mu   sync.Mutex
	made map[K]func() (S, error)
}

// get returns the server for a key, which the first who asks starts, or fails to start, for all.
func (p *pool[K, S]) get(t testing.TB, key K, start func() (S, error)) S {
	t.Helper()
	p.mu.Lock()
	made := p.made[key]
	if made == nil {
		made = sync.OnceValues(start)
		if p.made == nil {
			p.made = map[K]func() (S, error){}
		}
		p.made[key] = made
	}
	p.mu.Unlock()
	s, err := made()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// drop forgets a server that is of no more use, unless somebody else just did: then it returns
// false. Who asks next gets another one.
func (p *pool[K, S]) drop(key K, s S) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	made := p.made[key]
	if made == nil {
		return false
	}
	if now, _ := made(); now != s {
		return false
	}
	delete(p.made, key)
	return true
}

// retry starts a server again that ended at once: another process may have taken its port.
func retry[S any](start func() (S, error)) (S, error) {
	for try := 1; ; try++ {
		s, err := start()
		if err == nil || !errors.Is(err, errEnded) || try == 3 {
			return s, err
		}
	}
}
