# Needs Go, make and a POSIX shell; everything else is set up by the targets
# that need it. `make` alone lists the targets.

GO       ?= $(shell command -v go || echo /usr/local/go/bin/go)
FUZZTIME ?= 10m
TIME     ?= 10m
BENCH    ?= .
PKG      ?= ./...

# A Python with PyTorch, for train-test and compare-cpu alone.
PYTHON   ?= $(firstword $(wildcard /usr/bin/python3) python3)

# No C compiler is needed, except by the race detector.
export CGO_ENABLED = 0

STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2

SAMPLE = testdata/raw/colorchart.dng
RESULT = out/colorchart.png

.DEFAULT_GOAL := help
.PHONY: help build run test train-test test-race test-long fuzz bench lint oclgrind pictures measure compare-cpu hostile dist clean check-go opencl libraw

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: check-go ## build bin/enhance
	@$(GO) build -o bin/enhance ./cmd/enhance

# The sample's own white balance is wrong for its light, and it is two stops dark.
run: build opencl libraw ## enhance the sample photo to out/colorchart.png
	@mkdir -p $(dir $(RESULT))
	@bin/enhance $(SAMPLE) -o $(RESULT) -y --wb 1.47,1,2.26 --exposure 2
	@echo "Look at $(RESULT)"

test: lint opencl libraw ## check and test everything
	@ENHANCE_REQUIRE_OPENCL=1 $(GO) test -timeout 25m $(PKG)

test-race: check-go opencl ## test in short under the race detector (needs a C compiler)
	@command -v "$${CC:-cc}" >/dev/null || scripts/apt-install.sh "a C compiler" gcc libc6-dev
	@CGO_ENABLED=1 ENHANCE_REQUIRE_OPENCL=1 $(GO) test -timeout 25m -short -race $(PKG)

train-test: ## test the training recipe in train/ (needs python3 with PyTorch; PYTHON=path)
	@cd train && $(PYTHON) test_train.py

test-long: check-go opencl ## test with ten times as many random cases
	@ENHANCE_LONG=1 ENHANCE_REQUIRE_OPENCL=1 $(GO) test -timeout 60m $(PKG)

fuzz: check-go ## run every fuzz target for FUZZTIME (10m) each
	@scripts/fuzz.sh "$(GO)" $(FUZZTIME)

bench: check-go opencl ## run the benchmarks (BENCH=regexp PKG=packages)
	@$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem $(PKG)

lint: check-go ## gofmt, go vet and staticcheck
	@scripts/gofmt-check.sh "$(GO)"
	@$(GO) vet ./...
	@$(GO) run $(STATICCHECK) ./...

oclgrind: check-go ## run the kernels' small tests in oclgrind: bounds, races, API use
	@scripts/oclgrind.sh "$(GO)"

pictures: build opencl ## make the pictures of README.md again
	@scripts/pictures.sh "$(GO)"

measure: build opencl ## measure memory and time of the sample under several budgets
	@scripts/measure-mem.sh

compare-cpu: build opencl ## time whole networks beside PyTorch (PYTHON=/usr/bin/python3)
	@$(PYTHON) scripts/compare-pytorch-cpu.py

hostile: build ## run the program on damaged files and in failing surroundings (TIME=10m CASES=n SEED=n)
	@nice -n 10 $(GO) run ./scripts/hostile -time $(TIME) $(if $(CASES),-cases $(CASES)) $(if $(SEED),-seed $(SEED))

dist: check-go ## build and pack enhance for five systems in out/dist
	@$(GO) run ./scripts/dist

clean: ## remove what the other targets made
	@rm -rf bin out

# Set-up, called by the targets above.
check-go:
	@scripts/check-go.sh "$(GO)"

opencl: check-go
	@scripts/setup-opencl.sh "$(GO)"

libraw:
	@scripts/setup-libraw.sh
