//! Says what a merged run lacks of its plan, and how to run it.

use std::path::Path;

use bakeoff_lab::machine::NO_FILE_SYSTEM;
use bakeoff_results::{Machine, Status};

use super::sources::ShardSource;
use crate::output::{quote, say};

pub struct MergeGaps {
    pub shards: Vec<u32>,
    pub count: u32,
    pub trials: u32,
    pub blocks: Vec<(Option<u32>, Vec<u32>)>,
    pub cuts: u32,
    /// When the last machine ended, in seconds since 1970 by that machine's clock.
    pub ended_s: Option<f64>,
}

impl MergeGaps {
    pub fn is_nothing(&self) -> bool {
        self.shards.is_empty() && self.trials == 0 && self.blocks.is_empty() && self.cuts == 0
    }

    pub fn print_gaps(&self, out: &Path, sources: &[ShardSource<'_>]) {
        let shards: Vec<String> = self.shards.iter().map(u32::to_string).collect();
        match shards.len() {
            0 => {}
            1 => say(format_args!("shard {} of {} is missing", shards[0], self.count)),
            _ => say(format_args!("shards {} of {} are missing", shards.join(", "), self.count)),
        }
        for (shard, blocks) in &self.blocks {
            let numbers: Vec<String> = blocks.iter().map(u32::to_string).collect();
            let noun = if blocks.len() == 1 { "block" } else { "blocks" };
            let what = format!("{noun} {}", numbers.join(", "));
            let source = sources.iter().find(|source| Some(source.shard.index) == *shard);
            match (shard, source) {
                (Some(_), Some(source)) => say(format_args!("{}", of_shard(source, &what))),
                (Some(shard), None) => say(format_args!("shard {shard} lacks {what}")),
                (None, _) => say(format_args!("what --resume ran of the merged run lacks {what}")),
            }
        }
        if self.trials > 0 {
            say(format_args!("{} trials are missing that no machine has begun", self.trials));
        }
        if self.cuts > 0 {
            say(format_args!("{} power cuts are missing", self.cuts));
        }
        if !self.is_nothing() {
            let out = quote(&out.to_string_lossy());
            say(format_args!(
                "to run all that is missing on this machine: bakeoff run --resume {out}"
            ));
        }
    }
}

fn of_shard(source: &ShardSource<'_>, what: &str) -> String {
    let shard = source.shard.index;
    if source.is_written {
        return format!(
            "shard {shard} is still running, and lacks {what}: merge it again when it has ended"
        );
    }
    let host = &source.shard.host.name;
    let is_here = *host == bakeoff_lab::machine::identify_host().name;
    // From here a process on another machine can't be seen.
    let may_run = match source.status == Status::Unfinished && !is_here {
        true => format!("; it is still running on {host}, or was killed there"),
        false => String::new(),
    };
    let now = bakeoff_lab::describe_machine(source.dir()).ok();
    let place = if is_here { String::new() } else { format!(", on {host}") };
    let (with, flag) = resume_place(&source.run.machine, now.as_ref());
    let folder = quote(&source.dir().to_string_lossy());
    format!(
        "shard {shard} lacks {what}{may_run}; to run that where it began{place}{with}, and merge it again: \
         bakeoff run --resume {folder}{flag}"
    )
}

/// Words that explain the flag's placeholder, and the flag; empty if the data lie in the run
/// folder.
fn resume_place(then: &Machine, now: Option<&Machine>) -> (String, &'static str) {
    let Machine { device, file_system, .. } = then;
    if now.is_some_and(|now| then.has_disk_of(now)) {
        return (String::new(), "");
    }
    match *file_system == NO_FILE_SYSTEM {
        true => (
            format!(" with the raw device of its data ({device}) as DEVICE"),
            " --path DEVICE --i-know-this-destroys-data",
        ),
        false => (
            format!(" with a folder on the disk of its data ({device}, {file_system}) as DISK"),
            " --path DISK",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_goes_on_with_a_collected_shard_names_the_disk_that_its_data_lay_on() {
        let machine = |device: &str, file_system: &str| {
            let (device, file_system) = (device.to_owned(), file_system.to_owned());
            Machine { device, file_system, ..Machine::default() }
        };
        let began = machine("/dev/md0", "xfs");
        let of = |then: &Machine, now: &Machine| resume_place(then, Some(now));
        let with = " with a folder on the disk of its data (/dev/md0, xfs) as DISK".to_owned();
        assert_eq!(of(&began, &machine("/dev/md0", "xfs")), (String::new(), ""));
        assert_eq!(of(&began, &machine("/dev/sda1", "xfs")), (with.clone(), " --path DISK"));
        assert_eq!(of(&began, &machine("/dev/md0", "ext4")), (with, " --path DISK"));
        let (with, flag) = of(&machine("/dev/sdz, disk 17", NO_FILE_SYSTEM), &began);
        assert!(with.contains("/dev/sdz, disk 17"), "{with}");
        assert_eq!(flag, " --path DEVICE --i-know-this-destroys-data");
    }
}
