#!/bin/sh
# Three runs of 20 fixed repetitions, about 5 minutes each on two processors, and how many of their blocks
# the planner until-decided would have needed: each condition, and whether its words would be the same.
#
# Usage: docs/findings/until-decided.sh [FOLDER]   (run folders are made there; the present one by default)
set -eu
here=$(cd "$(dirname "$0")/../.." && pwd)
folder=${1:-.}
mkdir -p "$folder"
cargo build --release --locked --manifest-path "$here/Cargo.toml" --package bakeoff
cargo build --release --locked --manifest-path "$here/Cargo.toml" --package bakeoff-analysis --example replay
bakeoff=$here/target/release/bakeoff
common="--repetitions 20 --seconds 2.5 --scale small --disk host --memory unlimited --noise-floor false"

run() {
    name=$1
    shift
    [ -d "$folder/$name" ] || "$bakeoff" run redmine --state warm $common --out "$folder/$name" "$@"
}

run clients --engine sqlite,lmdb,fjall --durability relaxed --neighbours 0 --clients 1,4
run durability --engine sqlite,lmdb --compare durability --durability relaxed,strict --neighbours 0 --clients 1
run neighbours --engine sqlite,fjall --durability strict --neighbours 0,x2 --clients 2

"$here/target/release/examples/replay" "$folder/clients" "$folder/durability" "$folder/neighbours"
