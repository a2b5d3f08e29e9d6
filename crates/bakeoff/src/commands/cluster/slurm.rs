//! A batch script of Slurm: an array, a task a shard, each on a node that it has for itself.
//!
//! Sources: sbatch(1), *Job Array Support*.

use super::{ClusterJob, SHARDS, collected, stoppable};
use crate::output::quote;

/// The script; the shards' run folders are collected in `out`.
pub fn script(job: &ClusterJob, out: &str) -> String {
    let ClusterJob { name, shards, program, .. } = job;
    let (program, out, check) = (quote(program), quote(out), job.check("\"$bakeoff\""));
    let run = job.command(None, "auto", "\"$folder/shard\"");
    let run = stoppable(&format!("\"$bakeoff\" {run}"));
    let collected = collected("$target", "$out/shard-*");
    format!(
        r##"#!/bin/bash
# {shards} shards of a plan, each on a whole node and on its own disk:
#   sbatch FILE
#   bakeoff merge all {out}/shard-*
#SBATCH --job-name={name}
#SBATCH --array=1-{shards}
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --exclusive
#SBATCH --mem=0
#SBATCH --no-requeue
#SBATCH --signal=B:TERM@300
#SBATCH --output={name}-%A_%a.log
set -euo pipefail

bakeoff={program}
out={out}
{check}
# A task that is run again alone still knows of how many it is one.
export {SHARDS}={shards}
target=$out/shard-$SLURM_ARRAY_TASK_ID
if [ -e "$target" ]; then
    echo "$target is there already; move it away" >&2
    exit 3
fi

# Not in a folder that nodes share: its file system would be what is measured.
# Slurm itself sets TMPDIR=/tmp where nothing else is set, which may be memory.
base=${{SLURM_TMPDIR:-${{TMPDIR:-/tmp}}}}
[ "$base" != /tmp ] || base=/var/tmp
folder=$(mktemp -d -- "$base/bakeoff.XXXXXX")

# When its time is over the run ends with what it has, and that is collected, too.
{run}
if [ -d "$folder/shard" ]; then
    mkdir -p -- "$out"
    rm -rf -- "$target.part-$SLURM_JOB_ID"
    cp -R -- "$folder/shard" "$target.part-$SLURM_JOB_ID"
    mv -T -- "$target.part-$SLURM_JOB_ID" "$target"
    {collected}fi
rm -rf -- "$folder"
exit "$status"
"##
    )
}
