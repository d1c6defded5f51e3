package cores_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/shardfeed/shardfeed/internal/cores"
)

// The first look tells nothing; later ones tell no more than there are processors, where the system
// says.
func TestIdleMeter(t *testing.T) {
	var m cores.IdleMeter
	if _, ok := m.Read(); ok {
		t.Error("the first look tells what was idle before it")
	}
	time.Sleep(50 * time.Millisecond)
	idle, ok := m.Read()
	if !ok {
		t.Skip("this system does not tell what is idle")
	}
	if most := float64(runtime.NumCPU()) + 1; idle < 0 || idle > most { // times are in hundredths of a second
		t.Errorf("%v processors are idle, of %d", idle, runtime.NumCPU())
	}
}
