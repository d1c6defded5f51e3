package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

const maxDays = 100 * 365 // older than any cache

// An age is a flag that is a time: 7d, 36h or 90m.
type age time.Duration

func (a *age) Set(s string) error {
	d, err := time.ParseDuration(s)
	if days, ok := strings.CutSuffix(s, "d"); ok {
		var n float64
		if n, err = strconv.ParseFloat(days, 64); n > 0 {
			d = time.Duration(min(n, maxDays) * 24 * float64(time.Hour))
		}
	}
	if err != nil || d <= 0 {
		return fmt.Errorf("must be days, hours or minutes, as in 7d, 36h or 90m, got %q", s)
	}
	*a = age(d)
	return nil
}

func (a *age) String() string {
	if *a == 0 {
		return ""
	}
	return time.Duration(*a).String()
}

func (a *age) Type() string { return "age" }
