package engine

import "github.com/shardfeed/shardfeed/internal/option"

func (h Hello) validate() error {
	if h.PID < 0 || h.LocalWorldSize < 0 {
		return protocolError("HELLO: pid %d, local_world_size %d", h.PID, h.LocalWorldSize)
	}
	return nil
}

func (o Open) validate() error {
	if o.Dataset == "" {
		return protocolError("OPEN without the identity of a data set")
	}
	if err := o.Spec.Validate(); err != nil {
		return valueError("%s", option.Spelled(err, option.Argument))
	}
	return nil
}
