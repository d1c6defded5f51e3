package avro

// A step decodes or skips one value of a schema.
type step struct {
	schema *schema
	wanted bool   // it or a part of it
	slot   int    // of its value
	parts  []step // of a record, one for each field; of a union, one for each branch
}

// count is the number of values that fields have.
func count(fields []Field) (n int) {
	for _, f := range fields {
		if f.Parts == nil {
			n++
		}
		n += count(f.Parts)
	}
	return n
}

// planOf is the step of a record whose fields are wanted. slot is the place of the first value, and
// moves behind the last one.
func planOf(s *schema, fields []Field, slot *int) *step {
	plan := &step{schema: s, wanted: true, parts: make([]step, len(s.fields))}
	for i, f := range s.fields {
		plan.parts[i].schema = f.typ
	}
	for _, want := range fields {
		for i, f := range s.fields {
			if f.id != 0 && f.id == want.ID || f.id == 0 && f.name == want.Name {
				plan.parts[i] = want.step(f.typ, *slot)
				break
			}
		}
		*slot += count([]Field{want})
	}
	return plan
}

// step is the step of a wanted field whose values start at a slot.
func (f *Field) step(s *schema, slot int) step {
	switch {
	case s.kind == union:
		one := step{schema: s, wanted: true, parts: make([]step, len(s.of))}
		for i, branch := range s.of {
			if branch.kind == union { // which Avro forbids
				one.parts[i] = step{schema: branch}
				continue
			}
			one.parts[i] = f.step(branch, slot)
		}
		return one
	case f.Parts == nil:
		return step{schema: s, wanted: true, slot: slot}
	case s.kind == record:
		return *planOf(s, f.Parts, &slot)
	}
	return step{schema: s}
}
