//! Makes a Slurm batch script: an array with one task per shard, each alone on its node.
//!
//! Sources: sbatch(1), *Job Array Support*.

use super::{ClusterJob, SHARDS, collected_notice, stoppable_script};
use crate::output::quote;

pub fn build_script(job: &ClusterJob, out: &str) -> String {
    let ClusterJob { name, shards, program, .. } = job;
    let (program, out, check) =
        (quote(program), quote(out), job.check_program_script("\"$bakeoff\""));
    let run = job.run_command(None, "auto", "\"$folder/shard\"");
    let run = stoppable_script(&format!("\"$bakeoff\" {run}"));
    let collected = collected_notice("$target", "$out/shard-*");
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
