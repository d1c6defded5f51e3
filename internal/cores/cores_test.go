package cores_test

import (
	"runtime"
	"testing"

	"github.com/shardfeed/shardfeed/internal/cores"
	"github.com/shardfeed/shardfeed/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func TestKeepInC(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	if n := cores.Number(); n != before {
		t.Errorf("%d cores, GOMAXPROCS is %d", n, before)
	}
	for range 2 { // again changes nothing
		cores.KeepInC()
		if n, now := cores.Number(), runtime.GOMAXPROCS(0); n != before || now != 2*before {
			t.Errorf("%d cores and GOMAXPROCS %d, it was %d", n, now, before)
		}
	}
	runtime.GOMAXPROCS(before + 1) // a program of its own mind
	defer runtime.GOMAXPROCS(before)
	if n := cores.Number(); n != 1 {
		t.Errorf("%d cores", n)
	}
}
