package wire

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	outboxLimit = 2*MaxPayload + 1<<20 // bytes in the queue; more than a correct trainer leaves unread
	spareLimit  = 64 << 10             // bytes in the queue above which spare frames are dropped
)

// errSlow ends a connection whose trainer sends requests and does not read the answers.
var errSlow = errors.New("the trainer does not read the answers to its requests")

// An Outbox writes frames to a trainer and never blocks its callers. What the socket does not take
// at once is queued, and one goroutine writes it when the socket is ready. The slots of the ring
// bound the batches in it.
type Outbox struct {
	link Link

	mu      sync.Mutex
	idle    *sync.Cond
	waiting []parcel
	bytes   int
	writing bool // the goroutine is there
	err     error

	// Arguments and results of try's closure, which is made once.
	try  func(fd uintptr) bool
	now  *parcel
	wait bool
	sent int
	fail error
}

// A parcel is bytes that go out together, with the descriptor that the first of them carries.
type parcel struct {
	data []byte
	file *os.File
}

func NewOutbox(l Link) *Outbox {
	o := &Outbox{link: l}
	o.idle = sync.NewCond(&o.mu)
	o.try = o.sendmsg
	return o
}

// sendmsg sends as much of the current parcel as the socket takes. It reports false to wait for the
// socket.
func (o *Outbox) sendmsg(fd uintptr) bool {
	var rights []byte
	if o.now.file != nil {
		rights = unix.UnixRights(int(o.now.file.Fd()))
	}
	for {
		n, err := unix.SendmsgN(int(fd), o.now.data, rights, nil, unix.MSG_DONTWAIT)
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN || err == unix.ENOBUFS:
			return !o.wait
		case err != nil:
			o.fail = os.NewSyscallError("sendmsg", err)
			return true
		}
		o.sent = n
		return true
	}
}

// push sends once. With wait it waits until the socket takes something.
func (o *Outbox) push(p *parcel, wait bool) error {
	o.now, o.wait, o.sent, o.fail = p, wait, 0, nil
	err := o.link.send(o.try)
	if err == nil {
		err = o.fail
	}
	if o.sent > 0 {
		p.data = p.data[o.sent:]
		p.drop()
	}
	return err
}

func (p *parcel) drop() {
	if p.file != nil {
		_ = p.file.Close() // the receiver has its own
		p.file = nil
	}
}

// Add sends a frame, or queues it. A spare frame is dropped when much is queued already. The caller
// may reuse data when Add returns; the outbox closes file.
func (o *Outbox) Add(data []byte, file *os.File, spare bool) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	p := parcel{data: data, file: file}
	if o.err != nil {
		p.drop()
		return o.err
	}
	for !o.writing && len(p.data) > 0 {
		before := len(p.data)
		if err := o.push(&p, false); err != nil {
			p.drop()
			return o.failLocked(err)
		}
		if len(p.data) == before {
			break
		}
	}
	if len(p.data) == 0 {
		return nil
	}
	if spare && len(p.data) == len(data) && o.bytes > spareLimit {
		return nil
	}
	if o.bytes+len(p.data) > outboxLimit {
		p.drop()
		return o.failLocked(errSlow)
	}
	o.waiting = append(o.waiting, parcel{data: append([]byte(nil), p.data...), file: p.file})
	o.bytes += len(p.data)
	if !o.writing {
		o.writing = true
		go o.drain()
	}
	return nil
}

func (o *Outbox) failLocked(err error) error {
	o.err = err
	for i := range o.waiting {
		o.waiting[i].drop()
	}
	o.waiting, o.bytes = nil, 0
	return err
}

// drain writes the queue, and ends when it is empty.
func (o *Outbox) drain() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.err == nil && len(o.waiting) > 0 {
		p := o.waiting[0]
		size := len(p.data)
		o.waiting = o.waiting[1:]
		o.mu.Unlock()
		err := o.pushAll(p) // exclusively: others only queue while writing is set
		o.mu.Lock()
		if o.err == nil {
			o.bytes -= size
			if err != nil {
				_ = o.failLocked(err)
			}
		}
	}
	o.writing = false
	o.idle.Broadcast()
}

func (o *Outbox) pushAll(p parcel) error {
	defer p.drop()
	for len(p.data) > 0 {
		if err := o.push(&p, true); err != nil {
			return err
		}
	}
	return nil
}

// Finish waits until all is sent, at most until the timeout.
func (o *Outbox) Finish(patience time.Duration) {
	_ = o.link.SetWriteDeadline(time.Now().Add(patience))
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.writing {
		o.idle.Wait()
	}
	if o.err == nil {
		o.err = net.ErrClosed
	}
}
