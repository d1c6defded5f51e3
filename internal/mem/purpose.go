package mem

import (
	"fmt"
	"strings"
)

// A Purpose names a use of a stream's memory.
type Purpose uint8

const (
	Fetch   Purpose = iota // encoded bytes: read, or mapped and not yet dropped
	Decode                 // decoded blocks on their way to the shuffle buffer
	Shuffle                // decoded blocks in the shuffle buffer
	Batch                  // collated batches
	Ring                   // shared memory between engine and trainer
	Store                  // what the stores below hold: bytes on their way to a cache, footers and dictionaries kept in memory
	Scratch                // what makes batches of rows holds beside them: decoders of images

	purposes = iota
)

var purposeNames = [purposes]string{"fetch", "decode", "shuffle", "batch", "ring", "store", "scratch"}

func (p Purpose) String() string { return purposeNames[p] }

// room is the first of the purposes that share p's room.
func (p Purpose) room() Purpose {
	if p == Shuffle {
		return Decode
	}
	return p
}

// Amounts is bytes by purpose.
type Amounts [purposes]int64

// Total is the sum over the purposes.
func (a Amounts) Total() int64 {
	var n int64
	for _, v := range a {
		n += v
	}
	return n
}

// String lists the purposes that are not zero, as in "fetch 12.0 MiB, shuffle 1.5 GiB".
func (a Amounts) String() string {
	var parts []string
	for i, v := range a {
		if v != 0 {
			parts = append(parts, fmt.Sprintf("%s %s", Purpose(i), Bytes(v)))
		}
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

// Bytes prints a number of bytes as people read it.
type Bytes int64

func (n Bytes) String() string {
	if n < 0 {
		return "-" + (-n).String()
	}
	if n < 1<<10 {
		return fmt.Sprintf("%d B", int64(n))
	}
	units := []string{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"}
	v, u := float64(n)/1024, 0
	for v >= 1023.95 && u < len(units)-1 {
		v, u = v/1024, u+1
	}
	return fmt.Sprintf("%.1f %s", v, units[u])
}
