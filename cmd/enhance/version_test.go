package main

import (
	"runtime/debug"
	"testing"
)

func TestVersionOf(t *testing.T) {
	settings := func(kv ...string) (all []debug.BuildSetting) {
		for i := 0; i < len(kv); i += 2 {
			all = append(all, debug.BuildSetting{Key: kv[i], Value: kv[i+1]})
		}
		return all
	}
	for _, c := range []struct {
		info *debug.BuildInfo
		want string
	}{
		{nil, "unknown"},
		{&debug.BuildInfo{}, "development"},
		{&debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}, "v1.2.3"},
		{&debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, Settings: settings("vcs.revision", "0123456789abcdef", "vcs.time", "2026-11-22T01:21:45Z", "vcs.modified", "false")},
			"development (commit 0123456789ab, 2026-11-22T01:21:45Z)"},
		{&debug.BuildInfo{Main: debug.Module{Version: "v1.2.3+dirty"}, Settings: settings("vcs.revision", "0123", "vcs.modified", "true")},
			"v1.2.3+dirty (commit 0123, modified)"},
	} {
		if got := versionOf(c.info); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
