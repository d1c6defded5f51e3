package main

import (
	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/term"
	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/internal/text"
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

func (m *measurement) reportLost(r *term.Report) {
	if m.LostRows == 0 {
		return
	}
	r.Section("lost")
	r.Fact("rows", "%s in %s", text.Count(m.LostRows), text.Plural(int64(len(m.Lost)), "place"))
	for _, p := range m.Lost {
		r.Fact("", "%s", p.Error)
	}
}
