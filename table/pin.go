package table

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shardfeed/shardfeed/shard"
)

// A pin is the JSON of a snapshot without its shards.
type pin struct {
	Format  string    `json:"format"`
	Table   string    `json:"table"`
	Name    string    `json:"name"`
	Asked   string    `json:"asked,omitempty"` // as Options.Snapshot
	Time    time.Time `json:"time"`
	Fields  []Field   `json:"fields"`
	Rows    []int64   `json:"rows"`              // by file
	First   []int64   `json:"first,omitempty"`   // FirstRow, by file
	Deleted []deleted `json:"deleted,omitempty"` // of files that have some

	Constants [][]Constant `json:"constants,omitempty"` // each list once
	Constant  []int32      `json:"constant,omitempty"`  // the list of each file, less 1

	Unreadable []Unreadable `json:"unreadable,omitempty"`
}

type deleted struct {
	File int              `json:"file"`
	Bits []byte           `json:"bits"`
	By   [Deletions]int64 `json:"by"`
}

// Pin returns a snapshot as text, without the shards of its files.
func (s *Snapshot) Pin() ([]byte, error) {
	p := pin{Format: s.Format, Table: s.Table, Name: s.Name, Asked: s.Asked, Time: s.Time, Fields: s.Fields, First: s.FirstRows(), Unreadable: s.Unreadable}
	lists := map[string]int32{}
	for i := range s.Files {
		f := &s.Files[i]
		p.Rows = append(p.Rows, f.Rows)
		if f.Deleted.Len() > 0 {
			p.Deleted = append(p.Deleted, deleted{i, f.Deleted.bytes(), f.DeletedBy})
		}
		if len(f.Constants) == 0 {
			p.Constant = append(p.Constant, 0)
			continue
		}
		key := constantsKey(f.Constants)
		n, ok := lists[key]
		if !ok {
			p.Constants = append(p.Constants, f.Constants)
			n = int32(len(p.Constants))
			lists[key] = n
		}
		p.Constant = append(p.Constant, n)
	}
	if len(lists) == 0 {
		p.Constant = nil
	}
	return json.Marshal(p)
}

// constantsKey is the same text for equal lists.
func constantsKey(all []Constant) string {
	var b strings.Builder
	for _, c := range all {
		b.WriteString(strconv.Itoa(c.Field))
		b.WriteString(strconv.FormatBool(c.Value.Null))
		b.WriteString(strconv.Quote(string(c.Value.Data)))
	}
	return b.String()
}

var errPin = errors.New("its snapshot of a table is damaged")

// Unpin reads the text of a snapshot whose files have these shards.
func Unpin(text []byte, shards []shard.Shard) (*Snapshot, error) {
	var p pin
	if err := json.Unmarshal(text, &p); err != nil {
		return nil, err
	}
	if len(p.Rows) != len(shards) || p.First != nil && len(p.First) != len(shards) || p.Constant != nil && len(p.Constant) != len(shards) {
		return nil, errPin
	}
	s := &Snapshot{
		Format: p.Format, Table: p.Table, Name: p.Name, Asked: p.Asked, Time: p.Time, Fields: p.Fields, Unreadable: p.Unreadable,
		Files: make([]File, len(shards)),
	}
	for i := range s.Files {
		f := &s.Files[i]
		f.Shard, f.Rows = shards[i], p.Rows[i]
		if p.First != nil {
			f.FirstRow = p.First[i]
		}
		if p.Constant == nil || p.Constant[i] == 0 {
			continue
		}
		n := int(p.Constant[i]) - 1
		if n < 0 || n >= len(p.Constants) || slices.ContainsFunc(p.Constants[n], func(c Constant) bool { return c.Field < 0 || c.Field >= len(p.Fields) }) {
			return nil, errPin
		}
		f.Constants = p.Constants[n]
	}
	for _, d := range p.Deleted {
		rows, ok := rowsOf(d.Bits)
		if !ok || d.File < 0 || d.File >= len(shards) {
			return nil, errPin
		}
		s.Files[d.File].Deleted, s.Files[d.File].DeletedBy = rows, d.By
	}
	return s, nil
}
