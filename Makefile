# What a user types: `make demo`. What a change is tried with: `make test`. What CI runs: `.ci/run`.

.PHONY: build demo packages tests test test-slow lint test-all soak bench bench-application bench-client bench-http bench-io findings picture clean

# Tests mostly wait for disks and servers, so that more of them may run at once than there are processors: so many
# of a program, and two programs (see ci/tests).
export RUST_TEST_THREADS ?= 3

build:
	cargo build --release --locked --package bakeoff

# Which embedded engine serves an issue tracker best on this machine, and what does a power cut leave? At most
# 3 minutes. A promise that was broken (exit code 6) is a finding, not a failure.
demo: build
	target=$${CARGO_TARGET_DIR:-target}; "$$target/release/bakeoff" run demo || test $$? -eq 6

# Database servers and FUSE tools from Debian, where they can be installed; see ci/packages.
packages:
	ci/packages

# All programs of tests, built once for `soak` and for CI, which times it; `ci/build-cost` says what each crate took.
tests:
	cargo test --workspace --locked --tests --no-run --timings

# What a change is tried with, again and again; with SLOW=1 the slow tests, too, which run while the short ones wait.
# Examples in documentation are tested in the whole workspace: for some of its crates alone cargo would choose other
# features of what they are built on, and build all of that a second time. Whatever fails, all are run.
chosen = $(if $(SLOW),--include-ignored --skip soak)
test: packages
	cargo fmt --all --check
	failed=0; \
	ci/tests $(chosen) || failed=1; \
	cargo test --workspace --locked --no-fail-fast --doc || failed=1; \
	exit $$failed

# The slow tests alone, marked `ignore`: presets, all engines on all disks, a part of the faults.
test-slow: packages
	ci/tests --ignored --skip soak

lint:
	ci/budget
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked

# All that has to hold before a change lands. What fails to build ends it; of the tests all are run.
test-all: packages
	failed=0; for part in lint "test SLOW=1"; do $(MAKE) $$part || failed=1; done; exit $$failed

# What needs hours or a quiet machine; `ci/soak PART ...` runs parts of it.
soak: packages tests
	ci/soak

# Figures beside their limits; ends with an error when one is missed. On a quiet machine.
bench:
	cargo bench --locked -p bakeoff-load -p bakeoff

# The part of it about an application of SQL: beside the same reads in Rust, and beside pgbench. On a quiet
# machine, 5 minutes.
bench-application:
	cargo bench --locked -p bakeoff --bench application

# The clients beside sysbench's and Tarantool's own: rates, processor time and loading. On a quiet machine, 18 minutes.
bench-client:
	cargo bench --locked -p bakeoff --bench beside -- client

# The HTTP client beside wrk's, on one nginx. On a quiet machine, 7 minutes.
bench-http:
	cargo bench --locked -p bakeoff --bench beside -- http

# Files beside fio's and sysbench's random reads, on the disk of the build. On a quiet machine, 7 minutes.
bench-io:
	cargo bench --locked -p bakeoff --bench beside -- io

# What pages say of the runs that are kept in docs, between their marks; a test says where a page differs.
findings:
	BAKEOFF_SNAPSHOTS=write cargo test --locked -p bakeoff-analysis --test findings

# The picture in README, of a run that is kept in the repository; needs Chromium.
picture: build
	ci/picture

# The guide as a site in target/site; needs mkdocs and python3.
.PHONY: site
site:
	ci/site

clean:
	cargo clean
