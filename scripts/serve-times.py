# Times enhance with and without a server, in turn, and compares the pictures:
# python3 serve-times.py ENHANCE RAW768x512 OUTDIR RUNS RUNS12MP [FLAGS...]
import os, subprocess, sys, time, resource
enhance, photo, out, runs, runs12, flags = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]), sys.argv[6:]
os.makedirs(out, exist_ok=True)
os.environ["XDG_RUNTIME_DIR"] = out
small = open(photo, "rb").read()
w, h, W, H = 768, 512, 3968, 2880
big = out + "/big.raw"
with open(big, "wb") as f:
    for y in range(H):
        row = small[(y % h) * w * 2:(y % h + 1) * w * 2]
        f.write((row * (W // w + 1))[:W * 2])
tick = os.sysconf("SC_CLK_TCK")
def cpu(pid):
    s = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
    return sum(map(int, s[11:15])) / tick
def once(args, server):
    a, c = resource.getrusage(resource.RUSAGE_CHILDREN), cpu(server) if server else 0
    t = time.time()
    p = subprocess.run([enhance] + args + flags, stderr=subprocess.PIPE, text=True)
    t = time.time() - t
    b = resource.getrusage(resource.RUSAGE_CHILDREN)
    if p.returncode: sys.exit(p.stderr)
    used = "\nserver " in "\n" + p.stderr
    if used != bool(server): sys.exit("server used: %s\n%s" % (used, p.stderr))
    return t, b.ru_utime + b.ru_stime - a.ru_utime - a.ru_stime + (cpu(server) - c if server else 0)
def name(k, way): return f"{out}/{k}.{way}.png"
jobs = [("768x512", [photo, "--raw-size", f"{w}x{h}"], runs), ("3968x2880", [big, "--raw-size", f"{W}x{H}"], runs12)]
once(jobs[0][1] + ["--cfa", "RGGB", "-y", "-o", name("768x512", "alone"), "--no-server"], None)  # kernels into the cache
srv = subprocess.Popen([enhance, "serve"] + flags, stderr=subprocess.DEVNULL)
while not os.path.exists(out + "/enhance.sock"): time.sleep(0.05)
time.sleep(1)
print("| photo | way | wall, best (s) | wall, median (s) | processor, median (s) |\n|---|---|---|---|---|")
for k, args, n in jobs:
    args = args + ["--cfa", "RGGB", "-y"]
    if not n: continue
    once(args + ["-o", name(k, "server")], srv.pid)  # the first photo of its size
    ways = {"own process": [], "server": []}
    for _ in range(n):
        ways["own process"].append(once(args + ["-o", name(k, "alone"), "--no-server"], None))
        ways["server"].append(once(args + ["-o", name(k, "server")], srv.pid))
    same = open(name(k, "alone"), "rb").read() == open(name(k, "server"), "rb").read()
    for way, r in ways.items():
        print(f"| {k} | {way} | {min(r)[0]:.2f} | {sorted(x[0] for x in r)[n//2]:.2f} | {sorted(x[1] for x in r)[n//2]:.2f} |")
    print(f"| {k} | same bytes | {same} | | |", flush=True)
srv.terminate(); print("server's status:", srv.wait())
