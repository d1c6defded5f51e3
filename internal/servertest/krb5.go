package servertest

import (
	"testing"
)

// A KDC is a real Kerberos key distribution center on loopback.
type KDC struct {
	Config string // path of krb5.conf
}

func (k *KDC) hadoop() map[string]string { return nil }
func (k *KDC) javaEnv() []string         { return nil }

var _ testing.TB
