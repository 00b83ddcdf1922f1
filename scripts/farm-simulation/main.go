// Command farm-simulation prints what a farm of 1,000 workers does with up to 10^7 photos:
// how deep the queue is, how many messages there are, and what saturates first. The times
// that it assumes are flags; docs/measured/farm.md says where their defaults come from.
//
//	go run ./scripts/farm-simulation
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"

	"enhance/internal/farm"
	"enhance/internal/farm/sim"
)

func main() {
	photos := flag.Int("photos", 10_000_000, "photos of the largest farm")
	message := flag.Float64("message", 40e-6, "seconds that the queue's server needs for a message")
	store := flag.Float64("store", 10e9, "bytes a second of the store of photos and results")
	publish := flag.Float64("publish", 0.01, "seconds of a publication besides the bytes")
	flag.Parse()
	fmt.Println("| workers | photos | days | photos/s | queue at most | on average | submitter's tasks | messages/s | server busy | store busy | workers busy | given up | again |")
	fmt.Println("|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
	for _, n := range []int{1, 10, 100, 1000} {
		c := sim.Config{
			// Half of the workers are fast GPUs, two fifths slower ones, the rest CPUs.
			Workers: []sim.Kind{{Name: "fast", Count: (n + 1) / 2, Seconds: 0.5}, {Name: "slow", Count: n * 2 / 5, Seconds: 3}, {Name: "CPU", Count: n / 10, Seconds: 40}},
			Photos:  *photos / 1000 * n, Policy: farm.DefaultPolicy(), Seed: 1,
			PhotoBytes: 25e6, ResultBytes: 20e6, StoreRate: *store, PublishTime: *publish, MessageTime: *message, SubmitRate: 2000,
			Poison: 1e-5, KillTime: 24 * 3600, Restart: 10,
		}
		r := sim.Run(c)
		fmt.Printf("| %d | %d | %.2f | %.1f | %d | %.0f | %d kB | %.0f | %.1f %% | %.0f %% | %.0f %% | %d | %d |\n", n, c.Photos, r.Seconds/86400, float64(c.Photos)/r.Seconds,
			r.MaxQueue, r.MeanQueue, r.SubmitterBytes>>10, r.Messages/r.Seconds, 100*r.ServerBusy, 100*r.StoreBusy, 100*r.WorkersBusy, r.Dead, r.Again)
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	fmt.Fprintf(os.Stderr, "the simulation held %d MB\n", m.Sys>>20)
}
