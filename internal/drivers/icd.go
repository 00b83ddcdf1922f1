package drivers

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Driver is an OpenCL driver as the loader finds it.
type Driver struct {
	// File registers the driver, "" if there is none: the library is named by a variable, or
	// the OpenCL library is itself a driver.
	File string `json:"file,omitempty"`
	// Library is what the loader opens: a path, or a name for the dynamic linker. "" stands
	// for the OpenCL library with whatever it loads.
	Library string `json:"library"`
}

// String names the driver for messages.
func (d Driver) String() string {
	switch {
	case d.Library == "":
		return "the OpenCL library"
	case d.File == "":
		return d.Library
	}
	return d.Library + " (" + d.File + ")"
}

// pocl reports whether the driver is, or may be, PoCL.
func (d Driver) pocl() bool {
	if d.Library == "" {
		return os.Getenv(libraryEnv) != ""
	}
	return strings.Contains(strings.ToLower(filepath.Base(d.Library)), "pocl")
}

// Variables of OpenCL loaders. The Khronos loader takes libraries from icdFilenames and a
// folder from icdVendors; ocl-icd takes a folder, a .icd file or a library from icdVendors,
// and a folder from vendorPath.
const (
	icdFilenames = "OCL_ICD_FILENAMES"
	icdVendors   = "OCL_ICD_VENDORS"
	vendorPath   = "OPENCL_VENDOR_PATH"
	libraryEnv   = "ENHANCE_OPENCL_LIB" // clrt's
)

// systemVendors is where drivers register on Linux.
const systemVendors = "/etc/OpenCL/vendors"

// installed lists the drivers that the OpenCL loader would load, in the loader's order as
// far as that matters. Where none can be told apart there is one that stands for all.
func installed() []Driver {
	whole := []Driver{{}}
	if os.Getenv(libraryEnv) != "" || runtime.GOOS != "linux" {
		return whole
	}
	var all []Driver
	add := func(d Driver) {
		if d.Library != "" && !slices.ContainsFunc(all, func(o Driver) bool { return o.Library == d.Library }) {
			all = append(all, d)
		}
	}
	for _, name := range filepath.SplitList(os.Getenv(icdFilenames)) {
		add(fromFile(name))
	}
	vendors := systemVendors
	for _, name := range []string{vendorPath, icdVendors} {
		if v := os.Getenv(name); v != "" {
			vendors = v
		}
	}
	if info, err := os.Stat(vendors); err == nil && info.IsDir() {
		files, _ := filepath.Glob(filepath.Join(vendors, "*.icd"))
		for _, f := range files {
			add(fromFile(f))
		}
	} else if vendors != systemVendors {
		if !strings.ContainsRune(vendors, filepath.Separator) && strings.HasSuffix(vendors, ".icd") {
			vendors = filepath.Join(systemVendors, vendors)
		}
		add(fromFile(vendors))
	}
	if len(all) == 0 {
		return whole
	}
	return all
}

// fromFile is the driver of a .icd file, whose first line names the library, or of a
// library.
func fromFile(name string) Driver {
	if !strings.HasSuffix(name, ".icd") {
		return Driver{Library: name}
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return Driver{}
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return Driver{File: name, Library: strings.TrimSpace(line)}
}

// path is the driver's library file, "" if that cannot be told here. Names without a
// folder are the dynamic linker's: its cache changes with what is installed.
func (d Driver) path() string {
	if strings.ContainsRune(d.Library, filepath.Separator) {
		return d.Library
	}
	for _, dir := range filepath.SplitList(os.Getenv("LD_LIBRARY_PATH")) {
		p := filepath.Join(dir, d.Library)
		if _, err := os.Stat(p); err == nil {
			return p
		}
	}
	return ""
}
