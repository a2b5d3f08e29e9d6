//! Before its first trial each image is asked what a client asks, and what it answers is held against
//! what the others of the same data did.

use std::collections::BTreeMap;
use std::time::Instant;

use bakeoff_experiment::random::SplitMix64;
use bakeoff_experiment::{Cell, Factor};
use bakeoff_results::{AnswerDifference, Answers, Levels};

use super::Runner;
use crate::answers::ImageAnswers;
use crate::error::wanting;
use crate::machine::accounts;
use crate::place::images::Recipe;
use crate::place::{self, RESERVE, SyncCopy, TargetPlace, room};
use crate::planner::DueBlock;
use crate::procedures::{GRACE, PATIENCE, ProcedureContext};
use crate::process::Received;
use crate::process::job::{Message, Task};
use crate::targets::Setup;
use crate::watch::RunEvent;
use crate::{LabError, TrialError};

/// Tells the seed of what is asked from others of the run.
const ASKED: u64 = 7;

/// What can be asked: an image, and the levels that tell its cells. An image may be asked more than once:
/// of some factors of a workload every level starts from the same rows, and asks something else.
type ImageLevels = (Recipe, Levels);

impl Runner<'_> {
    /// Asks the images of these blocks that were not asked before.
    ///
    /// # Errors
    /// What keeps the run as a whole from going on.
    pub(super) fn check_answers(
        &mut self,
        stage: &mut ProcedureContext<'_>,
        blocks: &[&DueBlock],
    ) -> Result<(), LabError> {
        let images = self.images(blocks);
        let known = self.folder.run()?.answers;
        let is_known = |(recipe, levels): &ImageLevels| {
            known.iter().any(|it| it.image == recipe.key && it.levels == *levels)
        };
        let mut told = BTreeMap::new();
        for (asked, setup) in images.iter().filter(|(asked, _)| !is_known(asked)) {
            let (recipe, levels) = asked;
            stage.go_on()?;
            // One that can't be loaded is its trials' failure.
            if stage.images.get(recipe).is_none_or(Result::is_err) {
                continue;
            }
            let answer = match self.ask(stage, setup) {
                Err(error) if error.stops_the_run() => return Err(error.into()),
                answer => answer,
            };
            stage.go_on()?;
            let mut answers = record(recipe, levels, &answer);
            if let Ok(mine) = answer {
                answers.difference = self.differs(stage, &answers, &mine, (&images, &mut told))?;
                told.insert(asked.clone(), mine);
            }
            tracing::info!(?answers, "answered");
            self.folder.note_answers(&answers)?;
            stage.watch.event(RunEvent::Answered(&answers));
        }
        Ok(())
    }

    /// The images of these blocks that can be asked.
    fn images(&self, blocks: &[&DueBlock]) -> BTreeMap<ImageLevels, Setup> {
        let mut images = BTreeMap::new();
        for DueBlock { block, .. } in blocks {
            for planned in &block.trials {
                let Ok((trial, _)) = self.resolve(&planned.cell, block.number) else { continue };
                let setup = trial.setup;
                let target = self.registry.target(setup.target);
                if target.is_some_and(|target| target.can_be_asked(&setup.subject)) {
                    let asked = (setup.recipe.clone(), self.levels(&planned.cell));
                    images.entry(asked).or_insert(setup);
                }
            }
        }
        images
    }

    /// The levels that tell a cell's image from others: what is stored, and by what.
    fn levels(&self, cell: &Cell) -> Levels {
        let tells = |factor: &&Factor| match factor {
            Factor::Own(_) => [Factor::ENGINE, Factor::SCALE].contains(factor),
            Factor::Declared(_) => true,
            Factor::Option(option) => option.declaring_factors().contains(&Factor::ENGINE),
        };
        let all = self.experiment.factors.keys().filter(tells);
        let level =
            |factor: &Factor| Some((factor.name().to_owned(), cell.level(*factor)?.to_owned()));
        all.filter_map(level).collect()
    }

    /// The first answer that is not that of the first image which was asked the same.
    fn differs(
        &self,
        stage: &mut ProcedureContext<'_>,
        answers: &Answers,
        mine: &ImageAnswers,
        (images, told): (&BTreeMap<ImageLevels, Setup>, &mut BTreeMap<ImageLevels, ImageAnswers>),
    ) -> Result<Option<AnswerDifference>, LabError> {
        let known = self.folder.run()?.answers;
        let Some(first) = known.into_iter().find(|it| it.work == answers.work) else {
            return Ok(None);
        };
        if first.digest == answers.digest {
            return Ok(None);
        }
        let is_first =
            |(it, levels): &ImageLevels| it.key == first.image && *levels == first.levels;
        let Some((asked, setup)) = images.iter().find(|(asked, _)| is_first(asked)) else {
            return Ok(None);
        };
        // What it answered in an earlier sitting is known by its digest alone.
        if !told.contains_key(asked)
            && let Ok(theirs) = self.ask(stage, setup)
        {
            told.insert(asked.clone(), theirs);
        }
        Ok(told.get(asked).and_then(|theirs| mine.difference(&first.engine, theirs)))
    }

    /// What an image answers.
    fn ask(
        &self,
        stage: &mut ProcedureContext<'_>,
        setup: &Setup,
    ) -> Result<ImageAnswers, TrialError> {
        let (start, image) = (Instant::now(), stage.image(setup)?);
        stage.watch.event(RunEvent::Asking(&setup.recipe));
        let files = stage.work.join("asked");
        let bytes = wanting("the image's size", accounts::space(&image.folder))?;
        room(stage.work, bytes + RESERVE)?;
        let seed = SplitMix64::from_words(&[self.experiment.seed, ASKED]).next();
        let told = image.copy(&files, SyncCopy::No, stage.stop).and_then(|()| {
            in_place(stage, setup, setup.place(&files, &stage.work.join("server")), seed)
        });
        let told = stage.unless_full(told);
        wanting("removing what was asked", place::remove(&files))?;
        let seconds = start.elapsed().as_secs_f64();
        tracing::debug!(what = setup.recipe.about, seconds, "asked");
        told
    }
}

/// What it answers in a place that is thrown away afterwards.
fn in_place(
    stage: &ProcedureContext<'_>,
    setup: &Setup,
    place: TargetPlace,
    seed: u64,
) -> Result<ImageAnswers, TrialError> {
    let servers = place.make_folders()?;
    let told = listen(stage, setup, place, seed);
    for server in servers {
        wanting("removing the server's folder", place::remove(&server))?;
    }
    told
}

/// What comes from a process that asks it.
fn listen(
    stage: &ProcedureContext<'_>,
    setup: &Setup,
    place: TargetPlace,
    seed: u64,
) -> Result<ImageAnswers, TrialError> {
    let process = stage.start(setup, place, Task::Ask { seed })?;
    let (start, mut answered) = (Instant::now(), None);
    loop {
        stage.go_on()?;
        if start.elapsed() > GRACE {
            let seconds = GRACE.as_secs();
            return Err(TrialError::process(format!("it had not answered after {seconds} s")));
        }
        match process.receive(PATIENCE) {
            Received::Message(Message::Answered(told)) => answered = Some(told),
            Received::Message(Message::Done(_)) => {
                return answered.ok_or_else(|| TrialError::process("it said nothing"));
            }
            Received::Message(Message::Failed(reason)) => return Err(reason),
            Received::Message(_) | Received::Nothing => {}
            Received::End => return Err(TrialError::process(process.exit_report())),
        }
    }
}

fn record(recipe: &Recipe, levels: &Levels, answer: &Result<ImageAnswers, TrialError>) -> Answers {
    let told = answer.as_ref().ok();
    Answers {
        image: recipe.key.clone(),
        engine: recipe.into.clone(),
        levels: levels.clone(),
        work: told.map(|told| told.work.clone()).unwrap_or_default(),
        operations: told.map_or(0, |told| told.operations.len() as u64),
        statements: told.map_or(0, ImageAnswers::answers),
        digest: told.map(|told| format!("{:016x}", told.digest())),
        failed: answer.as_ref().err().map(ToString::to_string),
        difference: None,
    }
}
