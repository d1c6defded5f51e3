package iterable

import "github.com/shardfeed/shardfeed/shuffle"

// A PlanSource is what is known of a source of a mixture before anything but footers was read.
type PlanSource struct {
	Name    string
	Share   float64 // of the samples, as the mixture begins
	AllRows int64   // of the shards
	Rule    string
	Samples int64   // of a pass over the source
	Epoch   int64   // samples in the first epoch of the mixture
	Passes  float64 // over the source in it
	Units   int
	Buffer  int64 // samples of it in the shuffle buffer
	Kept    bool  // it fits its part of the buffer: units are decoded once and stay
}

// planSources says how a mixture divides its first epoch and the buffer.
func (d *Dataset) planSources(m *shuffle.Mixture) []PlanSource {
	counts := m.Counts(m.Rows(), nil)
	shares := m.Ratio(0).Weights()
	all := make([]PlanSource, len(d.sources))
	for i, s := range m.Sources() {
		of, params := d.sources[i], s.Plan.Params()
		all[i] = PlanSource{
			Name: s.Name, Share: float64(shares[i]) / (1 << 20), AllRows: of.manifest.NumRows(), Rule: of.data.Rule, Samples: s.Plan.Rows(),
			Epoch: counts[i], Passes: float64(counts[i]) / float64(max(1, s.Plan.Rows())), Units: len(s.Plan.Units()), Buffer: params.Buffer,
			Kept: params.Buffer >= s.Plan.Rows() && of.packing() == nil,
		}
	}
	return all
}
