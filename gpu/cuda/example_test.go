package cuda_test

import (
	"fmt"

	"github.com/shardfeed/shardfeed/gpu/cuda"
)

// The names are those of the command's --device: auto is the first GPU, or the host where there is
// no driver or no GPU.
func ExampleChoose() {
	dev, err := cuda.Choose("host")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer dev.Close()
	fmt.Println(dev.Info().Name)

	_, err = cuda.Choose("gpu")
	fmt.Println(err)
	// Output:
	// host
	// gpu: no such device: "gpu": the names are auto, host, cuda and cuda:N, as in cuda:0
}
