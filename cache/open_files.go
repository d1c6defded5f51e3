package cache

import (
	"context"
	"errors"
	"io/fs"
	"sync"
	"time"

	"github.com/shardfeed/shardfeed/internal/trusted"
)

const (
	maxFiles  = 256              // open shard files; those in use may be more
	maxLong   = 8 << 10          // files in use up to which another may be held for long; each is mapped, too
	minFiles  = 8                // the least that shrink leaves when the process runs out of files
	idleAfter = 30 * time.Second // an open file cannot be evicted, so idle ones are closed

	openTries = 10
)

// openFiles keeps the most recently used shard files open. It also counts the users of the cache,
// and closes what they share after the last of them.
type openFiles struct {
	root   *trusted.Dir
	create func(k key) (*file, error) // makes the file of a key; nil means that it must be opened once more
	drop   func(k key)                // removes a stale file
	end    func()                     // called once, after the last user

	mu     sync.Mutex
	open   map[string]*handle
	most   int
	inUse  int // files
	long   int // how many files in use may be held for long
	users  int // of handles, and the Cache itself until leave
	closed bool
}

// A handle is one open file, shared by its users. Its file and err are set once ready is closed.
type handle struct {
	name  string
	ready chan struct{}
	file  *file
	err   error
	users int       // guarded by openFiles.mu
	used  time.Time // guarded by openFiles.mu
	gone  bool      // no longer in openFiles.open; guarded by openFiles.mu
}

// acquire returns the open file of a key, made if orCreate is set. The caller releases it.
func (s *openFiles) acquire(ctx context.Context, k key, orCreate bool) (*handle, error) {
	for {
		o, first, err := s.enter(k)
		if err != nil {
			return nil, err
		}
		if first {
			o.file, o.err = s.openOrCreate(ctx, k, orCreate)
			close(o.ready)
		}
		select {
		case <-o.ready:
		case <-ctx.Done():
			s.release(o)
			return nil, ctx.Err()
		}
		if o.err == nil {
			return o, nil
		}
		s.release(o)
		if first || ctx.Err() != nil || !othersFault(o.err) {
			return nil, o.err
		}
	}
}

// othersFault recognizes errors that come from how another caller opened the file.
func othersFault(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, fs.ErrNotExist)
}

// enter counts the caller as a user; first reports whether the caller has to open the file.
func (s *openFiles) enter(k key) (o *handle, first bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, false, ErrClosed
	}
	o = s.open[k.name]
	if o == nil {
		o, first = &handle{name: k.name, ready: make(chan struct{})}, true
		s.open[k.name] = o
	}
	if o.users == 0 {
		s.inUse++
	}
	o.users++
	s.users++
	return o, first, nil
}

// again counts one more user of a file that the caller uses.
func (s *openFiles) again(o *handle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o.users++
	s.users++
}

// release ends a use. It forgets a file that could not be opened, and the least recently used ones
// beyond the bound.
func (s *openFiles) release(o *handle) {
	s.mu.Lock()
	o.users--
	s.users--
	if o.users == 0 {
		s.inUse--
	}
	o.used = time.Now()
	select {
	case <-o.ready:
		if o.err != nil {
			s.removeLocked(o)
		}
	default: // the caller gave up waiting for it
	}
	if s.closed {
		s.removeLocked(o)
	}
	var closing []*handle
	if o.users == 0 && o.gone && o.file != nil {
		closing = append(closing, o)
	}
	for len(s.open) > s.most {
		old := s.oldestLocked()
		if old == nil {
			break
		}
		closing = append(closing, old)
	}
	last := s.closed && s.users == 0
	s.mu.Unlock()
	for _, old := range closing {
		old.file.close()
	}
	if last {
		s.end()
	}
}

// forget drops a file that has changed. Its last user closes it.
func (s *openFiles) forget(o *handle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.removeLocked(o)
}

func (s *openFiles) removeLocked(o *handle) {
	if s.open[o.name] == o {
		delete(s.open, o.name)
	}
	o.gone = true
}

// oldestLocked drops the least recently used idle file and returns it, or nil.
func (s *openFiles) oldestLocked() *handle {
	var oldest *handle
	for _, o := range s.open {
		if o.users == 0 && o.file != nil && (oldest == nil || o.used.Before(oldest.used)) {
			oldest = o
		}
	}
	if oldest != nil {
		s.removeLocked(oldest)
	}
	return oldest
}

func (s *openFiles) closeIdle(atLeast time.Duration) {
	s.mu.Lock()
	var idle []*handle
	for _, o := range s.open {
		if o.users == 0 && o.file != nil && time.Since(o.used) >= atLeast {
			idle = append(idle, o)
		}
	}
	for _, o := range idle {
		s.removeLocked(o)
	}
	s.mu.Unlock()
	for _, o := range idle {
		o.file.close()
	}
}

// boundFiles leaves others most of the files that the process may have open.
func boundFiles(limit int) (most, long int) {
	part := max(minFiles, limit/4)
	return min(maxFiles, part), min(maxLong, part)
}

// mayStay reports whether a file in use may be held for long.
func (s *openFiles) mayStay() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inUse <= s.long
}

// shrink keeps fewer files open, after the process ran out of descriptors.
func (s *openFiles) shrink() {
	s.mu.Lock()
	s.most = max(minFiles, len(s.open)/2)
	s.mu.Unlock()
	s.closeIdle(0)
}

// close refuses further users and closes idle files.
func (s *openFiles) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.closeIdle(0)
}

// leave ends the use of the Cache itself, after close.
func (s *openFiles) leave() {
	s.mu.Lock()
	s.users--
	last := s.users == 0
	s.mu.Unlock()
	if last {
		s.end()
	}
}

// openOrCreate opens a file, or makes it if it is missing and orCreate is set. Other processes may
// make and remove it meanwhile.
func (s *openFiles) openOrCreate(ctx context.Context, k key, orCreate bool) (*file, error) {
	var err error
	for try := range openTries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var x *file
		x, err = openFile(s.root, k)
		switch {
		case err == nil:
			return x, nil
		case errors.Is(err, fs.ErrNotExist) && orCreate:
			if x, err = s.create(k); x != nil {
				return x, nil
			}
		case errors.Is(err, errStale) && !s.root.ReadOnly():
			s.drop(k)
			time.Sleep(time.Duration(try) * time.Millisecond) // another process is making or removing it
			continue
		case tooManyFiles(err) && try == 0:
			s.shrink()
			continue
		}
		if err != nil {
			return nil, err
		}
	}
	return nil, errors.Join(errStale, err)
}
