# SPDX-License-Identifier: Apache-2.0
# The front door. CI uses these commands and nothing else.
SHELL := /bin/bash
.DEFAULT_GOAL := release
.PHONY: release release-binaries run test check verify lint format bench bench-build bench-cluster bench-fleet bench-jobs bench-learning test-jobs fuzz kernels manifests site image cluster cluster-programs cluster-test cluster-down help clean deps

JOBS ?= $(shell tools/ci/jobs.sh)
release: ## build the optimised release into build/bin (the default)
	@tools/install-deps.sh build
	@cmake --preset release -DAUTOPILOT_TESTS=OFF >/dev/null
	@cmake --build --preset release --target programs -j$(JOBS)
	@echo "built: build/bin/autopilot"

# The simulated machine is a program and libraries of its own.
run: ## build the programs of a node, start the agent on this machine, show the node; ARGS="--simulate hgx-h100-8" goes to the agent
	@tools/install-deps.sh build
	@cmake --preset release -DAUTOPILOT_TESTS=OFF >/dev/null
	@cmake --build --preset release --target $(if $(findstring --simulate,$(ARGS)),programs,node) -j$(JOBS)
	@tools/run.sh $(ARGS)

check: deps ## seconds to two minutes: unit and golden tests of the dev build, for changed files
	@tools/ci/run.py check --jobs $(JOBS)

test: deps ## the tests of CI: unit and golden tests and fuzz corpora with ASan+UBSan, integration tests of the release, a smoke test in a cluster, lints
	@tools/ci/run.py test --jobs $(JOBS)

verify: deps ## hours: everything that test omits: g++ 12, TSan, sanitized integration tests, the whole cluster suite, fuzzing, arm64, tidy of all files; resumes after an interruption
	@tools/ci/run.py verify --jobs $(JOBS)

lint: deps ## format, layers, coroutines, catalog, forbidden calls, words, shell, tidy of changed files
	@tools/ci/run.py lint --jobs $(JOBS)

format: ## format all C++ files in place
	@tools/install-deps.sh lint
	@git ls-files -z '*.cpp' '*.hpp' '*.c' '*.h' | xargs -0 -r clang-format-16 -i

bench: ## measure every budget of one node, as a table (BENCH_LONG=1: ten minutes of rest; BENCH_RECORD=1: into docs)
	@tools/install-deps.sh build test
	@tools/bench.sh $(JOBS)

bench-build: ## measure make run, make test and make check: processor and wall time, cold and warm
	@python3 -B tests/bench/build_bench.py

bench-cluster: ## measure the delay from the kernel log to a Node object, on a real API server (BENCH_LONG=1, BENCH_RECORD=1)
	@tools/install-deps.sh build test cluster
	@tools/install-go.sh
	@tools/bench.sh $(JOBS) cluster

bench-fleet: ## measure one request to a thousand agents, over plain HTTP and inside TLS (BENCH_RECORD=1)
	@tools/install-deps.sh build test
	@tools/bench.sh $(JOBS) fleet

bench-jobs: ## measure the in-flight engine on simulated jobs: recall, false accusations, delays, cost, beside other methods (BENCH_LONG=1: more seeds; BENCH_RECORD=1)
	@tools/install-deps.sh build test
	@tools/bench.sh $(JOBS) jobs

bench-learning: ## measure post-flight learning on simulated fleets: baselines, thresholds, choice of diagnostics, beside other rules (BENCH_LONG=1: more seeds; BENCH_RECORD=1)
	@tools/install-deps.sh build test
	@tools/bench.sh $(JOBS) learning

test-jobs: deps ## an hour: real training jobs with real faults, on nodes that are namespaces, and in a real Slurm
	@tools/install-deps.sh jobs
	@cmake --preset release >/dev/null
	@cmake --build --preset release --target programs -j$(JOBS)
	@ctest --test-dir build/release -L '^jobs$$' --output-on-failure

fuzz: deps ## run every fuzz target for FUZZ_SECONDS (60)
	@tools/ci/run.py fuzz --jobs $(JOBS) --fuzz-seconds $(or $(FUZZ_SECONDS),60)

kernels: ## generate the PTX files of the GPU kernels with clang++-16 and clang++-19
	@tools/install-deps.sh build lint
	@tools/kernels/generate.py

manifests: ## render deploy/manifests/ from the Helm chart
	@tools/install-go.sh
	@tools/deploy/render.py

site: ## build the documentation site into build/site (mkdocs-material; the first time from PyPI)
	@tools/install-deps.sh extras
	@tools/docs/site.py

image: release ## build a container image as a tar, without a registry (IMAGE=name TAG=version)
	@tools/image/build.py $(if $(IMAGE),--image '$(IMAGE)') $(if $(TAG),--tag '$(TAG)')

release-binaries: ## build the prebuilt release for glibc 2.28 and newer: dist/ with a tar.gz, a .deb and a .rpm
	@tools/install-deps.sh build release
	@tools/install-go.sh
	@tools/release/stubs.sh
	@cmake --preset portable >/dev/null
	@cmake --build --preset portable --target programs -j$(JOBS)
	@tools/release/release.py

cluster: release ## start a real Kubernetes cluster on this machine: REAL=0|1|2 kubelets, SIM=n simulated nodes with agents (AGENTS=their arguments); prints a KUBECONFIG
	@tools/install-deps.sh cluster
	@tools/install-go.sh
	@cmake --build --preset release --target autopilot-fleet-sim -j$(JOBS)
	@tests/cluster/cluster.py up --real $(or $(REAL),1) --sim $(or $(SIM),0) --agents="$(AGENTS)"

cluster-programs: ## build Kubernetes and the other programs of a cluster, once, into ~/.cache/autopilot; make test uses them if they exist
	@tools/install-deps.sh cluster
	@tools/install-go.sh
	@tests/cluster/cluster.py build

cluster-test: deps ## run all tests in such a cluster (part of verify)
	@tools/ci/run.py cluster --jobs $(JOBS)

cluster-down: ## stop this cluster
	@tests/cluster/cluster.py down

help: ## print this list
	@sed -n 's/^\([a-z-]*\):[^#]*## /  make \1\t/p' Makefile | expand -t 22

clean: ## remove all build results
	rm -rf build

deps:
	@tools/install-deps.sh build test lint
	@tools/install-deps.sh extras cluster || echo "going on: the tests that need these packages will be skipped"
	@tools/install-go.sh || echo "going on: the tests that need Go will be skipped"
