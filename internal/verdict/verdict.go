package verdict

// Trainer is the cause of a verdict about training that hardly waits.
const Trainer = "trainer"

// Verdict is the wait of the ranks that hold up a job, with its cause.
type Verdict struct {
	Share   float64            `json:"share"`   // of the loop's time that was spent in next(), from 0 to 1
	Seconds float64            `json:"seconds"` // in next(), per rank
	Of      float64            `json:"of"`      // seconds of the loop, per rank
	Cause   string             `json:"cause"`   // of package wait, or Trainer; empty: no batch was read
	Kind    string             `json:"kind"`    // the row of the table
	Then    string             `json:"then"`    // the second cause, if it has a quarter of the wait
	Parts   map[string]float64 `json:"parts"`   // seconds per rank, by cause; they add up to Seconds
	Rank    int                `json:"rank"`    // that waits longest; -1: unknown
	Ranks   []int              `json:"ranks"`   // that hold up the others
	World   int                `json:"world_size"`
	Host    string             `json:"host"` // of Rank
	Found   string             `json:"found"`
	Cure    string             `json:"cure"`
	Line    string             `json:"line"`
}

// String is the verdict as one line.
func (v Verdict) String() string { return v.Line }

// Of explains facts.
func Of(f Facts) Verdict {
	g := group(f)
	if g == nil {
		return Verdict{Rank: -1, World: f.World, Line: "no batch was read yet"}
	}
	v := Verdict{
		Share: g.share(), Seconds: g.mean(g.wait.Sum()), Of: g.mean(g.loop), Parts: g.parts(),
		Rank: g.worst.Rank, Ranks: g.numbers(), World: max(f.World, len(f.Ranks)), Host: g.worst.Host,
	}
	s := newScene(f, g)
	r := s.row()
	v.Kind, v.Found, v.Cure = r.kind, s.text(r.found), s.text(r.cure)
	if r.kind == Trainer {
		v.Cause = Trainer
	} else {
		v.Cause, v.Then = s.cause.String(), s.then()
	}
	v.Line = line(v, g.all, g.hosts())
	return v
}
