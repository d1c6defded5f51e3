package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/size"
)

// A byteSize is a flag that is a number of bytes.
type byteSize int64

func (b *byteSize) Set(s string) error {
	n, err := size.Bytes(s)
	*b = byteSize(n)
	return err
}

func (b *byteSize) String() string {
	if *b == 0 {
		return ""
	}
	return mem.Bytes(*b).String()
}

func (b *byteSize) Type() string { return "size" }

// A specText is a flag whose text the spec checks.
type specText struct {
	text *string
	kind string
}

func (t *specText) Set(s string) error {
	*t.text = s
	return nil
}

func (t *specText) String() string { return *t.text }

func (t *specText) Type() string { return t.kind }

// A storageText is a flag that sets an option of stores.
type storageText struct {
	all *map[string]string
	key string
}

func (t *storageText) Set(s string) error {
	if *t.all == nil {
		*t.all = map[string]string{}
	}
	(*t.all)[t.key] = s
	return nil
}

func (t *storageText) String() string {
	if t.all == nil {
		return ""
	}
	return (*t.all)[t.key]
}

func (t *storageText) Type() string { return "string" }

// An age is a flag that is a time: 7d, 36h or 90m.
type age time.Duration

func (a *age) Set(s string) error {
	d, err := size.Age(s)
	*a = age(d)
	return err
}

func (a *age) String() string {
	if *a == 0 {
		return ""
	}
	return time.Duration(*a).String()
}

func (a *age) Type() string { return "age" }

// A deviceName is a flag that names a device: auto, host, cuda or cuda:N.
type deviceName string

var deviceNames = []string{"auto", "host", "cuda", "cuda:0"}

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

// A rowLimit is a flag that is a number of rows, or not given.
type rowLimit struct {
	given bool
	rows  int64
}

func (l *rowLimit) Set(s string) error {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return fmt.Errorf("must be a number of rows of at least 0, got %q", s)
	}
	*l = rowLimit{given: true, rows: n}
	return nil
}

func (l *rowLimit) String() string {
	if !l.given {
		return ""
	}
	return strconv.FormatInt(l.rows, 10)
}

func (l *rowLimit) Type() string { return "rows" }

// left is how many of n rows may still come after done rows.
func (l *rowLimit) left(done, n int64) int64 {
	if !l.given {
		return n
	}
	return max(0, min(n, l.rows-done))
}
