package wire

import (
	"os"
	"testing"
)

func TestPeer(t *testing.T) {
	here, _ := pair(t)
	if p, err := CheckPeer(here); err != nil || p.PID != os.Getpid() || p.uid != os.Getuid() {
		t.Errorf("%+v, error %v", p, err)
	}
}
