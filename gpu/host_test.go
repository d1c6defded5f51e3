package gpu_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/shardfeed/shardfeed/gpu"
)

// The host as a device: what it gives, what it refuses, and what it says is left.
func TestHost(t *testing.T) {
	d, other := gpu.OpenHost(), gpu.OpenHost()
	if i := d.Info(); i.Name != "host" || i.Type != gpu.CPU || i.Node != -1 {
		t.Errorf("got %+v", i)
	}
	if _, err := d.Register(make([]byte, 1)); !errors.Is(err, gpu.ErrUnsupported) {
		t.Errorf("got %v", err)
	}
	if _, err := d.Alloc(0); err == nil {
		t.Error("0 bytes were allocated")
	}
	host, err := d.AllocHost(1000)
	if err != nil {
		t.Fatal(err)
	}
	m, err := d.Alloc(1000)
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := other.Alloc(10)
	if err != nil {
		t.Fatal(err)
	}
	s, err := d.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	e, err := d.NewEvent()
	if err != nil {
		t.Fatal(err)
	}
	if host.Pinned() || m.Len() != 1000 || m.Pointer()%256 != 0 {
		t.Errorf("pinned %t, %d bytes at %x", host.Pinned(), m.Len(), m.Pointer())
	}
	src := bytes.Repeat([]byte{7}, 100)
	copy(host.Bytes(), src)
	for _, err := range []error{
		s.ToDevice(m, 900, host.Bytes()[:100]), s.ToHost(host.Bytes()[500:600], m, 900), s.Record(e), s.Await(e), e.Wait(), s.Sync(),
	} {
		if err != nil {
			t.Error(err)
		}
	}
	if done, err := e.Done(); !done || err != nil || !bytes.Equal(host.Bytes()[500:600], src) {
		t.Errorf("%t, %v, %v", done, err, host.Bytes()[500:600])
	}
	for _, err := range []error{s.ToDevice(m, 901, src), s.ToDevice(m, -1, src), s.ToHost(src, m, 1000), s.ToDevice(foreign, 0, src[:1])} {
		if err == nil {
			t.Error("bytes beyond the memory were copied")
		}
	}
	if err := d.Close(); err == nil || !strings.Contains(err.Error(), "2 memories of 2.0 KiB, 1 streams and 1 events not freed") {
		t.Errorf("closed with %v", err)
	}
	for _, free := range []func() error{host.Free, m.Free, s.Close, e.Free, foreign.Free} {
		if err := free(); err != nil {
			t.Error(err)
		}
		if err := free(); err == nil {
			t.Error("freed twice")
		}
	}
	if err := errors.Join(d.Close(), d.Close(), other.Close()); err != nil {
		t.Error(err)
	}
}
