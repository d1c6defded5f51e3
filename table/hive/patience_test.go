package hive

import (
	"testing"
	"time"
)

// Only the first answer is due soon, unless the options give a time.
func TestPatience(t *testing.T) {
	for _, c := range []struct {
		m    metastore
		want time.Duration
	}{
		{metastore{}, time.Minute},
		{metastore{calls: 1}, 10 * time.Minute},
		{metastore{timeout: time.Second}, time.Second},
		{metastore{timeout: time.Hour, calls: 1}, time.Hour},
	} {
		if got := c.m.patience(); got != c.want {
			t.Errorf("after %d calls with the option %v: %v, want %v", c.m.calls, c.m.timeout, got, c.want)
		}
	}
}
