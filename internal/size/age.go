package size

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

const maxDays = 100 * 365 // older than any cache

// Age reads 7d, 36h or 90m: a time above 0.
func Age(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if days, ok := strings.CutSuffix(s, "d"); ok {
		var n float64
		if n, err = strconv.ParseFloat(days, 64); n > 0 {
			d = time.Duration(min(n, maxDays) * 24 * float64(time.Hour))
		}
	}
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("must be days, hours or minutes, as in 7d, 36h or 90m, got %q", s)
	}
	return d, nil
}
