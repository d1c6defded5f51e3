package main

import (
	"errors"
	"strings"
)

// lost is the error by which a device was lost, without those of giving back what it had: each of
// them repeats it. Other errors stay as they are.
func lost(err error) error {
	var device interface{ Lost() bool }
	if !errors.As(err, &device) || !device.Lost() {
		return err
	}
	for {
		joined, ok := err.(interface{ Unwrap() []error })
		if !ok {
			return err
		}
		first := joined.Unwrap()[0]
		if !strings.HasPrefix(err.Error()+"\n", first.Error()+"\n") { // a message of its own around several errors
			return err
		}
		err = first
	}
}
