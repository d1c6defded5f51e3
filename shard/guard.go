package shard

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// Guard runs code that reads the bytes of a lease. Reading a mapped file that shrinks, or whose
// disk fails, faults; Guard turns the fault into an error that wraps ErrChanged. Other panics pass
// through. Guard only protects the calling goroutine, so f must not read the bytes in others.
func Guard(f func() error) (err error) {
	old := debug.SetPanicOnFault(true)
	defer func() {
		debug.SetPanicOnFault(old)
		if r := recover(); r != nil {
			fault, ok := r.(addressError)
			if !ok {
				panic(r)
			}
			err = fmt.Errorf("%w: its mapped bytes cannot be read any more (fault at %#x)", ErrChanged, fault.Addr())
		}
	}()
	return f()
}

// addressError is the runtime's error of a fault at an address that is not nil's.
type addressError interface {
	runtime.Error
	Addr() uintptr
}

// Use runs f, which touches the bytes of a lease, inside Guard, and then makes sure that the shard
// is still the version that was opened. A change wins over f's own error: bytes that changed while
// f read them look corrupt.
func Use(l Lease, f func() error) error {
	err := Guard(f)
	if changed := l.Verify(Span{}); changed != nil {
		return changed
	}
	return err
}
