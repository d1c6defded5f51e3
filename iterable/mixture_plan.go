package iterable

import "github.com/shardfeed/shardfeed/shuffle"

// A PlanSource is what is known of a source of a mixture before anything but footers was read.
type PlanSource struct {
	Name    string
	Share   float64 // of the samples, as the mixture begins
	Lanes   int     // of its plan
	AllRows int64   // of the shards
	Rule    string
	Samples int64   // of a pass over the source
	Epoch   int64   // samples in the first epoch of the mixture
	Passes  float64 // over the source in it
	Units   int
	Buffer  int64 // samples of it in the shuffle buffer
	Kept    bool  // it fits its part of the buffer: units are decoded once and stay

	TokenShare      float64 // of the tokens, as the mixture begins; where weights are in tokens, else 0
	TokensPerSample float64 // in the mean; likewise
}

// planSources says how a mixture divides its first epoch and the buffer.
func (d *mixture) planSources(m *shuffle.Mixture) []PlanSource {
	counts := m.Counts(m.Rows(), nil)
	all := make([]PlanSource, len(d.sources))
	for i, s := range m.Sources() {
		of, params := d.sources[i], s.Plan.Params()
		weight, whole := m.Share(i, 0)
		all[i] = PlanSource{
			Name: s.Name, Share: float64(weight) / float64(whole), AllRows: of.manifest.NumRows(), Rule: of.data.Rule, Samples: s.Plan.Rows(),
			Epoch: counts[i], Passes: float64(counts[i]) / float64(max(1, s.Plan.Rows())), Units: s.Plan.Units().Len(), Buffer: params.Buffer,
			Kept: of.keeps(s.Plan), Lanes: params.Lanes,
		}
	}
	d.planTokens(all)
	return all
}

// planTokens adds what weights in tokens are made of.
func (d *mixture) planTokens(all []PlanSource) {
	if d.tokens == nil {
		return
	}
	total := 0.0
	for i := range all {
		all[i].TokensPerSample = float64(d.tokens[i]) / float64(max(1, all[i].Samples))
		total += all[i].Share * all[i].TokensPerSample
	}
	for i := range all {
		all[i].TokenShare = all[i].Share * all[i].TokensPerSample / total
	}
}
