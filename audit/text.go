package audit

import (
	"fmt"
	"strconv"
	"strings"
)

// String is one line about the epoch. Its rows are called rows.
func (r *Report) String() string { return r.Text("rows") }

// Text is String with another noun for the rows: the "blocks" or "batches" of the order.
func (r *Report) Text(rows string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "epoch %d: ", r.Epoch)
	switch {
	case r.Rows == 0 && len(r.Faults) == 0:
		b.WriteString("the audit has not seen all ranks")
	case r.Rows+r.Lost < r.Of:
		fmt.Fprintf(&b, "%s of %s %s", number(r.Rows), number(r.Of), rows)
	default:
		fmt.Fprintf(&b, "%s %s", number(r.Rows), rows)
	}
	if len(r.Faults) == 0 && r.Rows > 0 {
		b.WriteString(", each exactly once")
	}
	if len(r.Worlds) > 0 {
		fmt.Fprintf(&b, ", on %s", worlds(r.Worlds))
	}
	if r.Lost > 0 {
		fmt.Fprintf(&b, "; %s are lost", number(r.Lost))
	}
	for _, f := range r.Faults {
		b.WriteString("; " + f)
	}
	for _, u := range r.Unseen {
		fmt.Fprintf(&b, "; not seen: %s", u)
	}
	return b.String()
}

func (u Unseen) String() string {
	s := fmt.Sprintf("positions %s to %s", number(u.From), number(u.To))
	if u.World > 0 {
		s += fmt.Sprintf(" (%d of %d ranks)", u.Ranks, u.World)
	}
	return s
}

// worlds is "16 then 12 ranks".
func worlds(sizes []int) string {
	const most = 6
	var parts []string
	for i, n := range sizes {
		if len(sizes) > most && i == most-1 {
			parts = append(parts, fmt.Sprintf("%d further sizes, then %d", len(sizes)-most, sizes[len(sizes)-1]))
			break
		}
		parts = append(parts, strconv.Itoa(n))
	}
	if len(sizes) == 1 && sizes[0] == 1 {
		return "1 rank"
	}
	return strings.Join(parts, " then ") + " ranks"
}

// number has commas between thousands.
func number(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
