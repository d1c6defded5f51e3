package gpu_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/shardfeed/shardfeed/gpu"
)

// late is a device whose streams do everything late, in a goroutine each: what is written too
// early, or freed, is a wrong byte, a data race or a violation. Its memory is page-locked by its
// own word.
type late struct {
	mu         sync.Mutex
	pause      time.Duration // before each copy
	faults     map[string]*fault
	left       map[string]int
	violations []string
	closed     bool
}

// A fault is the error of an operation's nth call from now on; with nth 0, of all.
type fault struct {
	nth int
	err error
}

var errFault = errors.New("injected")

// newLate returns a device that fails its test when something breaks a rule, or is left at the end.
func newLate(t testing.TB) *late {
	d := &late{faults: map[string]*fault{}, left: map[string]int{}, pause: 50 * time.Microsecond}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
		for _, v := range d.violations {
			t.Error("violation:", v)
		}
	})
	return d
}

// fail makes an operation fail.
func (d *late) fail(op string, nth int, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil {
		delete(d.faults, op)
		return
	}
	d.faults[op] = &fault{nth: nth, err: err}
}

// begin is called by each operation; come and go count what it gives or takes.
func (d *late) begin(op, kind string, n int) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if f := d.faults[op]; f != nil {
		if f.nth == 0 {
			return f.err
		}
		if f.nth--; f.nth == 0 {
			delete(d.faults, op)
			return f.err
		}
	}
	d.left[kind] += n
	return nil
}

func (d *late) violate(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.violations = append(d.violations, fmt.Sprintf(format, args...))
}

func (d *late) Info() gpu.Info { return gpu.Info{Name: "late:0", Type: gpu.CUDA, Node: -1} }

func (d *late) AllocHost(n int) (gpu.HostMemory, error) {
	if err := d.begin("alloc host", "host memory", 1); err != nil {
		return nil, err
	}
	return newLateMemory(d, "host memory", n), nil
}

func (d *late) Register([]byte) (func() error, error) { return nil, gpu.ErrUnsupported }

func (d *late) Alloc(n int) (gpu.DeviceMemory, error) {
	if err := d.begin("alloc", "device memory", 1); err != nil {
		return nil, err
	}
	return newLateMemory(d, "device memory", n), nil
}

func (d *late) NewStream() (gpu.Stream, error) {
	if err := d.begin("stream", "stream", 1); err != nil {
		return nil, err
	}
	s := &lateStream{device: d, work: make(chan func(), 1<<10)}
	s.group.Go(func() {
		for f := range s.work {
			f()
		}
	})
	return s, nil
}

func (d *late) NewEvent() (gpu.Event, error) {
	if err := d.begin("event", "event", 1); err != nil {
		return nil, err
	}
	passed := make(chan struct{})
	close(passed)
	return &lateEvent{device: d, passed: passed}, nil
}

// Close says what is left.
func (d *late) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil
	}
	d.closed = true
	var errs []error
	for kind, n := range d.left {
		if n != 0 {
			errs = append(errs, fmt.Errorf("late: %d of %s left", n, kind))
		}
	}
	return errors.Join(errs...)
}

// delay makes each copy so late.
func (d *late) delay(by time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pause = by
}

// forgive forgets what is left and what broke a rule.
func (d *late) forgive() {
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.faults)
	clear(d.left)
	d.violations = nil
}

// lateMemory is filled with other bytes when it is freed.
type lateMemory struct {
	device *late
	kind   string
	mu     sync.Mutex // of freed
	freed  bool
	b      []byte
}

func newLateMemory(d *late, kind string, n int) *lateMemory {
	b := make([]byte, n+256)
	skip := int(-uintptr(unsafe.Pointer(&b[0])) & 255)
	b = b[skip : skip+n : skip+n]
	for i := range b {
		b[i] = 0xaa
	}
	return &lateMemory{device: d, kind: kind, b: b}
}

func (m *lateMemory) Bytes() []byte    { return m.b }
func (m *lateMemory) Pinned() bool     { return true }
func (m *lateMemory) Len() int         { return len(m.b) }
func (m *lateMemory) Pointer() uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(m.b))) }

func (m *lateMemory) Free() error {
	if err := m.device.begin("free "+m.kind, "", 0); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.freed {
		m.device.violate("%s freed twice", m.kind)
		return nil
	}
	m.freed = true
	_ = m.device.begin("", m.kind, -1)
	for i := range m.b {
		m.b[i] = 0xdd
	}
	return nil
}

func (m *lateMemory) gone() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.freed
}

type lateStream struct {
	device *late
	work   chan func()
	group  sync.WaitGroup
	closed bool
}

func (s *lateStream) copy(dst, src []byte, m *lateMemory) {
	s.work <- func() {
		s.device.mu.Lock()
		pause := s.device.pause
		s.device.mu.Unlock()
		time.Sleep(pause)
		if m.gone() {
			s.device.violate("a copy of %s that was freed", m.kind)
		}
		copy(dst, src)
	}
}

func (s *lateStream) ToDevice(dst gpu.DeviceMemory, off int, src []byte) error {
	if err := s.device.begin("copy", "", 0); err != nil {
		return err
	}
	m := dst.(*lateMemory)
	s.copy(m.b[off:off+len(src)], src, m)
	return nil
}

func (s *lateStream) ToHost(dst []byte, src gpu.DeviceMemory, off int) error {
	m := src.(*lateMemory)
	s.copy(dst, m.b[off:off+len(dst)], m)
	return nil
}

func (s *lateStream) Record(e gpu.Event) error {
	if err := s.device.begin("record", "", 0); err != nil {
		return err
	}
	passed := make(chan struct{})
	e.(*lateEvent).set(passed)
	s.work <- func() { close(passed) }
	return nil
}

func (s *lateStream) Await(e gpu.Event) error {
	if err := s.device.begin("await", "", 0); err != nil {
		return err
	}
	passed := e.(*lateEvent).get()
	s.work <- func() { <-passed }
	return nil
}

func (s *lateStream) Sync() error {
	done := make(chan struct{})
	s.work <- func() { close(done) }
	<-done
	return s.device.begin("sync", "", 0)
}

func (s *lateStream) Close() error {
	if s.closed {
		s.device.violate("stream closed twice")
		return nil
	}
	s.closed = true
	close(s.work)
	s.group.Wait()
	return s.device.begin("close stream", "stream", -1)
}

type lateEvent struct {
	device *late
	mu     sync.Mutex
	passed chan struct{}
	freed  bool
}

func (e *lateEvent) set(passed chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.freed {
		e.device.violate("event recorded that was freed")
	}
	e.passed = passed
}

func (e *lateEvent) get() chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.passed
}

func (e *lateEvent) Done() (bool, error) {
	select {
	case <-e.get():
		return true, nil
	default:
		return false, nil
	}
}

func (e *lateEvent) Wait() error {
	if err := e.device.begin("wait", "", 0); err != nil {
		return err
	}
	<-e.get()
	return nil
}

func (e *lateEvent) Free() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.freed {
		e.device.violate("event freed twice")
		return nil
	}
	e.freed = true
	return e.device.begin("free event", "event", -1)
}
