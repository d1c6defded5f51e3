package ahead

import (
	"fmt"
	"testing"
)

func TestFetchers(t *testing.T) {
	for _, c := range []struct{ asked, liked, want int }{{0, 0, 4}, {0, 1, 1}, {0, 32, 32}, {0, 500, 64}, {7, 0, 7}, {100, 32, 100}} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			if got := Fetchers(c.asked, c.liked); got != c.want {
				t.Errorf("%d asked, %d liked: %d fetchers, want %d", c.asked, c.liked, got, c.want)
			}
		})
	}
	for _, c := range []struct {
		copied   bool
		fetchers int
		load     int64
		want     int
	}{
		{false, 4, 1 << 20, 0},
		{true, 4, 1 << 20, 4},
		{true, 64, 0, 64},
		{true, 64, 1 << 20, 64},
		{true, 64, 64 << 20, 9},
		{false, 64, 1 << 40, 1},
		{true, 16, 8 << 20, 16},
	} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			if got := FetchesAhead(c.fetchers, c.copied, c.load); got != c.want {
				t.Errorf("%d fetchers, loads of %d bytes: %d ahead, want %d", c.fetchers, c.load, got, c.want)
			}
		})
	}
}
