package shardfeed

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/shardfeed/shardfeed/cache"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/rowgroup"
)

// A Host opens data sets that share one budget of memory, one cache for each directory, and the
// footers and dictionaries that are kept in memory. It is safe for concurrent use.
type Host struct {
	budget *iterable.Budget

	mu      sync.Mutex
	caches  map[string]*cache.Cache // by directory
	hot     *rowgroup.Hot
	longest time.Duration // of the epochs so far
}

// NewHost returns a host whose streams share a budget; nil is one over the machine's memory.
func NewHost(budget *iterable.Budget) *Host {
	if budget == nil {
		budget = iterable.NewBudget(mem.ThisMachine().SharedLimit())
	}
	return &Host{budget: budget, caches: map[string]*cache.Cache{}}
}

// Budget is what the host's streams share.
func (h *Host) Budget() *iterable.Budget { return h.budget }

// cacheIn is the one cache of a directory, which open opens the first time; it may be nil.
func (h *Host) cacheIn(dir string, open func() (*cache.Cache, error)) (*cache.Cache, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c := h.caches[dir]; c != nil {
		return c, nil
	}
	c, err := open()
	if c != nil {
		h.caches[dir] = c
	}
	return c, err
}

// hotOf is the one memory of footers and dictionaries; the first to ask says its bytes.
func (h *Host) hotOf(bytes int64) *rowgroup.Hot {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.hot == nil {
		h.hot = rowgroup.NewHot(bytes)
	}
	return h.hot
}

// keep lets a cache keep what it holds until the next epoch has used it.
func (h *Host) keep(c *cache.Cache, took time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.longest = max(h.longest, took); c != nil {
		c.KeepForEpochs(h.longest)
	}
}

// Close waits for the fills of the caches, at most 10 s and half a second when ctx has ended. The
// data sets are closed before.
func (h *Host) Close(ctx context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	bounded, cancel := fillTime(ctx)
	defer cancel()
	var errs []error
	for dir, c := range h.caches {
		if err := c.Close(bounded); err != nil {
			errs = append(errs, fmt.Errorf("cache %s: %w", dir, err))
		}
	}
	clear(h.caches)
	h.hot.Close()
	h.hot = nil
	return errors.Join(errs...)
}
