package cuda

import (
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"

	"github.com/shardfeed/shardfeed/gpu"
)

// cuStream is a stream of ours, or one of other code that is borrowed.
type cuStream struct {
	device *Device
	handle uintptr
	own    bool
	closed atomic.Bool
}

// NewStream returns a stream that does not wait for the process's stream 0.
func (d *Device) NewStream() (gpu.Stream, error) {
	s := &cuStream{device: d, own: true}
	if err := d.take(ownStream, &d.driver.api.streamCreate, uintptr(unsafe.Pointer(&s.handle)), streamNonBlocking); err != nil {
		return nil, err
	}
	return s, nil
}

// Stream is a stream of other code (a cudaStream_t or CUstream of the device's primary context; 0
// is the default one) as a gpu.Stream. Its Close leaves the stream as it is.
func (d *Device) Stream(handle uintptr) gpu.Stream { return &cuStream{device: d, handle: handle} }

// ToDevice queues a copy. The source may also be memory that is not page-locked, as long as it is
// not Go's: the driver copies that by way of a buffer of its own, and mostly lets the caller wait
// for it.
func (s *cuStream) ToDevice(dst gpu.DeviceMemory, off int, src []byte) error {
	copyTo := &s.device.driver.api.memcpyHtoDAsync
	p, err := s.place(copyTo.op, dst, off, len(src))
	if err != nil || len(src) == 0 {
		return err
	}
	return s.device.do(copyTo, p, uintptr(unsafe.Pointer(unsafe.SliceData(src))), uintptr(len(src)), s.handle)
}

// ToHost queues a copy the other way.
func (s *cuStream) ToHost(dst []byte, src gpu.DeviceMemory, off int) error {
	copyFrom := &s.device.driver.api.memcpyDtoHAsync
	p, err := s.place(copyFrom.op, src, off, len(dst))
	if err != nil || len(dst) == 0 {
		return err
	}
	return s.device.do(copyFrom, uintptr(unsafe.Pointer(unsafe.SliceData(dst))), p, uintptr(len(dst)), s.handle)
}

// place is the address of n bytes at off of memory of the stream's device.
func (s *cuStream) place(op string, m gpu.DeviceMemory, off, n int) (uintptr, error) {
	if err := s.open(op); err != nil {
		return 0, err
	}
	if own, ok := m.(*deviceMemory); ok && own.device.context != s.device.context {
		return 0, misuse(op, "memory of %s on a stream of %s", own.device.info.Name, s.device.info.Name)
	}
	p := m.Pointer()
	if p == 0 {
		return 0, misuse(op, "the device's memory was freed")
	}
	if off < 0 || off > m.Len() || n > m.Len()-off {
		return 0, misuse(op, "%d bytes at %d are not within the %d there are", n, off, m.Len())
	}
	return p + uintptr(off), nil
}

// Record signals e once all work queued so far completes.
func (s *cuStream) Record(e gpu.Event) error { return s.with(&s.device.driver.api.eventRecord, e) }

// Await lets what the stream is given from now on wait for e, which may be another device's.
func (s *cuStream) Await(e gpu.Event) error { return s.with(&s.device.driver.api.streamWaitEvent, e) }

// with calls a function of a stream and an event. Their order differs; the wait has flags, 0.
func (s *cuStream) with(f *function, e gpu.Event) error {
	if err := s.open(f.op); err != nil {
		return err
	}
	own, ok := e.(*cuEvent)
	if !ok {
		return misuse(f.op, "an event of another device: %T", e)
	}
	if own.freed.Load() {
		return misuse(f.op, "the event was freed")
	}
	if f == &s.device.driver.api.eventRecord {
		return s.device.do(f, own.handle, s.handle)
	}
	return s.device.do(f, s.handle, own.handle, 0)
}

// Sync waits until all is done.
func (s *cuStream) Sync() error {
	sync := &s.device.driver.api.streamSynchronize
	if err := s.open(sync.op); err != nil {
		return err
	}
	return s.device.do(sync, s.handle)
}

func (s *cuStream) open(op string) error {
	if s.closed.Load() {
		return fmt.Errorf("cuda: %s: the stream: %w", op, gpu.ErrClosed)
	}
	return nil
}

// Close waits until all is done: the driver itself would return at once, and go on reading what the
// caller frees next.
func (s *cuStream) Close() error {
	if s.closed.Swap(true) || !s.own {
		return nil
	}
	d := s.device
	return errors.Join(d.do(&d.driver.api.streamSynchronize, s.handle), d.give(ownStream, &d.driver.api.streamDestroy, s.handle))
}

// cuEvent is an event of ours.
type cuEvent struct {
	device *Device
	handle uintptr
	freed  atomic.Bool
}

// NewEvent returns an event that lets those who wait for it sleep.
func (d *Device) NewEvent() (gpu.Event, error) {
	e := &cuEvent{device: d}
	if err := d.take(ownEvent, &d.driver.api.eventCreate, uintptr(unsafe.Pointer(&e.handle)), eventBlockingSync|eventDisableTiming); err != nil {
		return nil, err
	}
	return e, nil
}

// Done reports whether the event has passed.
func (e *cuEvent) Done() (bool, error) {
	err := e.ask(&e.device.driver.api.eventQuery)
	if code := (*Error)(nil); errors.As(err, &code) && code.Code == codeNotReady {
		return false, nil
	}
	return err == nil, err
}

// Wait sleeps until the event has passed. It holds a thread for that long, so one goroutine should
// wait for many events, in order.
func (e *cuEvent) Wait() error { return e.ask(&e.device.driver.api.eventSynchronize) }

func (e *cuEvent) ask(f *function) error {
	if e.freed.Load() {
		return misuse(f.op, "the event was freed")
	}
	return e.device.do(f, e.handle)
}

// Free gives the event back; one that has not passed yet goes when it does.
func (e *cuEvent) Free() error {
	if e.freed.Swap(true) {
		return nil
	}
	return e.device.give(ownEvent, &e.device.driver.api.eventDestroy, e.handle)
}
