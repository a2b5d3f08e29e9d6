//! `bakeoff whatif`: which change of a server's settings buys what, on a private twin of it.
//!
//! A first run screens all changes, one at a time. A second one, on fresh blocks, tries the best of them
//! again, and adds them one after the other (ablation: Fawcett and Hoos, "Analysing differences between
//! algorithm configurations through ablation", 2016). What changes the promise is priced, and is in no
//! second run.

mod stage;
mod twin;

use std::path::Path;

use bakeoff_analysis::{EffectWord, LevelEffect, choose_best, count_worthwhile, find_effects};
use bakeoff_engines::configuration::ServerConfiguration;
use bakeoff_report::{ChangeOutcome, SettingChange, WhatIfReport, write_what_if};

use self::stage::{Stage, StageRun};
use self::twin::{ServerTwin, TwinChange};
use super::numbered_folder::make_numbered_folder;
use crate::Lab;
use crate::application::{NamedBy, check_program, read_files};
use crate::cli;
use crate::exit::{CommandFailure, Exit};
use crate::output::{print, say, write_here};

const TEXT: &str = "whatif.txt";

pub fn run(lab: &Lab, arguments: &cli::WhatIf) -> Result<Exit, CommandFailure> {
    if let Some(files) = read_files(&arguments.workload, &[])? {
        // The runs name its folder in a file of their own, which they trust.
        check_program(&files, NamedBy::CommandLine, arguments.trust_experiment)?;
    }
    let configuration = match (&arguments.url, &arguments.like) {
        (Some(url), _) => ServerConfiguration::from_server(url),
        (None, Some(file)) => ServerConfiguration::from_file(file),
        (None, None) => Err("name a server by its URL, or a file with --like".into()),
    };
    let configuration = configuration.map_err(refuse)?;
    let memory_bytes = twin::find_memory(arguments)?;
    let twin = ServerTwin::new(&configuration, memory_bytes)?;
    let changes = twin.find_changes(&configuration, arguments, memory_bytes);
    if arguments.dry_run {
        return print(&twin::describe_changes(&twin, &configuration, &changes))
            .map(|()| Exit::Done);
    }
    if changes.iter().all(|change| change.variant.is_err()) {
        print(&twin::describe_changes(&twin, &configuration, &changes))?;
        return Err(refuse("no change is left to try: name one with --try NAME=VALUE".into()));
    }
    let dir = make_numbered_folder("whatif", arguments.out.as_deref(), "")?;
    let mut study = Study { lab, arguments, configuration, twin, changes, dir, ended: Exit::Done };
    let outcome = study.measure();
    if let Ok(None) = outcome {
        return Ok(study.ended);
    }
    if outcome.is_err() {
        // Fails for a folder that holds a run, which stays.
        let _ = std::fs::remove_file(study.dir.join(stage::SCREEN.file()));
        let _ = std::fs::remove_dir(&study.dir);
    }
    let report = outcome?.unwrap_or_else(|| unreachable!("an interrupted study has returned"));
    let text = write_what_if(&report);
    let path = study.dir.join(TEXT);
    write_here(&path, &text)?;
    print(&format!("\n{text}This text: {}\n", path.display()))?;
    Ok(study.ended)
}

fn refuse(why: String) -> CommandFailure {
    CommandFailure::new(Exit::Usage, why)
}

struct Study<'a> {
    lab: &'a Lab,
    arguments: &'a cli::WhatIf,
    configuration: ServerConfiguration,
    twin: ServerTwin,
    changes: Vec<TwinChange>,
    dir: std::path::PathBuf,
    /// The first end of a run that is not `Done`.
    ended: Exit,
}

/// What the second run found: of each change alone, of each step, and of all steps that are worth it.
#[derive(Default)]
struct Confirmation {
    /// Places in the study's changes, in the order in which they were added.
    added: Vec<usize>,
    alone: Vec<LevelEffect>,
    steps: Vec<LevelEffect>,
    together: Option<LevelEffect>,
}

impl Study<'_> {
    /// `None` if the user has stopped it.
    fn measure(&mut self) -> Result<Option<WhatIfReport>, CommandFailure> {
        let tried = self.changes.iter().filter_map(|it| it.variant.as_ref().ok());
        let levels: Vec<String> = tried.map(|it| it.level.clone()).collect();
        say(format_args!("first run: {} changes, one at a time", levels.len()));
        let Some(screen) = self.run_stage(&stage::SCREEN, &levels)? else { return Ok(None) };
        let base = self.twin.level();
        let pairs: Vec<(&str, &str)> = levels.iter().map(|level| (base, &**level)).collect();
        let (free, priced): (Vec<_>, Vec<_>) =
            pairs.into_iter().partition(|(_, level)| self.keeps_promise(level));
        // Each lane is a family of its own.
        let free = find_effects(&screen.document, &free);
        let priced = find_effects(&screen.document, &priced);
        let best = choose_best(&free, if self.arguments.quick { 2 } else { 3 });
        let best: Vec<String> = best.into_iter().map(|effect| effect.to.clone()).collect();
        let Some(confirmation) = self.confirm(&best)? else { return Ok(None) };
        let screened = free.into_iter().chain(priced).collect::<Vec<_>>();
        Ok(Some(self.report(&screened, confirmation)))
    }

    fn keeps_promise(&self, level: &str) -> bool {
        let variants = self.changes.iter().filter_map(|it| it.variant.as_ref().ok());
        variants.into_iter().any(|it| it.level == level && it.promise.is_none())
    }

    fn run_stage(
        &mut self,
        stage: &Stage,
        levels: &[String],
    ) -> Result<Option<StageRun>, CommandFailure> {
        let run = stage.run(self.lab, self.arguments, &self.twin, levels, &self.dir)?;
        if self.ended == Exit::Done {
            self.ended = run.ended;
        }
        Ok(Some(run).filter(|run| run.ended != Exit::Interrupted))
    }

    /// Tries these levels again, alone and one added to the other.
    fn confirm(&mut self, best: &[String]) -> Result<Option<Confirmation>, CommandFailure> {
        if best.is_empty() {
            return Ok(Some(Confirmation::default()));
        }
        let place = |level: &String| {
            let is_it = |it: &TwinChange| it.variant.as_ref().is_ok_and(|it| it.level == *level);
            self.changes.iter().position(is_it).expect("a change's own level")
        };
        let added: Vec<usize> = best.iter().map(place).collect();
        let chain = self.twin.chain_levels(added.iter().map(|place| &self.changes[*place]))?;
        let levels: Vec<String> = best.iter().chain(&chain[1..]).cloned().collect();
        say(format_args!("second run: the best {} again, and one added to the other", best.len()));
        let Some(run) = self.run_stage(&stage::CONFIRM, &levels)? else { return Ok(None) };
        let base = self.twin.level();
        let mut pairs: Vec<(&str, &str)> = best.iter().map(|level| (base, &**level)).collect();
        pairs.extend(chain.windows(2).map(|step| (&*step[0], &*step[1])));
        pairs.extend(chain[1..].iter().map(|level| (base, &**level)));
        let effects = find_effects(&run.document, &pairs);
        let (alone, rest) = effects.split_at(best.len());
        let (later, whole) = rest.split_at(chain.len() - 1);
        let steps: Vec<LevelEffect> = alone[..1].iter().chain(later).cloned().collect();
        let best_gain = choose_best(alone, 1).into_iter().find(|it| it.word() == EffectWord::Gain);
        let together = match (count_worthwhile(&steps), best_gain) {
            // The first step was no gain, and another change alone is one.
            (0, Some(gain)) => {
                let position = alone.iter().position(|it| it.to == gain.to);
                let only = added[position.expect("it is one of them")];
                let (added, steps) = (vec![only], vec![gain.clone()]);
                let together = Some(gain.clone());
                let alone = alone.to_vec();
                return Ok(Some(Confirmation { added, alone, steps, together }));
            }
            (0, None) => None,
            (1, _) => alone.first().cloned(),
            (steps, _) => whole.get(steps - 2).cloned(),
        };
        Ok(Some(Confirmation { added, alone: alone.to_vec(), steps, together }))
    }

    fn report(&self, screened: &[LevelEffect], confirmation: Confirmation) -> WhatIfReport {
        let Confirmation { added, alone, steps, together } = confirmation;
        let find = |effects: &[LevelEffect], level: &str| {
            effects.iter().find(|effect| effect.to == level).cloned().map(Box::new)
        };
        let change = |change: &TwinChange| {
            let found = match &change.variant {
                Err(why) => ChangeOutcome::Refused(why.clone()),
                Ok(variant) => match find(screened, &variant.level) {
                    Some(screened) => {
                        let confirmed = find(&alone, &variant.level);
                        ChangeOutcome::Measured { screened, confirmed }
                    }
                    None => ChangeOutcome::Refused("not measured".into()),
                },
            };
            let proposed = &change.proposed;
            SettingChange {
                setting: proposed.setting.clone(),
                present: proposed.present.clone(),
                value: proposed.value.clone(),
                promise: change.variant.as_ref().ok().and_then(|it| it.promise),
                found,
            }
        };
        let folders = [stage::SCREEN, stage::CONFIRM].map(|it| self.dir.join(it.name));
        let runs = folders.iter().filter(|dir| dir.is_dir());
        WhatIfReport {
            engine: self.twin.level().to_owned(),
            server: self.configuration.name.clone(),
            version: self.configuration.version.clone(),
            twin_version: self.twin.version(),
            data_bytes: self.configuration.data_bytes,
            workload: self.arguments.workload.clone(),
            terms: stage::describe_terms(self.arguments),
            promise: self.twin.promise.describe_loss(),
            changes: self.changes.iter().map(change).collect(),
            added,
            steps,
            together,
            left_out: self.twin.left_out.clone(),
            unread: self.configuration.unread.clone(),
            runs: runs.map(|dir| show_report(dir)).collect(),
        }
    }
}

fn show_report(dir: &Path) -> String {
    dir.join(super::report::REPORT).display().to_string()
}
