package saved

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/shardfeed/shardfeed/shuffle"
)

// A Mixture is the JSON of a mixture in a plan.
type Mixture struct {
	Batching shuffle.Batching `json:"batching"`
	Sources  []mixtureSource  `json:"sources"`
}

type mixtureSource struct {
	Name string `json:"name"`
	Part
	Tokens int64 `json:"tokens,omitempty"`
}

// AddSource adds the part of a source of the mixture.
func (m *Mixture) AddSource(name string, part Part, tokens int64) {
	m.Sources = append(m.Sources, mixtureSource{name, part, tokens})
}

// Mix makes it the file of a mixture.
func (f *File) Mix(m *Mixture) (err error) {
	f.Mixture, err = json.Marshal(m)
	return err
}

func parseMixture(b []byte) (*Plan, error) {
	var m Mixture
	if err := json.Unmarshal(b, &m); err != nil {
		return nil, err
	}
	if len(m.Sources) == 0 || m.Batching != shuffle.Stratified && m.Batching != shuffle.PerSource {
		return nil, fmt.Errorf("it has %d sources in batches %q", len(m.Sources), m.Batching)
	}
	p := &Plan{Batching: m.Batching}
	for _, s := range m.Sources {
		part, err := s.saved()
		if err == nil && part.Params == nil {
			err = errors.New("it has no params")
		}
		if err != nil {
			return nil, fmt.Errorf("source %q: %w", s.Name, err)
		}
		p.Sources = append(p.Sources, Source{s.Name, part, s.Tokens})
	}
	return p, nil
}
