package main

import (
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/iterable"
	"github.com/shardfeed/shardfeed/shard"
)

// A lostPlace is rows that a data set went on without.
type lostPlace struct {
	Shard    string  `json:"shard"`
	RowGroup *int    `json:"row_group"` // null: the footer, and with it the whole shard
	FirstRow int64   `json:"first_row"` // of the row group
	Rows     int64   `json:"rows"`
	Column   *string `json:"column"` // null: not known
	Page     *int64  `json:"page"`   // byte offset in the shard; null: not known
	Error    string  `json:"error"`
}

func lostPlaces(all []iterable.Loss) []lostPlace {
	places := make([]lostPlace, len(all))
	for i, x := range all {
		p := lostPlace{Shard: shard.Redact(x.URI), FirstRow: x.Lo, Rows: x.Hi - x.Lo, Error: oneLine(option.Spelled(x.Err, option.Flag))}
		if x.RowGroup >= 0 {
			p.RowGroup = &x.RowGroup
		}
		if x.Column != "" {
			p.Column = &x.Column
		}
		if x.Page >= 0 {
			p.Page = &x.Page
		}
		places[i] = p
	}
	return places
}

func (m *measurement) reportLost(r *report) {
	if m.LostRows == 0 {
		return
	}
	r.section("lost")
	r.fact("rows", "%s in %s", count(m.LostRows), plural(int64(len(m.Lost)), "place"))
	for _, p := range m.Lost {
		r.fact("", "%s", p.Error)
	}
}
