package main

import (
	"fmt"
	"io"
	"text/tabwriter"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/bytesize"
	"enhance/internal/devices"
	"enhance/internal/printable"
	"enhance/internal/profile"
	"enhance/pipeline"
)

// listed is a device as --list-devices --json prints it.
type listed struct {
	Select  string           `json:"select"` // what -g takes
	Default bool             `json:"default"`
	Info    *clrt.DeviceInfo `json:"info,omitempty"` // none for the host executor
	// Profile is a file for --device-profile, none where the device cannot have one.
	Profile *profile.Profile `json:"profile,omitempty"`
}

// listDevices prints what -g selects from, the default marked.
func listDevices(c *call) error {
	present, err := clrt.Devices()
	choice, cerr := devices.Choose("")
	if cerr != nil {
		return cerr
	}
	var all []listed
	for i, d := range present {
		all = append(all, listed{Select: fmt.Sprint(i), Default: choice.Device == d, Info: d.Info(), Profile: profile.Of(d.Info())})
	}
	all = append(all, listed{Select: pipeline.HostDevice, Default: choice.Device == nil})
	if err != nil {
		fmt.Fprintln(c.stderr, message(err, ""))
	}
	result := map[string]any{"devices": all}
	if failed := c.passedOver(); len(failed) > 0 {
		result["passed_over"] = failed
	}
	return c.report(result, func(w io.Writer) error { return writeDevices(w, all) })
}

func writeDevices(w io.Writer, all []listed) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, l := range all {
		mark := ""
		if l.Default {
			mark = "(default)"
		}
		if l.Info != nil && conv.SlowCompiler(l.Info) {
			mark += " (slow compiler: plain kernels)"
		}
		if l.Info == nil {
			fmt.Fprintf(t, "%s\tGo\thost executor: plain Go on all cores, no OpenCL\t\t\t%s\n", l.Select, mark)
			continue
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", l.Select, l.Info.Type, printable.Text(l.Info.Name), printable.Text(l.Info.Platform),
			bytesize.Text(l.Info.GlobalMem), mark)
	}
	return t.Flush()
}
