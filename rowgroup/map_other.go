//go:build !unix

package rowgroup

import "os"

func mapFile(path string) (b []byte, unmap func(), err error) {
	b, err = os.ReadFile(path)
	return b, func() {}, err
}
