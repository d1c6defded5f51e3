// Package leaktest ends a package's tests with a check that no goroutine was left behind.
package leaktest

import (
	"testing"

	"go.uber.org/goleak"
)

// Main runs the tests of a package and fails it when goroutines outlive them. Call it from
// TestMain.
func Main(m *testing.M) {
	goleak.VerifyTestMain(m)
}
