package gpu

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"unsafe"

	"github.com/shardfeed/shardfeed/internal/mem"
)

// OpenHost returns the host as a device: for programs without a GPU, and for tests. Its memory is
// mapped, outside of Go's heap, and not page-locked. A stream does what it is given before its
// method returns, so its events have always passed.
func OpenHost() Device { return &host{} }

// host counts what it has given, so that Close can report leaks.
type host struct {
	memories, bytes, streams, events atomic.Int64
}

func (h *host) Info() Info {
	return Info{Name: "host", Model: runtime.GOARCH, Memory: mem.ThisMachine().Installed, Node: -1, Type: CPU}
}

func (h *host) AllocHost(n int) (HostMemory, error) { return h.alloc(n) }

func (h *host) Register([]byte) (unregister func() error, err error) { return nil, ErrUnsupported }

func (h *host) Alloc(n int) (DeviceMemory, error) { return h.alloc(n) }

func (h *host) alloc(n int) (*hostMemory, error) {
	if n <= 0 {
		return nil, fmt.Errorf("gpu: host: %d is not a number of bytes to allocate", n)
	}
	m, err := mapHost(n)
	if err != nil {
		return nil, err
	}
	h.bytes.Add(int64(n))
	m.of, m.given = h, give(&h.memories)
	return m, nil
}

func (h *host) NewStream() (Stream, error) { return &hostStream{of: h, given: give(&h.streams)}, nil }

func (h *host) NewEvent() (Event, error) { return &hostEvent{give(&h.events)}, nil }

func (h *host) Close() error {
	memories, streams, events := h.memories.Load(), h.streams.Load(), h.events.Load()
	if memories == 0 && streams == 0 && events == 0 {
		return nil
	}
	return fmt.Errorf("gpu: host: closed with %d memories of %v, %d streams and %d events not freed",
		memories, mem.Bytes(h.bytes.Load()), streams, events)
}

// given is something that is counted until it is freed.
type given struct{ count *atomic.Int64 }

func give(count *atomic.Int64) given {
	count.Add(1)
	return given{count}
}

func (g *given) Free() error {
	if g.count == nil {
		return errors.New("gpu: host: freed before")
	}
	g.count.Add(-1)
	g.count = nil
	return nil
}

// hostMemory is memory of the host outside of Go's heap, for either side of a copy.
type hostMemory struct {
	given
	of    *host // nil: no device has given it
	b     []byte
	unmap func()
}

// mapHost maps n bytes that no device counts.
func mapHost(n int) (*hostMemory, error) {
	b, unmap, err := mem.Map(n)
	if err != nil {
		return nil, fmt.Errorf("%w: %v of the host: %w", ErrOutOfMemory, mem.Bytes(n), err)
	}
	return &hostMemory{given: give(new(atomic.Int64)), b: b, unmap: unmap}, nil
}

func (m *hostMemory) Bytes() []byte { return m.b }

func (m *hostMemory) Pinned() bool { return false }

func (m *hostMemory) Pointer() uintptr { return address(m.b) }

func (m *hostMemory) Len() int { return len(m.b) }

func (m *hostMemory) Free() error {
	if err := m.given.Free(); err != nil {
		return err
	}
	if m.of != nil {
		m.of.bytes.Add(-int64(len(m.b)))
	}
	m.unmap()
	m.b = nil
	return nil
}

// address returns the address of b.
func address(b []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(b))) }

// at returns n bytes of this device's memory from off on.
func (h *host) at(m DeviceMemory, off, n int) ([]byte, error) {
	own, ok := m.(*hostMemory)
	if !ok || own.of != h {
		return nil, errors.New("gpu: host: memory of another device")
	}
	if off < 0 || n > len(own.b)-off {
		return nil, fmt.Errorf("gpu: host: bytes %d to %d of a memory of %d", off, off+n, len(own.b))
	}
	return own.b[off : off+n], nil
}

type hostStream struct {
	given
	of *host
}

func (s *hostStream) ToDevice(dst DeviceMemory, off int, src []byte) error {
	b, err := s.of.at(dst, off, len(src))
	copy(b, src)
	return err
}

func (s *hostStream) ToHost(dst []byte, src DeviceMemory, off int) error {
	b, err := s.of.at(src, off, len(dst))
	copy(dst, b)
	return err
}

func (s *hostStream) Record(Event) error { return nil }

func (s *hostStream) Await(Event) error { return nil }

func (s *hostStream) Sync() error { return nil }

func (s *hostStream) Close() error { return s.Free() }

type hostEvent struct{ given }

func (e *hostEvent) Done() (bool, error) { return true, nil }

func (e *hostEvent) Wait() error { return nil }
