//! `bakeoff merge`: makes one run folder of a plan's shards. The shards are only read.

mod alike;
mod earlier;
mod missing;
mod piece;
mod sources;

use std::path::Path;

use bakeoff_results::{
    Applied, Error, FolderSnapshot, MergePart, Merged, Run, RunFolder, RunMember, Status,
};

use self::earlier::EarlierMerge;
use self::missing::MergeGaps;
use self::piece::MergePiece;
use self::sources::ShardSource;
use super::report;
use super::report::REPORT;
use crate::cli;
use crate::exit::{CommandFailure, Exit};
use crate::output::{print, quote, write_here};

/// Merges into a new folder, or into a merged run of the same plan.
pub fn run(arguments: &cli::Merge) -> Result<Exit, CommandFailure> {
    let folders: Result<Vec<RunFolder>, Error> =
        arguments.shards.iter().map(|dir| RunFolder::open(dir)).collect();
    let folders = folders.map_err(CommandFailure::from_folder_error)?;
    // A shard may still run: everything is read as of one moment.
    let still: Result<Vec<FolderSnapshot<'_>>, Error> =
        folders.iter().map(RunFolder::begin_snapshot).collect();
    let _still = still.map_err(CommandFailure::from_folder_error)?;
    let sources: Result<Vec<ShardSource<'_>>, CommandFailure> =
        folders.iter().map(ShardSource::read_folder).collect();
    let sources = sources?;
    alike::check_alike(
        &sources[0].merge_terms(),
        sources[1..].iter().map(ShardSource::merge_terms),
    )?;
    let sources = sources::each_once(sources)?;
    let out = &arguments.out;
    if out.is_file() {
        let text = "is a file, and no run folder; name first the folder of the merged run";
        return Err(CommandFailure::new(Exit::Folder, format!("{} {text}", out.display())));
    }
    let left = match RunFolder::check_free(out) {
        Ok(()) => {
            let it = RunMerger::from_sources(&sources, None);
            let merged = RunFolder::merge_parts(
                out,
                &it.run,
                &sources[0].experiment,
                it.find_ending(),
                &it.parts,
            );
            merged.map(drop).map_err(write_failure)?;
            it.left
        }
        Err(Error::Exists(_)) => {
            let held = RunFolder::lock_folder(out).map_err(write_failure)?;
            let mut earlier = EarlierMerge::read_folder(out)?;
            alike::check_alike(
                &earlier.merge_terms(),
                sources.iter().map(ShardSource::merge_terms),
            )?;
            earlier.leave_to(&sources);
            earlier.check_sources(&sources)?;
            let it = RunMerger::from_sources(&sources, Some(&earlier));
            held.rewrite_database(&it.run, &earlier.experiment, it.find_ending(), &it.parts)
                .map_err(write_failure)?;
            it.left
        }
        Err(error) => return Err(CommandFailure::from_folder_error(error)),
    };
    left.print_gaps(out, &sources);
    show_merged(out)?;
    Ok(Exit::Done)
}

struct RunMerger<'a> {
    run: Run,
    parts: Vec<MergePart<'a>>,
    left: MergeGaps,
}

impl<'a> RunMerger<'a> {
    fn from_sources(sources: &'a [ShardSource<'_>], earlier: Option<&'a EarlierMerge>) -> Self {
        let others = earlier.map(EarlierMerge::went_on).unwrap_or_default();
        let mut pieces: Vec<MergePiece<'a>> =
            sources.iter().map(|it| it.to_piece(&others)).collect();
        pieces.extend(earlier.into_iter().flat_map(|it| it.kept_pieces(sources)));
        // The machine that continued the merged run comes last.
        pieces.sort_by_key(|piece| piece.member.shard.unwrap_or(u32::MAX));
        let runs = sources.iter().map(|it| &it.run).chain(earlier.map(|it| &it.run));
        let runs: Vec<&Run> = runs.collect();
        let each_cut = sources.iter().filter_map(|it| cuts_each(&it.run, it.shard.cuts.len()));
        let of_earlier = earlier.and_then(|it| cuts_each(&it.run, it.cut_cells));
        let each_cut = each_cut.chain(of_earlier).max().unwrap_or(0);
        let members: Vec<RunMember> = pieces.iter().map(|piece| piece.member.clone()).collect();
        let shard = &sources[0].shard;
        let merged = Merged {
            plan: shard.plan.clone(),
            program_sha256: shard.program_sha256.clone(),
            count: shard.count,
            members,
        };
        let lacks = shard.trials.saturating_sub(merged.count_trials());
        let went_on = merged.went_on_last().is_some();
        // If every trial has a machine, the one that continued has run, or runs, what was missing
        // then.
        let missing = if went_on && lacks == 0 { Vec::new() } else { merged.list_missing() };
        let unfinished = pieces.iter().map(|piece| (piece.member.shard, piece.unfinished_blocks()));
        let left = MergeGaps {
            trials: if missing.is_empty() { lacks } else { 0 },
            shards: missing,
            count: merged.count,
            blocks: unfinished.filter(|(_, blocks)| !blocks.is_empty()).collect(),
            cuts: pieces.iter().map(|it| it.cuts_left(each_cut)).fold(0, u32::saturating_add),
            ended_s: merged.members.iter().filter_map(|it| it.ended_s).reduce(f64::max),
        };
        let run = describe_merged(&runs, shard.trials, each_cut, merged);
        Self { run, parts: pieces.into_iter().map(|piece| piece.part).collect(), left }
    }

    fn find_ending(&self) -> (Status, Option<f64>) {
        match self.left.is_nothing() {
            true => (Status::Finished, self.left.ended_s),
            false => (Status::Unfinished, None),
        }
    }
}

/// How many power cuts a run has per engine and level; `None` without power cuts.
fn cuts_each(run: &Run, cells: usize) -> Option<u32> {
    run.cuts.as_ref()?.planned.checked_div(cells as u32)
}

/// Describes a merged run: common facts come from the first shard, totals from all of them.
fn describe_merged(runs: &[&Run], trials: u32, each_cut: u32, merged: Merged) -> Run {
    let first = runs[0];
    let members = &merged.members;
    let terms = |it: &Applied| {
        (it.engine.clone(), it.durability.clone(), it.memory.clone(), it.options.clone())
    };
    let mut run = Run {
        command: whole_command(&first.command),
        planned: trials,
        started_s: members.iter().map(|it| it.started_s).fold(f64::INFINITY, f64::min),
        machine: members[0].machine.clone(),
        harness_s: members.iter().map(|it| it.harness_s).fold(0.0, f64::max),
        load: members.iter().filter_map(|it| it.load).reduce(f64::max),
        neighbour_alone_per_second: None,
        estimated_s: None,
        shard: None,
        ..first.clone()
    };
    for other in &runs[1..] {
        for engine in &other.engines {
            if run.engines.iter().all(|known| known.name != engine.name) {
                run.engines.push(engine.clone());
            }
        }
        for applied in &other.applied {
            if run.applied.iter().all(|known| terms(known) != terms(applied)) {
                run.applied.push(applied.clone());
            }
        }
        for answers in &other.answers {
            if !run.answers.contains(answers) {
                run.answers.push(answers.clone());
            }
        }
    }
    let cells: usize = members.iter().map(|it| it.cuts.len()).sum();
    if let Some(plan) = &mut run.cuts {
        plan.planned = each_cut.saturating_mul(cells as u32);
    }
    run.merged = Some(merged);
    run
}

fn whole_command(command: &str) -> String {
    let mut words = command.split(' ');
    let mut kept = Vec::new();
    while let Some(word) = words.next() {
        match word {
            "--shard" => drop(words.next()),
            "--same-machine" => {}
            word if word.starts_with("--shard=") => {}
            word => kept.push(word),
        }
    }
    kept.join(" ")
}

fn show_merged(out: &Path) -> Result<(), CommandFailure> {
    let document = report::read_document(out)?;
    if document.trials.is_empty() && document.cuts.is_empty() {
        return print("nothing has been measured yet\n");
    }
    let path = out.join(REPORT);
    let page = report::render_document(&document, "html", &report::output_options(false))?;
    write_here(&path, &page).map_err(|failure| page_failure(out, &failure))?;
    let verdict = bakeoff_report::verdict(&document);
    print(&format!("{verdict}\n\nThe report: {}\n", path.display()))
}

/// Says why a merged run's page could not be written, and how to make it elsewhere.
fn page_failure(out: &Path, failure: &CommandFailure) -> CommandFailure {
    let (dir, why, folder) = (out.display(), &failure.message, quote(&out.to_string_lossy()));
    let text = format!(
        "the run is merged in {dir}, and only its page is missing: {why}; make it elsewhere: \
         bakeoff report {folder} -o page.html"
    );
    CommandFailure::new(failure.exit, text)
}

fn write_failure(error: Error) -> CommandFailure {
    match error {
        Error::CannotWrite { path, cause } => {
            let what = path.display();
            let why = format!("cannot write {what}: {cause}; the shards are as they were");
            CommandFailure::new(Exit::Folder, why)
        }
        error @ Error::NoRoom { .. } => {
            CommandFailure::new(Exit::Folder, format!("{error}; the shards are as they were"))
        }
        // The folder was free a moment ago.
        Error::Busy(dir) | Error::Exists(dir) => {
            let what = dir.display();
            let why = format!(
                "another bakeoff is writing to {what}; wait until it ends, or merge into another folder"
            );
            CommandFailure::new(Exit::Folder, why)
        }
        error => CommandFailure::from_folder_error(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_comes_second_of_two_merges_is_told_that_another_writes() {
        for error in [Error::Busy("all".into()), Error::Exists("all".into())] {
            let message = write_failure(error).message;
            assert!(message.starts_with("another bakeoff is writing to all;"), "{message}");
            assert!(!message.contains("--out"), "merge has no such flag: {message}");
        }
    }

    #[test]
    fn a_page_that_finds_no_room_keeps_its_exit_code_and_says_that_the_run_is_merged() {
        let full =
            CommandFailure::new(Exit::Full, "my all/report.html can't be written: no space left");
        let failure = page_failure(Path::new("my all"), &full);
        assert_eq!(failure.exit, Exit::Full);
        let wanted = "the run is merged in my all, and only its page is missing: my all/report.html can't be \
                      written: no space left; make it elsewhere: bakeoff report 'my all' -o page.html";
        assert_eq!(failure.message, wanted);
    }

    #[test]
    fn the_command_of_a_merged_run_is_of_the_whole_plan() {
        for command in [
            "bakeoff run redmine --shard 2/8 --quick",
            "bakeoff run redmine --shard=2/8 --quick --same-machine",
            "bakeoff run redmine --quick",
        ] {
            assert_eq!(whole_command(command), "bakeoff run redmine --quick");
        }
    }
}
