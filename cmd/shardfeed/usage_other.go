//go:build !linux && !darwin

package main

import (
	"errors"
	"time"
)

func peakRSS() int64 { return 0 }

func cpuTime() (user, system time.Duration) { return 0, 0 }

func lockLimit() (int64, error) { return 0, errors.ErrUnsupported }

func fileLimit() (int64, error) { return 0, errors.ErrUnsupported }

func freeBytes(string) int64 { return 0 }

func writable(string) bool { return true }
