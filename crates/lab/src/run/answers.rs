//! Before an image's first trial, asks it a client's questions. All images of the same data must
//! answer alike.

use std::collections::BTreeMap;
use std::time::Instant;

use bakeoff_experiment::random::SplitMix64;
use bakeoff_experiment::{Cell, Factor};
use bakeoff_results::{AnswerDifference, Answers, Levels};

use super::Runner;
use super::scheduled::ScheduledBlock;
use crate::answers::ImageAnswers;
use crate::error::with_context;
use crate::machine::accounts;
use crate::place::images::Recipe;
use crate::place::{self, RESERVE, SyncCopy, TargetPlace, ensure_room};
use crate::procedures::{GRACE, PATIENCE, ProcedureContext};
use crate::process::ReceiveOutcome;
use crate::process::job::{Message, Task};
use crate::targets::Setup;
use crate::watch::RunEvent;
use crate::{LabError, TrialError};

const ASKED: u64 = 7;

/// With some workload factors one image gets different questions, so the levels count, too.
type ImageLevels = (Recipe, Levels);

impl Runner<'_> {
    pub(super) fn check_answers(
        &mut self,
        stage: &mut ProcedureContext<'_>,
        blocks: &[&ScheduledBlock],
    ) -> Result<(), LabError> {
        let images = self.askable_images(blocks);
        let known = self.folder.run()?.answers;
        let is_known = |(recipe, levels): &ImageLevels| {
            known.iter().any(|it| it.image == recipe.key && it.levels == *levels)
        };
        let mut told = BTreeMap::new();
        for (asked, setup) in images.iter().filter(|(asked, _)| !is_known(asked)) {
            let (recipe, levels) = asked;
            stage.go_on()?;
            // An image that can't be loaded fails its trials.
            if stage.images.get(recipe).is_none_or(Result::is_err) {
                continue;
            }
            let answer = match self.ask_image(stage, setup) {
                Err(error) if error.stops_the_run() => return Err(error.into()),
                answer => answer,
            };
            stage.go_on()?;
            let mut answers = answers_record(recipe, levels, &answer);
            if let Ok(mine) = answer {
                answers.difference =
                    self.find_difference(stage, &answers, &mine, (&images, &mut told))?;
                told.insert(asked.clone(), mine);
            }
            tracing::info!(?answers, "answered");
            self.folder.note_answers(&answers)?;
            stage.watch.on_event(RunEvent::Answered(&answers));
        }
        Ok(())
    }

    fn askable_images<'b>(
        &self,
        blocks: &[&'b ScheduledBlock],
    ) -> BTreeMap<ImageLevels, &'b Setup> {
        let mut images = BTreeMap::new();
        for trial in blocks.iter().flat_map(|block| block.resolved()) {
            let setup = &trial.spec.setup;
            if setup.subject.can_be_asked() {
                let asked = (setup.recipe.clone(), self.image_levels(&trial.cell));
                images.entry(asked).or_insert(setup);
            }
        }
        images
    }

    /// The levels that tell a cell's image from others: the stored data, and the engine that stores
    /// them.
    fn image_levels(&self, cell: &Cell) -> Levels {
        let tells = |factor: &&Factor| match factor {
            Factor::Own(_) => [Factor::ENGINE, Factor::SCALE].contains(factor),
            Factor::Declared(_) => true,
            Factor::Option(option) => option.declaring_factors().contains(&Factor::ENGINE),
        };
        let all = self.plan.experiment.factors.keys().filter(tells);
        let level =
            |factor: &Factor| Some((factor.name().to_owned(), cell.level(*factor)?.to_owned()));
        all.filter_map(level).collect()
    }

    /// The first answer that differs from the first image with the same questions.
    fn find_difference(
        &self,
        stage: &mut ProcedureContext<'_>,
        answers: &Answers,
        mine: &ImageAnswers,
        (images, told): (&BTreeMap<ImageLevels, &Setup>, &mut BTreeMap<ImageLevels, ImageAnswers>),
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
        // Answers of an earlier sitting are known by their digest alone.
        if !told.contains_key(asked)
            && let Ok(theirs) = self.ask_image(stage, setup)
        {
            told.insert(asked.clone(), theirs);
        }
        Ok(told.get(asked).and_then(|theirs| mine.find_difference(&first.engine, theirs)))
    }

    fn ask_image(
        &self,
        stage: &mut ProcedureContext<'_>,
        setup: &Setup,
    ) -> Result<ImageAnswers, TrialError> {
        let (start, image) = (Instant::now(), stage.loaded_image(setup)?);
        stage.watch.on_event(RunEvent::Asking(&setup.recipe));
        let files = stage.work.join("asked");
        let bytes = with_context("the image's size", accounts::allocated_bytes(&image.folder))?;
        ensure_room(stage.work, bytes + RESERVE)?;
        let seed = SplitMix64::from_words(&[self.plan.experiment.seed, ASKED]).next();
        let told = image.copy(&files, SyncCopy::No, stage.stop).and_then(|()| {
            in_place(stage, setup, setup.make_place(&files, &stage.work.join("server")), seed)
        });
        let told = stage.unless_full(told);
        with_context("removing what was asked", place::remove_folder(&files))?;
        let seconds = start.elapsed().as_secs_f64();
        tracing::debug!(what = setup.recipe.about, seconds, "asked");
        told
    }
}

fn in_place(
    stage: &ProcedureContext<'_>,
    setup: &Setup,
    place: TargetPlace,
    seed: u64,
) -> Result<ImageAnswers, TrialError> {
    let servers = place.make_folders()?;
    let told = ask_in_process(stage, setup, place, seed);
    place::remove_folders(&servers)?;
    told
}

fn ask_in_process(
    stage: &ProcedureContext<'_>,
    setup: &Setup,
    place: TargetPlace,
    seed: u64,
) -> Result<ImageAnswers, TrialError> {
    let process = stage.start_process(setup, place, Task::Ask { seed })?;
    let (start, mut answered) = (Instant::now(), None);
    loop {
        stage.go_on()?;
        if start.elapsed() > GRACE {
            let seconds = GRACE.as_secs();
            return Err(TrialError::process_error(format!(
                "it had not answered after {seconds} s"
            )));
        }
        match process.receive(PATIENCE) {
            ReceiveOutcome::Message(Message::Answered(told)) => answered = Some(told),
            ReceiveOutcome::Message(Message::Done(_)) => {
                return answered.ok_or_else(|| TrialError::process_error("it said nothing"));
            }
            ReceiveOutcome::Message(Message::Failed(reason)) => return Err(reason),
            ReceiveOutcome::Message(_) | ReceiveOutcome::Nothing => {}
            ReceiveOutcome::End => return Err(TrialError::process_error(process.exit_report())),
        }
    }
}

fn answers_record(
    recipe: &Recipe,
    levels: &Levels,
    answer: &Result<ImageAnswers, TrialError>,
) -> Answers {
    let told = answer.as_ref().ok();
    Answers {
        image: recipe.key.clone(),
        engine: recipe.into.clone(),
        levels: levels.clone(),
        work: told.map(|told| told.work.clone()).unwrap_or_default(),
        operations: told.map_or(0, |told| told.operations.len() as u64),
        statements: told.map_or(0, ImageAnswers::count_answers),
        digest: told.map(|told| format!("{:016x}", told.digest())),
        failed: answer.as_ref().err().map(ToString::to_string),
        difference: None,
    }
}
