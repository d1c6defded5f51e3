package servertest

import (
	"errors"
	"net"
	"syscall"
	"testing"
)

func TestNobody(t *testing.T) {
	c, err := net.Dial("tcp", Nobody(t))
	if err == nil {
		c.Close()
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("somebody listens: %v", err)
	}
}
