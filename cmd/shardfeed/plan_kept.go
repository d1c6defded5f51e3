package main

import (
	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/term"
	"github.com/shardfeed/shardfeed/internal/mem"
	"github.com/shardfeed/shardfeed/internal/text"
	"github.com/shardfeed/shardfeed/iterable"
)

// keptPlan is the cost and benefit of keeping the columns decoded; sizes are in bytes.
type keptPlan struct {
	Limit      int64   `json:"limit_bytes"`
	Bytes      int64   `json:"bytes"` // of all, about
	RowGroups  int     `json:"row_groups"`
	Held       int64   `json:"held_bytes"`
	HeldGroups int     `json:"held_row_groups"`
	Decode     float64 `json:"decode_seconds"` // processor time of decoding an epoch, as measured; 0 if nothing is held
}

// newKeptPlan returns nil if nothing is to be kept decoded.
func newKeptPlan(ds *iterable.Dataset) *keptPlan {
	k, ok := ds.KeptSpace()
	if !ok {
		return nil
	}
	return &keptPlan{Limit: k.Limit, Bytes: k.Bytes, RowGroups: k.Groups, Held: k.Held, HeldGroups: k.HeldGroups, Decode: k.Decode.Seconds()}
}

func (k *keptPlan) report(r *term.Report) {
	r.Section("kept decoded, for epochs after the first")
	r.Fact("takes", "about %v of disk, of at most %v (--decoded-limit)", mem.Bytes(k.Bytes), mem.Bytes(k.Limit))
	r.Fact("is there", "%v: %s of %s", mem.Bytes(k.Held), text.Count(int64(k.HeldGroups)), text.Plural(int64(k.RowGroups), "row group"))
	if k.Decode > 0 {
		r.Fact("saves", "%s of a processor in decoding each epoch, as measured when it was kept", term.Seconds(k.Decode))
	} else {
		r.Fact("saves", "decoding, which is measured as row groups are kept")
	}
}
