package drivers

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"enhance/clrt"
	"enhance/internal/regularfile"
)

// Failure says of a driver that it is passed over.
type Failure struct {
	Driver
	Problem string `json:"problem"` // such as "crashed (SIGABRT) while loading the driver"
}

func (f Failure) String() string { return fmt.Sprintf("OpenCL driver %s: it %s", f.Driver, f.Problem) }

// verdict is what probing the drivers found.
type verdict struct {
	Version int       `json:"version"`
	Made    time.Time `json:"made"`
	Failed  []Failure `json:"failed,omitempty"`
	// chance is whether another try may well end otherwise, so that the verdict is not kept.
	chance bool
}

// verdictVersion changes with what the child does and with the form of the file.
const verdictVersion = 1

// failedFor is how long a verdict holds that passes over a driver: a driver may be
// repaired without a trace in the files that the key is made of.
const failedFor = time.Hour

// verdictFolder is the cache's folder of verdicts.
const verdictFolder = "drivers"

// verdictFolders are where verdicts may be kept, the best first: in the cache, or among the temporary
// files where there is no home or nothing can be written there. There is none if the user
// wants no cache.
func verdictFolders() (all []string) {
	if os.Getenv("ENHANCE_CACHE_DIR") == "off" {
		return nil
	}
	if dir := clrt.CacheDir(verdictFolder); dir != "" {
		all = append(all, dir)
	}
	if dir, err := ownTemporary(); err == nil {
		all = append(all, filepath.Join(dir, verdictFolder))
	}
	return all
}

// key identifies the drivers and what decides how they behave: their files, the dynamic
// linker's cache, which changes with every package, variables and the limit of memory.
func key(all []Driver) string {
	h := sha256.New()
	fmt.Fprintln(h, "drivers", verdictVersion)
	for _, d := range all {
		fmt.Fprintf(h, "%q %q %s %s\n", d.File, d.Library, facts(d.File), facts(d.path()))
	}
	fmt.Fprintln(h, facts("/etc/ld.so.cache"), facts(os.Getenv(libraryEnv)), addressSpace())
	var env []string
	for _, v := range os.Environ() {
		if strings.HasSuffix(v, "=") || strings.HasPrefix(v, connectionsEnv+"=") { // as if there were none
			continue // budgets decide about connections: a driver that works does with any number
		}
		for _, prefix := range []string{"OCL_", "OPENCL_", "POCL_", "RUSTICL_", "CUDA_", "LD_", "ENHANCE_OPENCL", "OCLGRIND_"} {
			if strings.HasPrefix(v, prefix) {
				env = append(env, v)
			}
		}
	}
	slices.Sort(env)
	fmt.Fprintf(h, "%q", env)
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// facts are a file's size and time of change.
func facts(path string) string {
	if path == "" {
		return "none"
	}
	i, err := os.Stat(path)
	if err != nil {
		return "absent"
	}
	return fmt.Sprint(i.Size(), " ", i.ModTime().UnixNano())
}

// maxVerdict bounds the file of a verdict.
const maxVerdict = 1 << 20

// loadVerdict finds the verdict of a key in folders, nil if there is none that holds.
func loadVerdict(folders []string, key string, now time.Time) *verdict {
	for _, folder := range folders {
		text, err := regularfile.Read(filepath.Join(folder, key+".json"), maxVerdict)
		v := &verdict{}
		if err != nil || json.Unmarshal(text, v) != nil || v.Version != verdictVersion {
			continue
		}
		if age := now.Sub(v.Made); len(v.Failed) == 0 || age >= 0 && age <= failedFor {
			return v
		}
	}
	return nil
}

// save keeps the verdict in the first folder that takes it.
func (v *verdict) save(folders []string, key string) {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil || v.chance {
		return
	}
	for _, folder := range folders {
		if os.MkdirAll(folder, 0o700) == nil && writeFile(filepath.Join(folder, key+".json"), text) == nil {
			prune(folder)
			return
		}
	}
}

// mostVerdicts bounds the files of the folder.
const mostVerdicts = 32

// prune removes the oldest verdicts and the folders of drivers that belong to them.
func prune(folder string) {
	names, _ := filepath.Glob(filepath.Join(folder, "*.json"))
	if len(names) <= mostVerdicts {
		return
	}
	age := func(name string) int64 {
		i, err := os.Stat(name)
		if err != nil {
			return 0
		}
		return i.ModTime().UnixNano()
	}
	slices.SortFunc(names, func(a, b string) int { return int(min(max(age(a)-age(b), -1), 1)) })
	for _, name := range names[:len(names)-mostVerdicts] {
		_ = os.Remove(name)
		_ = os.RemoveAll(strings.TrimSuffix(name, ".json") + vendorsSuffix)
	}
}
