//! A script that runs a shard on each of some hosts, all at once, by ssh.

use super::{Asked, Job, usage};
use crate::exit::Failure;
use crate::output::quote;

/// How many shards there are: one a host.
///
/// # Errors
/// Another number than there are hosts, a host twice, and what ssh would take for a flag.
pub fn shards(hosts: &[String], asked: Option<u32>) -> Result<u32, Failure> {
    for (at, host) in hosts.iter().enumerate() {
        super::plain("a host", host)?;
        if host.starts_with('-') || host.is_empty() {
            return Err(usage(format!("`{host}` is no host; write it as ssh takes it: USER@HOST")));
        }
        if hosts[..at].contains(host) {
            return Err(usage(format!(
                "{host} is named twice: two shards on one machine would disturb each other"
            )));
        }
    }
    let number = hosts.len() as u32;
    match asked.filter(|asked| *asked != number) {
        Some(asked) => Err(usage(format!(
            "--shards {asked} does not go with {number} hosts: each host runs one shard; leave \
             --shards out"
        ))),
        None => Ok(number),
    }
}

/// The script, for a machine that reaches all hosts; the shards' run folders are collected in `out`.
pub fn script(job: &Job, hosts: &[String], out: &str) -> String {
    let Job { shards, program, .. } = job;
    let (program, out, check) = (quote(program), quote(out), job.check("./bakeoff"));
    // What was copied beside the program.
    let (copied, experiment) = match &job.experiment {
        Asked::Preset(_) => (String::new(), None),
        Asked::File(path) => {
            let copy = format!("    scp -q -- {} \"$host:$folder/mine.toml\"\n", quote(path));
            (copy, Some("mine.toml"))
        }
    };
    let run = job.command(experiment, &format!("\"$1\"/{shards}"), "shard");
    let hosts = hosts.iter().enumerate();
    let started: String = hosts
        .map(|(at, host)| format!("shard {} {} &\nrunning+=($!)\n", at + 1, quote(host)))
        .collect();
    format!(
        r##"#!/bin/bash
# {shards} shards of a plan, each on a host of its own:
#   bash FILE
#   bakeoff merge all {out}/shard-*
set -euo pipefail

bakeoff={program}
out={out}

# shard NUMBER HOST
shard() {{
    local number=$1 host=$2 folder status=0
    local target=$out/shard-$number
    if [ -e "$target" ]; then
        echo "$host: $target is there already; move it away" >&2
        return 3
    fi
    folder=$(ssh -n -- "$host" 'mktemp -d /var/tmp/bakeoff.XXXXXX')
    scp -q -- "$bakeoff" "$host:$folder/bakeoff"
{copied}    ssh -- "$host" "cd $folder && exec bash -s $number" <<'END' || status=$?
set -euo pipefail
{check}exec ./bakeoff {run} < /dev/null
END
    if ssh -n -- "$host" "[ -d $folder/shard ]"; then
        rm -rf -- "$target.part"
        scp -q -r -- "$host:$folder/shard" "$target.part"
        mv -T -- "$target.part" "$target"
    fi
    ssh -n -- "$host" "rm -rf $folder"
    [ "$status" = 0 ] || echo "$host: shard $number ended with $status" >&2
    return "$status"
}}

mkdir -p -- "$out"
running=()
{started}status=0
for process in "${{running[@]}}"; do
    wait "$process" || status=$?
done
exit "$status"
"##
    )
}
