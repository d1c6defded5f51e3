package shardfeed

import (
	"context"

	"github.com/shardfeed/shardfeed/internal/option"
	"github.com/shardfeed/shardfeed/shuffle"
	"github.com/shardfeed/shardfeed/table"
)

// RefreshEpoch is the Refresh of a spec whose epochs each read the latest snapshot of a table.
const RefreshEpoch = "epoch"

// validateRefresh refuses what would not read each row of each epoch's snapshot once.
func (s Spec) validateRefresh(p *option.List) {
	p.OneOf("Refresh", s.Refresh, "", RefreshEpoch)
	if s.Refresh != RefreshEpoch {
		return
	}
	switch {
	case s.EpochSize != 0:
		p.Add("Refresh", `"epoch" starts over with each epoch, and {EpochSize} continues a pass over the rows; leave one of the two out`)
	case len(s.Sources) > 0:
		p.Add("Refresh", `"epoch" is of one table, and there are {Sources}; open a data set for each epoch`)
	case !table.AnyTable(s.Addresses):
		p.Add("Refresh", `"epoch" needs the address of a table, whose snapshots have names, as in "delta+s3://bucket/table"; new files of a directory have none`)
	}
	if s.Plan != "" || s.SavedPlan != nil {
		p.Add("Refresh", `"epoch" reads other files in each epoch, and {Plan} pins them; leave one of the two out`)
	}
	if s.Manifest != "" || len(s.ManifestText) > 0 {
		p.Add("Refresh", `"epoch" reads other files in each epoch, and {Manifest} lists them; leave one of the two out`)
	}
	if s.Tail == shuffle.Carry {
		p.Add("Refresh", `"epoch" starts over with each epoch, and {Tail} "carry" moves rows into the next one; give another tail`)
	}
	if len(s.Parts) > 0 && s.PartKey == "" {
		p.Add("Refresh", `"epoch" gives rows other numbers, by which {Parts} divides them, so rows would change their part; give {PartKey}`)
	}
}

// Latest returns the name of the snapshot that the table has now where asked is asked for: "" is
// the latest, and a branch the latest of the branch.
func (d *Dataset) Latest(ctx context.Context, asked string) (string, error) {
	if len(d.spec.Addresses) != 1 || !table.AnyTable(d.spec.Addresses) {
		return "", &OptionError{Field: "Refresh", Text: "needs the address of a table"}
	}
	o := d.spec.tableOptions(d.source.drivers, d.spec.Addresses[0])
	o.Snapshot, o.NameOnly = asked, true
	t, err := d.spec.formats().Open(ctx, d.spec.Addresses[0], o)
	if err != nil {
		return "", err
	}
	return t.Name, nil
}

// Refresh returns the data set of the snapshot that the table has now, for the next epoch, or d if
// the table has not changed since. A new data set reads as Open would return it: the loader of the
// next epoch takes it with the Epoch, and no State. d stays open until the caller closes it, so
// that loaders of its epoch can end; d no longer closes the host that Open made.
//
// A run that continues in the middle of an epoch opens the spec with the Snapshot of its state, and
// calls Follow with the Snapshot that the run was given.
func (d *Dataset) Refresh(ctx context.Context, e Events) (*Dataset, error) {
	if d.spec.Refresh != RefreshEpoch {
		return nil, &OptionError{Field: "Refresh", Text: `must be "epoch" to refresh a data set`}
	}
	name, err := d.Latest(ctx, d.follows)
	if err != nil || name == d.Tables()[0].Name {
		return d, err
	}
	s := d.spec
	s.Snapshot, s.Inventory, s.CountShare.Dir = name, nil, ""
	next, err := d.host.Open(ctx, s, e)
	if err != nil {
		return nil, err
	}
	next.follows, next.own, d.own = d.follows, d.own, false
	return next, nil
}

// Follow lets Refresh take the snapshots that a branch, or "" the table, has later, in a data set
// that was opened with another Snapshot.
func (d *Dataset) Follow(snapshot string) { d.follows = snapshot }
