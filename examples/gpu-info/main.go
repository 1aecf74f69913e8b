// Command gpu-info says which GPUs the CUDA backend can use here, or why it cannot.
package main

import (
	"context"
	"flag"
	"fmt"

	"github.com/filgroth/filgroth/examples/internal/cli"
	"github.com/filgroth/filgroth/gpu"
)

func main() {
	lib := flag.String("library", "", "`path` of libfilgroth_cuda.so (default: where it is found)")
	cli.Parse("which GPUs the CUDA backend can use here, or why it cannot")
	cli.Main(func(context.Context) error {
		fmt.Println(gpu.Probe(gpu.Options{Library: *lib}))
		return nil
	})
}
