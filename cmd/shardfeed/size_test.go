package main

import (
	"fmt"
	"testing"
)

func TestBufferSize(t *testing.T) {
	cases := []struct {
		text string
		want bufferSize
		bad  bool
	}{
		{"100000", bufferSize{rows: 100000}, false},
		{"512MiB", bufferSize{bytes: 512 << 20}, false},
		{"100b", bufferSize{bytes: 100}, false},
		{"0", bufferSize{}, true},
		{"0MiB", bufferSize{}, true},
		{"many", bufferSize{}, true},
	}
	for _, c := range cases {
		t.Run(fmt.Sprintf("%q", c.text), func(t *testing.T) {
			var b bufferSize
			err := b.Set(c.text)
			if (err != nil) != c.bad || b.rows != c.want.rows || b.bytes != c.want.bytes {
				t.Errorf("%q: got %+v, %v", c.text, b, err)
			}
		})
	}
}
