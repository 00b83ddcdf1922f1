// Command opencl-devices lists the OpenCL devices of this machine, one a line.
// It exits 1, saying why, if there is none. scripts/setup-opencl.sh decides by
// it whether a driver must be installed.
package main

import (
	"fmt"
	"os"

	"enhance/clrt"
)

func main() { os.Exit(run()) }

func run() int {
	devices, err := clrt.Devices()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	for _, d := range devices {
		i := d.Info()
		fmt.Printf("%s: %s (%s)\n", i.Type, i.Name, i.Platform)
	}
	return 0
}
