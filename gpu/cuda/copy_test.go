//go:build linux && (amd64 || arm64) && !nocuda

package cuda

import (
	"bytes"
	"testing"

	"github.com/shardfeed/shardfeed/gpu"
	"github.com/shardfeed/shardfeed/internal/fakecuda"
)

// openFake opens a device of the fake driver.
func openFake(t *testing.T) (*fakecuda.Fake, *Device) {
	t.Helper()
	f := fakecuda.Open(t)
	driver, err := Load(Options{Library: f.Library})
	if err != nil {
		t.Fatal(err)
	}
	dev, err := driver.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dev.Close(); err != nil {
			t.Error(err)
		}
	})
	return f, dev
}

func TestRoundTrip(t *testing.T) {
	f, dev := openFake(t)
	host, err := dev.AllocHost(1 << 20)
	check(t, err)
	there, err := dev.Alloc(1 << 20)
	check(t, err)
	s, err := dev.NewStream()
	check(t, err)
	e, err := dev.NewEvent()
	check(t, err)
	for i := range host.Bytes() {
		host.Bytes()[i] = byte(i * 7)
	}
	want := bytes.Clone(host.Bytes())
	check(t, s.ToDevice(there, 0, host.Bytes()))
	check(t, s.Record(e))
	check(t, e.Wait())
	clear(host.Bytes())
	check(t, s.ToHost(host.Bytes(), there, 0))
	check(t, s.Sync())
	if !bytes.Equal(host.Bytes(), want) {
		t.Error("another content came back")
	}
	t.Logf("%+v %+v", dev.Info(), f.Counts())
	check(t, e.Free(), s.Close(), there.Free(), host.Free())
	var _ gpu.Device = dev
}

func check(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}
