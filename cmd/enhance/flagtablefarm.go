package main

import (
	"slices"
	"strings"
)

// farmOptions are the values of flags of the farm's commands.
type farmOptions struct {
	nats, key, creds, ca               string // how to reach the farm
	listen, queueDir, users, metrics   string // of the server
	tlsCert, tlsKey                    string
	syncQueue, untilIdle               bool
	lease, queueBound, attempts, check int
	photosRoot, results, workerName    string
	s3Endpoint, s3Region               string
}

var (
	farmSubmitters = []string{"farm run", "farm submit"}
	farmComputers  = []string{"farm run", "farm work", "farm verify"}
	farmClients    = []string{"farm serve", "farm submit", "farm work", "farm status", "farm retry", "farm cancel", "farm fetch"}
	farmServers    = []string{"farm run", "farm serve"}
	farmCommands   = []string{"farm run", "farm serve", "farm submit", "farm work", "farm status", "farm retry", "farm cancel", "farm fetch", "farm verify", "farm keys"}
)

// farmMake is the command of the process that computes for a worker.
const farmMake = "farm-make"

// farmSettings are flags of the main command that decide how a picture looks: a submitter
// takes them, an order carries them, and a worker takes no others from it. All flags of
// colour and noise are among them.
var farmSettings = []string{
	"raw-size", "cfa", "black", "white", "format", "bits", "quality", "subsampling", "strip", "output-profile", "resize", "model", "level", "ensemble", "precision", "algo", "strip-rows", "whole-planes",
}

// farmLeaves are the other flags of the main command. A farm has its own for them, or needs
// none.
var farmLeaves = []string{
	"input", "recursive", "from", "shard", "output", "overwrite", "skip-existing", "device", "list-devices", "mem", "host-mem", "jobs", "device-profile",
	"dry-run", "json", "verbose", "quiet", "version", "help", "reference", "min-psnr", "profile", "plan-svg", "no-tune", "report", "socket", "no-server",
}

// isSetting reports whether a flag of the main command is a setting of orders.
func isSetting(f *flag) bool {
	return f.takes(develop) && (f.group == groupColour || slices.Contains(farmSettings, f.name))
}

// settingFlag finds a setting, nil if there is none of that name.
func settingFlag(name string) *flag {
	for _, f := range flagsOf(develop) {
		if f.name == name && isSetting(f) {
			return f
		}
	}
	return nil
}

// withFarm is the table with the farm's flags, and with the farm's commands taking flags of the
// main one.
func withFarm(table []flag) []flag {
	with := map[string][]string{
		"overwrite": {"farm run", "farm submit", "farm fetch"}, "skip-existing": farmSubmitters, "from": farmSubmitters,
		"quiet": {"farm run", "farm serve", "farm submit", "farm work", "farm verify"}, "json": {"farm run", "farm status", "farm submit", "farm fetch", "farm verify"}, "help": farmCommands,
	}
	for _, name := range []string{"device", "mem", "host-mem", "jobs"} {
		with[name] = append([]string{farmMake}, farmComputers...)
	}
	for i := range table {
		f := &table[i]
		if !f.takes(develop) {
			continue
		}
		more := with[f.name]
		if isSetting(f) {
			more = slices.Concat(farmSubmitters, []string{farmMake})
			if f.files {
				more = append(more, "farm verify") // the files that orders name
			}
		}
		f.commands = slices.Concat(f.commands, more) // tables share slices
	}
	return append(table, farmFlags...)
}

// farmFlags are those of the farm's commands alone.
var farmFlags = []flag{
	{name: "output", short: "o", arg: "DIR", group: groupOutput, commands: []string{"farm run", "farm fetch"}, files: true,
		help: "directory for the pictures; it is made",
		to:   func(o *options) any { return &o.output }},
	{name: "photos", arg: "DIR", group: groupPhoto, commands: []string{"farm submit", "farm work", "farm verify"}, files: true,
		help: "the shared folder or s3:// URL that names of photos are below",
		more: "Each machine gives its own path of the folder. A submitter leaves it out if it submits the whole folder. With s3://BUCKET/PREFIX workers take the photos from an object store, and a submitter of a folder sends them there. nats: sends photos through the farm's own store of objects.",
		to:   func(o *options) any { return &o.photosRoot }},
	{name: "results", arg: "DIR", group: groupOutput, commands: []string{"farm submit", "farm work", "farm fetch"}, files: true,
		help: "the shared folder or s3:// URL for pictures; or nats:",
		more: "Each machine gives its own path of the folder. A submitter needs it for --skip-existing only. s3://BUCKET/PREFIX is a place in an object store that honours If-None-Match. nats:, which farm fetch takes by default, keeps results in the farm's own store of objects, from where farm fetch copies them.",
		to:   func(o *options) any { return &o.results }},
	{name: "s3-endpoint", arg: "URL", group: groupFarm, commands: []string{"farm submit", "farm work", "farm fetch", "farm verify"},
		help: "where the object store of s3:// URLs is (default AWS_ENDPOINT_URL, else Amazon's)",
		more: "Credentials come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, the shared file with AWS_PROFILE, or the identity of the pod or machine. With http:// photos and pictures travel readable, and the secret does not travel.",
		to:   func(o *options) any { return &o.s3Endpoint }},
	{name: "s3-region", arg: "NAME", group: groupFarm, commands: []string{"farm submit", "farm work", "farm fetch", "farm verify"},
		help: "the object store's region (default AWS_REGION, else us-east-1)",
		to:   func(o *options) any { return &o.s3Region }},
	{name: "nats", arg: "URL", group: groupFarm, commands: farmClients,
		help: "where the farm is (default nats://127.0.0.1:4222)",
		more: "tls://HOST:PORT needs TLS. farm serve with --nats sets the farm up in a NATS cluster that runs already, in place of a server of its own.",
		to:   func(o *options) any { return &o.nats }},
	{name: "key", arg: "FILE", group: groupFarm, commands: farmClients, files: true,
		help: "the secret key of this user, from farm keys",
		to:   func(o *options) any { return &o.key }},
	{name: "creds", arg: "FILE", group: groupFarm, commands: farmClients, files: true,
		help: "credentials for a NATS cluster, in place of --key",
		to:   func(o *options) any { return &o.creds }},
	{name: "ca", arg: "FILE", group: groupFarm, commands: farmClients, files: true,
		help: "certificates that the server's is checked against",
		to:   func(o *options) any { return &o.ca }},
	{name: "listen", arg: "HOST:PORT", def: "127.0.0.1:4222", group: groupFarm, commands: []string{"farm serve"},
		help: "where to take connections",
		more: "Addresses that other machines can reach need --tls-cert, --tls-key and --users.",
		to:   func(o *options) any { return &o.listen }},
	{name: "queue", arg: "DIR", def: "farm-queue", group: groupFarm, commands: []string{"farm serve"}, files: true,
		help: "folder for the queue, on a disk of this machine",
		to:   func(o *options) any { return &o.queueDir }},
	{name: "tls-cert", arg: "FILE", group: groupFarm, commands: []string{"farm serve"}, files: true,
		help: "the server's certificate, PEM",
		to:   func(o *options) any { return &o.tlsCert }},
	{name: "tls-key", arg: "FILE", group: groupFarm, commands: []string{"farm serve"}, files: true,
		help: "the certificate's key, PEM",
		to:   func(o *options) any { return &o.tlsKey }},
	{name: "users", arg: "FILE", group: groupFarm, commands: []string{"farm serve"}, files: true,
		help: "public keys of those who may connect, from farm keys",
		to:   func(o *options) any { return &o.users }},
	{name: "sync", group: groupFarm, commands: []string{"farm serve"},
		help: "flush every write of the queue to the disk before it is answered",
		more: "Without it a power failure may lose what was submitted in the last 2 minutes. Submit again, and only what is missing is made.",
		to:   func(o *options) any { return &o.syncQueue }},
	{name: "lease", arg: "SECONDS", def: "30", group: groupFarm, commands: farmServers,
		help: "how long a photo belongs to a worker that says nothing",
		to:   func(o *options) any { return &o.lease }},
	{name: "attempts", arg: "N", def: "3", group: groupFarm, commands: farmServers,
		help: "workers that may begin a photo and not finish it before it is given up",
		to:   func(o *options) any { return &o.attempts }},
	{name: "queue-bound", arg: "N", def: "100000", group: groupFarm, commands: farmServers,
		help: "photos that may wait; submitters wait beyond that",
		to:   func(o *options) any { return &o.queueBound }},
	{name: "metrics", arg: "HOST:PORT", group: groupFarm, commands: farmServers,
		help: "serve /metrics in Prometheus's text format, and /status as JSON",
		to:   func(o *options) any { return &o.metrics }},
	{name: "name", arg: "NAME", group: groupFarm, commands: []string{"farm work"},
		help: "what the worker is called (default host-process)",
		to:   func(o *options) any { return &o.workerName }},
	{name: "until-idle", group: groupFarm, commands: []string{"farm work"},
		help: "end when no photo waits, for batch systems",
		to:   func(o *options) any { return &o.untilIdle }},
	{name: "sample", arg: "N", def: "20", group: groupFarm, commands: []string{"farm verify"},
		help: "results to compute again; 0 for all",
		to:   func(o *options) any { return &o.check }},
}

// isWord reports whether a value is one of the words that a flag takes.
func (f *flag) isWord(value string) bool {
	return f.words != nil && slices.ContainsFunc(f.words(), func(w string) bool { return strings.EqualFold(w, value) })
}
