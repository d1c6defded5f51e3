//go:build !linux && !darwin

package feed

import "errors"

func peerOf(int) (peer, error) { return peer{}, errors.ErrUnsupported }
