package servertest

import (
	"errors"
	"net"
	"syscall"
	"testing"
)

func TestNoListener(t *testing.T) {
	c, err := net.Dial("tcp", NoListener(t))
	if err == nil {
		c.Close()
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("somebody listens: %v", err)
	}
}
