package shuffle

import (
	"math"
	"slices"
)

// Selection is the rows of a unit that a plan is to have: their offsets from the unit's first row, ascending, at least one. nil is all rows.
type Selection []uint32

// validate says whether the selection is one of a unit of so many rows.
func (s Selection) validate(rows int64) error {
	if s == nil {
		return nil
	}
	if len(s) == 0 {
		return refuse("selection", "no row is selected")
	}
	last := int64(-1)
	for i, row := range s {
		if int64(row) <= last || int64(row) >= rows {
			return refuse("selection", "row %d is %d of %d rows, after %d", i, row, rows, last)
		}
		last = int64(row)
	}
	return nil
}

// Row is the row of the group that is number i among the unit's.
func (u Unit) Row(i int64) int64 {
	if u.Selection == nil {
		return u.Lo + i
	}
	return u.Lo + int64(u.Selection[i])
}

// Span of the unit, whose number is given: its rows with the numbers [from, to), at least one.
func (u Unit) Span(number int, from, to int64) Span {
	return Span{Unit: number, From: from, To: to, Lo: u.Row(from), Hi: u.Row(to-1) + 1}
}

// Selected is the part of the unit's selection that a span of it has: offsets from the unit's first row. nil is all rows of the span.
func (u Unit) Selected(s Span) Selection {
	if u.Selection == nil {
		return nil
	}
	return u.Selection[s.From:s.To]
}

// checkUnits says whether the units cover the groups of a manifest.
func checkUnits(m *Manifest, units []Unit) error {
	if len(units) > math.MaxInt32 {
		return refuse("units", "%d are more than %d", len(units), math.MaxInt32)
	}
	i := 0
	for g := range m.Groups {
		lo, rows := int64(0), m.Groups[g].Rows
		for ; i < len(units) && units[i].Group == g; i++ {
			u := units[i]
			if u.Lo != lo || u.Hi <= u.Lo || u.Hi > rows || u.Hi-u.Lo > math.MaxInt32 {
				return refuse("units", "unit %d is rows %d..%d of group %d of %d rows, where rows from %d on come", i, u.Lo, u.Hi, g, rows, lo)
			}
			if err := u.Selection.validate(u.Hi - u.Lo); err != nil {
				return refuse("units", "unit %d: %v", i, err)
			}
			lo = u.Hi
		}
		if lo != rows {
			return refuse("units", "rows from %d on of group %d of %d rows are in none", lo, g, rows)
		}
	}
	if i < len(units) {
		return refuse("units", "unit %d of group %d does not follow the groups of the manifest", i, units[i].Group)
	}
	return nil
}

// hashUnits tells how groups were cut and what was selected. A group's number is never negative, so no two lists of units write the same.
func hashUnits(units []Unit) string {
	h := newHasher("shardfeed/units/1")
	for _, u := range units {
		h.number(int64(u.Group))
		h.number(u.Lo)
		if u.Selection == nil {
			continue
		}
		h.number(-1)
		h.number(int64(len(u.Selection)))
		for _, row := range u.Selection {
			h.number(int64(row))
		}
	}
	return h.sum()[:16]
}

// hashSelections is hashUnits where rows are selected, else "": an order that does not depend on the cut asks for no more.
func hashSelections(units []Unit) string {
	if !slices.ContainsFunc(units, func(u Unit) bool { return u.Selection != nil }) {
		return ""
	}
	return hashUnits(units)
}
