# What a user types: `make demo`. What CI runs: `make test-all`, with `make test` in it.

.PHONY: build demo packages test lint test-slow test-all bench clean

build:
	cargo build --release --locked --package bakeoff

# Which embedded engine serves an issue tracker best on this machine? At most 3 minutes.
demo: build
	cargo run --release --locked --quiet --package bakeoff -- run redmine --quick

# Database servers and FUSE tools from Debian, where they can be installed; see ci/packages.
packages:
	ci/packages

# What a change is tried with, again and again: about 15 minutes on 2 processors, from a clean clone.
test: packages
	cargo fmt --all --check
	cargo test --workspace --locked --no-fail-fast

# Tests that take long, marked `ignore`: whole presets, all engines on all disks, faults, fuzzing, soaks.
# BAKEOFF_FUZZ_SECONDS=600 changes run folders and experiments for longer than 20 s each.
test-slow: packages
	cargo test --workspace --locked --no-fail-fast --tests -- --ignored

lint:
	cargo fmt --all --check
	ci/deny
	cargo clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked

# All that has to hold before a change lands, whatever fails of it.
test-all:
	failed=0; for part in lint test test-slow; do $(MAKE) $$part || failed=1; done; exit $$failed

# Figures beside their limits; ends with an error when one is missed.
bench:
	cargo bench --locked -p bakeoff-load -p bakeoff-analysis -p bakeoff

clean:
	cargo clean
