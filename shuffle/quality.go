package shuffle

import "math"

// Quality predicts how well an order mixes sorted data, the worst case. It informs and is not part
// of the order, so it may use floats.
type Quality struct {
	Independent float64 `json:"independent_units"` // K: units that behave as if drawn independently
	Deff        float64 `json:"deff"`              // 1 + (G-1)/K: variance of a batch's mean, relative to a perfect shuffle
	Units       float64 `json:"units_per_batch"`   // different units in the mean batch

	FewUnits   bool  `json:"-"` // a lane's share of the buffer holds fewer than four units
	UnitRows   int64 `json:"-"` // unit_rows to propose then, else 0
	BufferRows int64 `json:"-"` // buffer in rows that would hold four units per lane
}

// Quality of the plan for a global batch.
func (p *Plan) Quality(globalBatch int64) Quality { return p.QualityOf(p.params, globalBatch) }

// QualityOf returns the quality that other parameters would have for the units of the plan.
func (p *Plan) QualityOf(params Params, globalBatch int64) Quality {
	s, lanes := p.sizes, int64(params.Lanes)
	q := Quality{Deff: 1, BufferRows: 4 * lanes * params.laneUnit(s.rows, s.largest)}
	if s.rows == 0 {
		return q
	}
	if q.FewUnits = params.Buffer < q.BufferRows && params.Buffer < s.rows; q.FewUnits {
		q.UnitRows = max(1, params.Buffer/(4*lanes))
	}
	batch := float64(globalBatch)
	if params.Buffer >= s.rows {
		q.Independent = float64(s.rows)
		q.Units = distinct(float64(s.units), batch)
		return q
	}
	// The unit of a mean row is larger than the mean unit; lanes cut units larger than themselves.
	unit := min(p.rowMeanUnit(), float64(ceilDiv(s.rows, lanes)))
	live := float64(lanes) * float64(params.Steady())
	q.Independent = max(2.25*live/unit, min(float64(lanes), batch))
	q.Deff = 1 + (batch-1)/q.Independent
	// Units in a lane at once, the older ones giving fewer rows: density 2(1-x) over the age x.
	mean := float64(s.laneMean(int(lanes)))
	open := max(3*live/mean, float64(lanes))
	a := 2 * batch / open
	q.Units = max(1, open*(1-(-math.Expm1(-a))/a))
	if open == float64(lanes) {
		q.Units = distinct(open, batch)
	}
	return q
}

// rowMeanUnit returns the size of a row's unit, averaged over all rows.
func (p *Plan) rowMeanUnit() float64 {
	var sum float64
	for _, u := range p.units.All() {
		n := float64(u.Samples)
		sum += n * n
	}
	return sum / float64(p.sizes.rows)
}

// distinct returns the expected number of distinct kinds among k draws from n equally likely ones.
func distinct(n, k float64) float64 { return n * -math.Expm1(-k/n) }
