package shard

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// Guard runs code that touches bytes lent by View. A mapped file that shrinks, or whose disk fails, faults at that touch; Guard turns the
// fault into an error that wraps ErrChanged. Other panics pass on. The promise holds for the calling goroutine alone, so f starts no other
// that touches the bytes.
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

// addressError is how the runtime describes a fault at an address that is not nil's; see debug.SetPanicOnFault.
type addressError interface {
	runtime.Error
	Addr() uintptr
}

// Use runs f, which touches bytes that o lent, inside Guard, and then makes sure that o's shard is still the version that was opened. A
// change wins over f's own error: bytes that changed while f read them look corrupt.
func Use(o Object, f func() error) error {
	err := Guard(f)
	if changed := Check(o); changed != nil {
		return changed
	}
	return err
}
