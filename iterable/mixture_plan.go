package iterable

import "github.com/shardfeed/shardfeed/shuffle"

// A PlanSource predicts a source of a mixture from footers.
type PlanSource struct {
	Name    string  `json:"name"`
	Share   float64 `json:"share"`   // of the samples, at the start of the mixture
	AllRows int64   `json:"rows"`    // of the shards
	Rule    string  `json:"rule"`    // as states have it; "" without
	Samples int64   `json:"samples"` // of a pass over the source
	Epoch   int64   `json:"epoch_samples"`
	Passes  float64 `json:"passes"` // over the source in an epoch
	Units   int     `json:"units"`
	Buffer  int64   `json:"shuffle_buffer"` // samples
	Kept    bool    `json:"stays_decoded"`  // it fits its part of the buffer: units are decoded once and stay

	Lanes           int     `json:"lanes"`
	TokenShare      float64 `json:"token_share,omitempty"` // of the tokens, if weights are in tokens
	TokensPerSample float64 `json:"tokens_per_sample,omitempty"`
}

// planSources returns how a mixture divides its first epoch and the buffer.
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
