//! `bakeoff merge`: one run folder of the shards of a plan. The shards are only read.

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
use super::run::REPORT;
use crate::Lab;
use crate::cli;
use crate::exit::{CommandFailure, Exit};
use crate::output::{print, quote, write_here};

/// Merges shards into a new folder, or into one that holds a merged run of the same plan.
pub fn run(lab: &Lab, arguments: &cli::Merge) -> Result<Exit, CommandFailure> {
    let folders: Result<Vec<RunFolder>, Error> =
        arguments.shards.iter().map(|dir| RunFolder::open(dir)).collect();
    let folders = folders.map_err(CommandFailure::folder)?;
    // A shard may be going on: all that is read of it is of one moment.
    let still: Result<Vec<FolderSnapshot<'_>>, Error> =
        folders.iter().map(RunFolder::snapshot).collect();
    let _still = still.map_err(CommandFailure::folder)?;
    let sources: Result<Vec<ShardSource<'_>>, CommandFailure> =
        folders.iter().map(ShardSource::read).collect();
    let sources = sources?;
    alike::check(&sources[0].terms(), sources[1..].iter().map(ShardSource::terms))?;
    let sources = sources::once(sources)?;
    let out = &arguments.out;
    if out.is_file() {
        let text = "is a file, and no run folder; name first the folder of the merged run";
        return Err(CommandFailure::new(Exit::Folder, format!("{} {text}", out.display())));
    }
    let left = match RunFolder::check_free(out) {
        Ok(()) => {
            let it = Merging::from_sources(&sources, None);
            let merged =
                RunFolder::merge(out, &it.run, &sources[0].experiment, it.ended(), &it.parts);
            merged.map(drop).map_err(unwritten)?;
            it.left
        }
        Err(Error::Exists(_)) => {
            let held = RunFolder::hold(out).map_err(unwritten)?;
            let mut earlier = EarlierMerge::read(out)?;
            alike::check(&earlier.terms(), sources.iter().map(ShardSource::terms))?;
            earlier.leave_to(&sources);
            earlier.check(&sources)?;
            let it = Merging::from_sources(&sources, Some(&earlier));
            held.rewrite(&it.run, &earlier.experiment, it.ended(), &it.parts).map_err(unwritten)?;
            it.left
        }
        Err(error) => return Err(CommandFailure::folder(error)),
    };
    left.tell(out, &sources);
    show(lab, out)?;
    Ok(Exit::Done)
}

/// What is written of a merged run.
struct Merging<'a> {
    run: Run,
    parts: Vec<MergePart<'a>>,
    left: MergeGaps,
}

impl<'a> Merging<'a> {
    /// Of shards, one at least, and what stays of an earlier merge.
    fn from_sources(sources: &'a [ShardSource<'_>], earlier: Option<&'a EarlierMerge>) -> Self {
        let others = earlier.map(EarlierMerge::went_on).unwrap_or_default();
        let mut pieces: Vec<MergePiece<'a>> = sources.iter().map(|it| it.piece(&others)).collect();
        pieces.extend(earlier.into_iter().flat_map(|it| it.pieces(sources)));
        // Who went on with the merged run stands last.
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
        let lacks = shard.trials.saturating_sub(merged.trials());
        let went_on = merged.went_on_last().is_some();
        // Where all trials are somebody's, who went on has run, or runs, what was missing by then.
        let missing = if went_on && lacks == 0 { Vec::new() } else { merged.missing() };
        let unfinished = pieces.iter().map(|piece| (piece.member.shard, piece.unfinished()));
        let left = MergeGaps {
            trials: if missing.is_empty() { lacks } else { 0 },
            shards: missing,
            count: merged.count,
            blocks: unfinished.filter(|(_, blocks)| !blocks.is_empty()).collect(),
            cuts: pieces.iter().map(|it| it.cuts_left(each_cut)).fold(0, u32::saturating_add),
            ended_s: merged.members.iter().filter_map(|it| it.ended_s).reduce(f64::max),
        };
        let run = described(&runs, shard.trials, each_cut, merged);
        Self { run, parts: pieces.into_iter().map(|piece| piece.part).collect(), left }
    }

    /// How far the run came, and when it ended.
    fn ended(&self) -> (Status, Option<f64>) {
        match self.left.is_nothing() {
            true => (Status::Finished, self.left.ended_s),
            false => (Status::Unfinished, None),
        }
    }
}

/// How many power cuts a run has of each of its engines and levels; `None` where it has none.
fn cuts_each(run: &Run, cells: usize) -> Option<u32> {
    run.cuts.as_ref()?.planned.checked_div(cells as u32)
}

/// What is known of a merged run: of its first shard what is the same in all, of the rest what they come to.
fn described(runs: &[&Run], trials: u32, each_cut: u32, merged: Merged) -> Run {
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

/// The command that repeats the whole run: that of a shard without its part.
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

/// Writes the page of the merged run, and says what it found.
fn show(lab: &Lab, out: &Path) -> Result<(), CommandFailure> {
    let document = report::document(out)?;
    if document.trials.is_empty() && document.cuts.is_empty() {
        return print("nothing has been measured yet\n");
    }
    let path = out.join(REPORT);
    let page = report::render(&lab.reports, &document, "html", &report::options(false))?;
    write_here(&path, &page).map_err(|failure| pageless(out, &failure))?;
    let verdict = bakeoff_report::verdict(&document);
    print(&format!("{verdict}\n\nThe report: {}\n", path.display()))
}

/// Why the page of a run that is merged could not be written, and how it is made elsewhere.
fn pageless(out: &Path, failure: &CommandFailure) -> CommandFailure {
    let (dir, why, folder) = (out.display(), &failure.message, quote(&out.to_string_lossy()));
    let text = format!(
        "the run is merged in {dir}, and only its page is missing: {why}; make it elsewhere: \
         bakeoff report {folder} -o page.html"
    );
    CommandFailure::new(failure.exit, text)
}

/// Why the merged run could not be written.
fn unwritten(error: Error) -> CommandFailure {
    match error {
        Error::CannotWrite { path, cause } => {
            let what = path.display();
            let why = format!("cannot write {what}: {cause}; the shards are as they were");
            CommandFailure::new(Exit::Folder, why)
        }
        // Nobody had written there when it was looked at, a moment ago.
        Error::Busy(dir) | Error::Exists(dir) => {
            let what = dir.display();
            let why = format!(
                "another bakeoff is writing to {what}; wait until it ends, or merge into another folder"
            );
            CommandFailure::new(Exit::Folder, why)
        }
        error => CommandFailure::folder(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_comes_second_of_two_merges_is_told_that_another_writes() {
        for error in [Error::Busy("all".into()), Error::Exists("all".into())] {
            let message = unwritten(error).message;
            assert!(message.starts_with("another bakeoff is writing to all;"), "{message}");
            assert!(!message.contains("--out"), "merge has no such flag: {message}");
        }
    }

    #[test]
    fn a_page_that_finds_no_room_keeps_its_exit_code_and_says_that_the_run_is_merged() {
        let full =
            CommandFailure::new(Exit::Full, "my all/report.html can't be written: no space left");
        let failure = pageless(Path::new("my all"), &full);
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
