# What a user types: `make demo`. What CI runs: `make test`.

.PHONY: build demo packages test bench clean

build:
	cargo build --release --locked

# Which embedded engine serves an issue tracker best on this machine? At most 3 minutes.
demo: build
	cargo run --release --locked --quiet --package bakeoff -- run redmine --quick

# Database servers and FUSE tools from Debian, where they can be installed; see ci/packages.
packages:
	ci/packages

# BAKEOFF_FUZZ_SECONDS=600 changes run folders and experiments for longer than 20 s each.
test: packages
	cargo fmt --all --check
	ci/deny
	cargo clippy --workspace --all-targets --locked -- -D warnings
	cargo test --workspace --locked --no-fail-fast
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked

# Figures beside their limits; ends with an error when one is missed.
bench:
	cargo bench --locked -p bakeoff-load -p bakeoff-analysis -p bakeoff

clean:
	cargo clean
