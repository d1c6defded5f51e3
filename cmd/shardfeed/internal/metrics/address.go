package metrics

import (
	"errors"
	"net"
	"strconv"
)

// loopback is the host of an address that names only a port.
const loopback = "127.0.0.1"

var errAddress = errors.New("must be an address and port, as in 127.0.0.1:9464, 0.0.0.0:9464 for other machines too, or 127.0.0.1:0 for any free port")

// ParseAddress returns an address to listen at. One without a host is on loopback.
func ParseAddress(text string) (string, error) {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return "", errAddress
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return "", errAddress
	}
	if host == "" {
		host = loopback
	}
	return net.JoinHostPort(host, port), nil
}
