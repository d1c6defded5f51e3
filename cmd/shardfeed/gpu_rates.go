package main

import (
	"context"
	"errors"
	"time"

	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/term"
	"github.com/shardfeed/shardfeed/gpu"
	"github.com/shardfeed/shardfeed/internal/mem"
)

const (
	probeBytes  = 128 << 20 // copied between two looks at the clock
	probePieces = 4         // queued together, as batches are
	probeRates  = 5         // measured in turn
)

// rates are how fast a device takes and gives memory of the host. What the device does not have is
// 0.
type rates struct {
	PinnedTo     float64 `json:"pinned_to_device_bytes_per_second"`
	PinnedFrom   float64 `json:"pinned_to_host_bytes_per_second"`
	RegisteredTo float64 `json:"registered_to_device_bytes_per_second"`
	PageableTo   float64 `json:"pageable_to_device_bytes_per_second"`
	PageableFrom float64 `json:"pageable_to_host_bytes_per_second"`
	PageLock     float64 `json:"page_lock_seconds_per_gib"` // to allocate it
	Register     float64 `json:"register_seconds_per_gib"`  // the allocations
}

// A probe copies between the host and one device. It closes in the opposite order of opening.
type probe struct {
	ctx    context.Context // of the measurement
	stream gpu.Stream
	event  gpu.Event
	memory gpu.DeviceMemory
	window time.Duration // of one rate
	shown  *term.Progress

	opened []func() error
}

// measureDevice measures for about window in all; nil when that is 0.
func measureDevice(ctx context.Context, dev gpu.Device, window time.Duration, shown *term.Progress) (r *rates, err error) {
	if window == 0 {
		return nil, nil
	}
	p := &probe{ctx: ctx, window: window / probeRates, shown: shown}
	defer func() { err = errors.Join(err, p.close()) }()
	r = &rates{}
	for _, step := range []func(gpu.Device, *rates) error{p.open, p.pinned, p.pageable} {
		if err := step(dev, r); err != nil {
			return nil, err
		}
	}
	return r, nil
}

func (p *probe) open(dev gpu.Device, _ *rates) (err error) {
	if p.memory, err = dev.Alloc(probeBytes); err != nil {
		return err
	}
	p.opened = append(p.opened, p.memory.Free)
	if p.event, err = dev.NewEvent(); err != nil {
		return err
	}
	p.opened = append(p.opened, p.event.Free)
	if p.stream, err = dev.NewStream(); err == nil {
		p.opened = append(p.opened, p.stream.Close)
	}
	return err
}

// close waits for copies under way, which may still use the memory after an error, and frees
// everything.
func (p *probe) close() error {
	var errs []error
	if p.stream != nil {
		errs = append(errs, p.stream.Sync())
	}
	for i := range p.opened {
		errs = append(errs, p.opened[len(p.opened)-1-i]())
	}
	return errors.Join(errs...)
}

// pinned measures memory that the device page-locks as it allocates it.
func (p *probe) pinned(dev gpu.Device, r *rates) error {
	begin := time.Now()
	m, err := dev.AllocHost(probeBytes)
	if err != nil {
		return err
	}
	p.opened = append(p.opened, m.Free)
	if !m.Pinned() {
		return nil
	}
	r.PageLock = perGiB(time.Since(begin))
	return p.rates(m.Bytes(), &r.PinnedTo, &r.PinnedFrom)
}

// pageable measures ordinary memory, before and after it is registered with the device.
func (p *probe) pageable(dev gpu.Device, r *rates) error {
	var pool mem.Pool // a mapping: what is copied beside the host must not be Go's heap
	b := pool.Get(probeBytes)
	p.opened = append(p.opened, func() error {
		pool.Put(b)
		pool.Trim(0)
		return nil
	})
	clear(b) // the first touch of a page is not a part of a copy
	if err := p.rates(b, &r.PageableTo, &r.PageableFrom); err != nil {
		return err
	}
	begin := time.Now()
	unregister, err := dev.Register(b)
	if errors.Is(err, gpu.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return err
	}
	p.opened = append(p.opened, unregister)
	r.Register = perGiB(time.Since(begin))
	return p.rates(b, &r.RegisteredTo, nil)
}

// rates measures copies of b to the device, and back where that is asked for.
func (p *probe) rates(b []byte, to, from *float64) (err error) {
	if *to, err = p.rate(b, p.to); err == nil && from != nil {
		*from, err = p.rate(b, p.from)
	}
	return err
}

func (p *probe) to(b []byte, off int) error { return p.stream.ToDevice(p.memory, off, b) }

func (p *probe) from(b []byte, off int) error { return p.stream.ToHost(b, p.memory, off) }

// rate is the bytes per second at which b is copied, over and over until the window is past.
func (p *probe) rate(b []byte, piece func(b []byte, off int) error) (float64, error) {
	if err := p.round(b, piece); err != nil { // the first time is slower
		return 0, err
	}
	begin, copied := time.Now(), 0
	for shown := begin; ; {
		if err := p.round(b, piece); err != nil {
			return 0, err
		}
		copied += len(b)
		now := time.Now()
		p.shown.Add(int(now.Sub(shown).Milliseconds()))
		shown = now
		if now.Sub(begin) >= p.window || p.ctx.Err() != nil {
			return float64(copied) / now.Sub(begin).Seconds(), p.ctx.Err()
		}
	}
}

// round copies all of b in pieces, and waits for it.
func (p *probe) round(b []byte, piece func(b []byte, off int) error) error {
	n := len(b) / probePieces
	for i := range probePieces {
		if err := piece(b[i*n:(i+1)*n], i*n); err != nil {
			return err
		}
	}
	if err := p.stream.Record(p.event); err != nil {
		return err
	}
	return p.event.Wait()
}

func perGiB(d time.Duration) float64 { return d.Seconds() * (1 << 30) / probeBytes }
