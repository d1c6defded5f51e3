package main

import (
	"fmt"
	"strconv"
	"strings"
)

// A deviceName is a flag that names a device: auto, host, cuda or cuda:N.
type deviceName string

func (d *deviceName) Set(s string) error {
	number, indexed := strings.CutPrefix(s, "cuda:")
	if indexed {
		if _, err := strconv.ParseUint(number, 10, 15); err != nil {
			return fmt.Errorf("must be cuda:N with N from 0, got %q", s)
		}
	} else if s != "auto" && s != "host" && s != "cuda" {
		return fmt.Errorf("must be auto, host, cuda or cuda:N, got %q", s)
	}
	*d = deviceName(s)
	return nil
}

func (d *deviceName) String() string { return string(*d) }

func (d *deviceName) Type() string { return "device" }
