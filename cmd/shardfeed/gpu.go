package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/shardfeed/shardfeed/cmd/shardfeed/internal/term"
	"github.com/shardfeed/shardfeed/gpu"
	"github.com/shardfeed/shardfeed/gpu/cuda"
)

func (a *app) gpu() *cobra.Command {
	f := &flags{}
	window := time.Second
	c := &cobra.Command{
		Use:   "gpu [flags]",
		Short: "Show the GPUs of this machine, and how fast batches can be copied to them",
		Long: `gpu says which driver and which devices are found, or why none is, and measures for each device how
fast page-locked memory, registered memory (as Python's ring) and ordinary memory are copied to it
and back, and how long it takes to page-lock memory. Nothing of CUDA is needed to build this
program: the driver's library is looked for when it runs.`,
		Example: `  shardfeed gpu
  shardfeed gpu --device cuda:0 --json
  shardfeed gpu --measure 0s`,
		Args: cobra.NoArgs,
	}
	fs := c.Flags()
	setting{name: "device", field: &f.device, help: "this one alone: auto, host, cuda or cuda:N (default: all GPUs)", words: deviceNames}.register(fs)
	fs.DurationVar(&window, "measure", window, "how long to measure each device; 0s measures nothing")
	f.add(fs, "json")
	return a.runs(c, func(ctx context.Context, _ []string) error {
		if window < 0 {
			return usagef("--measure must be at least 0s, got %v", window)
		}
		s, err := a.survey(ctx, string(f.device), window)
		if err != nil {
			return err
		}
		if err := a.print(f, s, s.report()); err != nil {
			return err
		}
		return s.problem
	})
}

type survey struct {
	Driver  *driver  `json:"driver"` // null: no driver
	Auto    string   `json:"auto"`   // the device that auto takes, "" when it fails
	Why     string   `json:"why"`    // auto takes the host or fails; "" when it takes a GPU
	Devices []device `json:"devices"`

	missing bool  // no driver at all
	problem error // the driver's, or the first device's that could not be used
}

type driver struct {
	Version string `json:"version"`
	Library string `json:"library"`
}

// A device describes a GPU and its speed.
type device struct {
	Name    string `json:"name"`
	Model   string `json:"model"`
	Memory  int64  `json:"memory_bytes"` // 0: unknown
	Bus     string `json:"pci_address"`
	Node    int    `json:"numa_node"` // -1: unknown
	Rates   *rates `json:"rates"`     // null: not measured
	Problem string `json:"problem"`
}

// survey looks for the device of that name, or for all GPUs, and measures each for a while.
func (a *app) survey(ctx context.Context, name string, window time.Duration) (*survey, error) {
	s := &survey{Devices: []device{}}
	names := s.find()
	if name != "" {
		names = []string{name}
	}
	bar := term.NewWatch(a.stderr, "measure", time.Duration(len(names))*window)
	defer bar.Close()
	for _, n := range names {
		dev, err := cuda.Choose(n)
		if err != nil && name != "" {
			return nil, err
		}
		found := device{Name: n, Node: -1}
		if err == nil {
			i := dev.Info()
			found = device{Name: i.Name, Model: i.Model, Memory: i.Memory, Bus: i.Bus, Node: i.Node}
			found.Rates, err = measureDevice(ctx, dev, window, bar)
			err = errors.Join(err, dev.Close())
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		s.add(found, err)
	}
	return s, nil
}

// find looks for the driver, and names its devices.
func (s *survey) find() (names []string) {
	s.Auto = "cuda:0"
	if err := cuda.Available(); err != nil {
		s.Why, s.Auto, s.missing = err.Error(), "host", errors.Is(err, gpu.ErrNoDriver)
		if !s.missing && !errors.Is(err, gpu.ErrNoDevice) {
			s.problem, s.Auto = err, ""
		}
	}
	found, err := cuda.Load("")
	if err != nil { // which is why
		return nil
	}
	s.Driver = &driver{found.Version(), found.Library()}
	n, _ := found.Count() // Available has said what is wrong
	for i := range n {
		names = append(names, fmt.Sprintf("cuda:%d", i))
	}
	return names
}

func (s *survey) add(d device, err error) {
	if err = lost(err); err != nil {
		d.Problem = oneLine(err.Error())
		if s.problem == nil {
			s.problem = fmt.Errorf("%s: %w", d.Name, err)
		}
	}
	s.Devices = append(s.Devices, d)
}
