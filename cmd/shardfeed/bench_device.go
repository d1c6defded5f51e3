package main

import (
	"context"
	"errors"

	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/term"
	"github.com/shardfeed/shardfeed/gpu"
	"github.com/shardfeed/shardfeed/gpu/cuda"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/text"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/loader"
)

type deviceStream struct {
	*gpu.Loader
	device  gpu.Device
	touched toucher
}

// openDeviceStream opens the device that the flags name. With auto it falls back to the host if
// there is no GPU, and notes it.
func (a *app) openDeviceStream(ds *iterable.Dataset, f *flags, o loader.Options) (benched, error) {
	dev, err := cuda.Choose(string(f.device))
	if err != nil {
		return nil, err
	}
	if f.device == "auto" && dev.Info().Type == gpu.CPU {
		a.note("batches stay in this machine's memory: %v", cuda.Available())
	}
	l, err := gpu.New(ds, dev, gpu.Options{Loader: o, Events: gpu.Events{
		Pageable: func(err error) { a.note("copies are slow and hold up the host: %v", err) },
	}})
	if err != nil {
		return nil, errors.Join(err, dev.Close())
	}
	return &deviceStream{Loader: l, device: dev}, nil
}

func (s *deviceStream) each(ctx context.Context, do func(valid int, epoch uint64) (more bool)) error {
	return eachOf(s.Batches(ctx), func(b *gpu.Batch) bool {
		s.touched.touchDevice(b.Bytes, b.Columns)
		valid, epoch := b.Valid, b.State.Epoch
		b.Release()
		return do(valid, epoch)
	})
}

func (s *deviceStream) result(m *measurement) {
	counted, info := s.Stats(), s.device.Info()
	m.DecodedBytes = s.touched.bytes
	m.addStats(counted.Loader)
	m.Wait = deviceWait(m.Wait, counted.Feed.Get, counted.Device.Get)
	m.Device = &deviceUse{
		Name: info.Name, Model: info.Model, PageLocked: counted.Ring.Pinned,
		Copies: counted.Copies, Copied: counted.Copied, HostCopied: counted.HostCopied,
	}
}

// Close also closes the device, after everything that was made on it.
func (s *deviceStream) Close() error { return errors.Join(s.Loader.Close(), s.device.Close()) }

type deviceUse struct {
	Name       string `json:"name"`
	Model      string `json:"model"`
	PageLocked bool   `json:"page_locked"` // all that was copied from
	Copies     int64  `json:"copies"`
	Copied     int64  `json:"copied_bytes"`
	HostCopied int64  `json:"host_copied_bytes"` // on the host, after collation
}

func (u *deviceUse) report(r *term.Report, seconds float64) {
	if u == nil {
		return
	}
	r.Section("device")
	r.Fact("name", "%s, %s", u.Name, u.Model)
	from := "ordinary memory"
	if u.PageLocked {
		from = "page-locked memory"
	}
	r.Fact("copied", "%v from %s in %s, %.3g GB/s", mem.Bytes(u.Copied), from, text.Plural(u.Copies, "copy"), float64(u.Copied)/1e9/seconds)
	again := "nothing"
	if u.HostCopied > 0 {
		again = mem.Bytes(u.HostCopied).String()
	}
	r.Fact("copied on the host", "%s after collation", again)
}
