//! Makes a script that runs a shard on each of several hosts at the same time, by ssh.

use super::{ClusterExperiment, ClusterJob, collected_notice, usage_failure};
use crate::exit::CommandFailure;
use crate::output::quote;

pub fn count_shards(hosts: &[String], asked: Option<u32>) -> Result<u32, CommandFailure> {
    for (at, host) in hosts.iter().enumerate() {
        super::check_plain_text("a host", host)?;
        if host.starts_with('-') || host.is_empty() {
            return Err(usage_failure(format!(
                "`{host}` is no host; write it as ssh takes it: USER@HOST"
            )));
        }
        if hosts[..at].contains(host) {
            return Err(usage_failure(format!(
                "{host} is named twice: two shards on one machine would disturb each other"
            )));
        }
    }
    let number = hosts.len() as u32;
    match asked.filter(|asked| *asked != number) {
        Some(asked) => Err(usage_failure(format!(
            "--shards {asked} does not go with {number} hosts: each host runs one shard; leave \
             --shards out"
        ))),
        None => Ok(number),
    }
}

/// The script runs on a machine that reaches all hosts; the run folders are collected in `out`.
pub fn build_script(job: &ClusterJob, hosts: &[String], out: &str) -> String {
    let ClusterJob { shards, program, .. } = job;
    let (program, out, check) = (quote(program), quote(out), job.check_program_script("./bakeoff"));
    // Files that were copied with the program.
    let (copied, experiment) = match &job.experiment {
        ClusterExperiment::Preset(_) => (String::new(), None),
        ClusterExperiment::File(path) => {
            let file = quote(path);
            let copy = format!(" &&\n        scp -q -- {file} \"$host:$folder/mine.toml\"");
            (copy, Some("mine.toml"))
        }
    };
    let run = job.run_command(experiment, &format!("\"$1\"/{shards}"), "shard");
    let collected = collected_notice("$target", "$out/shard-*");
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

# All that is said of a shard, with its host before each line. Its report is in its folder.
# shard NUMBER HOST
shard() {{
    attempt "$@" 2>&1 | while IFS= read -r line || [ -n "$line" ]; do
        # Whoever reads may have gone: the shard goes on.
        printf '%s: %s\n' "$2" "$line" >&2 || :
    done
}}

attempt() {{
    local number=$1 host=$2 folder status=0 there=0
    local target=$out/shard-$number
    if [ -e "$target" ]; then
        echo "$target is there already; move it away"
        return 3
    fi
    if ! folder=$(ssh -n -- "$host" 'mktemp -d /var/tmp/bakeoff.XXXXXX'); then
        echo "shard $number was not begun: no folder could be made in /var/tmp"
        return 1
    fi
    if scp -q -- "$bakeoff" "$host:$folder/bakeoff"{copied}; then
        ssh -- "$host" "cd $folder && exec bash -s $number" <<'END' || status=$?
set -euo pipefail
{check}exec ./bakeoff {run} < /dev/null > /dev/null
END
    else
        echo "shard $number was not begun: it could not be copied to $folder"
        status=1
    fi
    # 1 where there is none, 255 where ssh fails.
    ssh -n -- "$host" "[ -d $folder/shard ]" || there=$?
    if [ "$there" = 0 ]; then
        rm -rf -- "$target.part"
        if scp -q -r -- "$host:$folder/shard" "$target.part" && mv -T -- "$target.part" "$target"; then
            {collected}        else
            there=255
        fi
    fi
    if [ "$there" -le 1 ]; then
        ssh -n -- "$host" "rm -rf $folder" || echo "$folder could not be removed"
    else
        # Nothing else holds what was measured.
        echo "shard $number could not be fetched: what there is of it is in $folder/shard"
        [ "$status" != 0 ] || status=1
    fi
    [ "$status" = 0 ] || echo "shard $number ended with $status"
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
