//go:build !linux && !darwin

package engine

import "errors"

func peerOf(int) (peer, error) { return peer{}, errors.ErrUnsupported }
