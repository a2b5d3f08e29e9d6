//! Reads the request on the command line, and the experiment that it names.

use std::path::Path;

use bakeoff_disk::mount::Launcher;
use bakeoff_engines::AS_IS;
use bakeoff_experiment::{
    Count, Experiment, Factor, FlagOverrides, HOST, Vocabulary, without_alias,
};
use bakeoff_lab::targets::tables::rows::find_rows_file;
use bakeoff_lab::{Plan, Registry};
use bakeoff_results::{Run, RunFolder};
use bakeoff_workloads::TextSource;

use super::terms::RunTerms;
use super::{durability, fio, notices, path, shard, usage_failure};
use crate::Lab;
use crate::application::copies_rows;
use crate::cli;
use crate::commands::present;
use crate::exit::CommandFailure;
use crate::output::say;

pub struct RunRequest<'a> {
    pub registry: &'a Registry,
    pub arguments: &'a cli::RunArguments,
    changes: FlagOverrides,
    source: ExperimentSource,
}

struct ExperimentSource {
    name: String,
    vocabulary: Vocabulary,
}

pub struct ResumedRun {
    pub folder: RunFolder,
    pub began: Run,
}

impl ExperimentSource {
    fn open(registry: &Registry, arguments: &cli::RunArguments) -> Result<Self, CommandFailure> {
        let mut vocabulary = registry.vocabulary();
        let name = match (&arguments.resume, &arguments.experiment) {
            (Some(dir), _) => dir.join("experiment.toml").to_string_lossy().into_owned(),
            (None, Some(name)) => name.clone(),
            (None, None) => {
                return Err(usage_failure(
                    "say what to run: PRESET|FILE.toml, which is a preset (see `bakeoff list \
                     presets`) or a file of your own; or go on with a run: --resume DIR",
                ));
            }
        };
        if fio::is_job_file(&name) {
            vocabulary.presets.push(fio::read_job_file(&name).map_err(usage_failure)?);
        }
        Ok(Self { name, vocabulary })
    }

    fn load(&self, changes: &FlagOverrides, trusts: bool) -> Result<Experiment, CommandFailure> {
        let vocabulary = Vocabulary { trusts, ..self.vocabulary.clone() };
        Experiment::load(&self.name, changes, &vocabulary).map_err(usage_failure)
    }
}

impl<'a> RunRequest<'a> {
    pub fn new(lab: &'a Lab, arguments: &'a cli::RunArguments) -> Result<Self, CommandFailure> {
        let source = ExperimentSource::open(&lab.registry, arguments)?;
        let mut changes = arguments.changes();
        if copies_rows(arguments) {
            // Its rows are copied already, and the experiment has them.
            changes.rows_from = None;
        }
        Ok(Self { registry: &lab.registry, arguments, changes, source })
    }

    /// Reads the experiment from its file and the flags, or from the run folder. Every error of the
    /// request is refused here.
    pub fn read(&self) -> Result<(Experiment, Option<ResumedRun>, RunTerms), CommandFailure> {
        let arguments = self.arguments;
        let (experiment, folder) = match &arguments.resume {
            Some(dir) => {
                // A dry run changes nothing.
                let open = if arguments.dry_run { RunFolder::open } else { RunFolder::resume };
                let folder = open(dir).map_err(CommandFailure::from_folder_error)?;
                // Refuse if experiment.toml was edited since the run began.
                folder.check_experiment().map_err(CommandFailure::from_folder_error)?;
                (self.resumed_experiment(dir)?, Some(folder))
            }
            None => (self.new_experiment()?, None),
        };
        check_keep_images(arguments, &experiment)?;
        let held = |path| path::take_location(path, arguments.i_know_this_destroys_data);
        let data = arguments.path.as_deref().map(held).transpose()?;
        let resumed = match folder {
            Some(folder) => {
                let began = folder.run().map_err(CommandFailure::from_folder_error)?;
                Some(ResumedRun { folder, began })
            }
            None => None,
        };
        let shard = shard::choose_shard(arguments, resumed.as_ref().map(|resumed| &resumed.began))?;
        present::parse_present(arguments.present.as_deref(), &present::list_factors(&experiment))?;
        if !arguments.quiet {
            notices::warn_of_experiment(self.registry, &experiment);
        }
        let same_machine = self.arguments.shards.same_machine;
        Ok((experiment, resumed, RunTerms { data, shard, same_machine, timed: Vec::new() }))
    }

    /// Plans what can be run of an experiment, or a shard of that.
    pub fn plan<'e>(
        &self,
        experiment: &'e Experiment,
        terms: &RunTerms,
    ) -> Result<Plan<'e>, CommandFailure>
    where
        'a: 'e,
    {
        let plan = Plan::from_experiment(self.registry, experiment);
        // A plan with nothing to run is an error.
        durability::check_sufficient(&plan)?;
        shard::take_part(plan, terms.shard)
    }

    fn new_experiment(&self) -> Result<Experiment, CommandFailure> {
        let experiment = self.source.load(&self.changes, self.arguments.trust_experiment)?;
        let (experiment, changes) = self.with_servers_as_they_are(experiment)?;
        let experiment = self.on_equal_terms(experiment, changes)?;
        let text = describe_text(self.registry, &experiment)?;
        if experiment.rows_from.is_some() {
            say(text);
        }
        Ok(experiment)
    }

    /// A preset runs a server by URL as it is, on the disk that it has, unless a flag says otherwise.
    fn with_servers_as_they_are(
        &self,
        experiment: Experiment,
    ) -> Result<(Experiment, FlagOverrides), CommandFailure> {
        let mut changes = self.changes.clone();
        let by_url = experiment.run_levels(Factor::ENGINE).iter().any(|it| it.contains("://"));
        // What asks about power cuts needs a disk that can lose its power.
        let cuts = experiment.cuts.as_ref();
        let asks_for_cuts =
            cuts.is_some_and(|it| changes.cuts.is_some() || it.by.workload == experiment.workload);
        if !by_url || !self.is_preset() || asks_for_cuts {
            return Ok((experiment, changes));
        }
        let mut said = String::new();
        for (factor, level) in [(Factor::DURABILITY, AS_IS), (Factor::DISK, HOST)] {
            let levels = experiment.run_levels(factor);
            let is_asked = changes.gives_factor(factor) || experiment.compare == factor;
            if !is_asked && !levels.is_empty() && levels != [level] {
                said += &format!(" --{factor} {level}");
                changes.factors.push((factor, level.into()));
            }
        }
        if said.is_empty() {
            return Ok((experiment, changes));
        }
        say(format_args!("a server by URL is run as it is:{said}"));
        changes.cuts = changes.cuts.or(cuts.map(|_| Count::Times(0)));
        let experiment = self.source.load(&changes, self.arguments.trust_experiment)?;
        Ok((experiment, changes))
    }

    fn is_preset(&self) -> bool {
        self.registry.presets().iter().any(|preset| preset.name == self.source.name)
    }

    /// If the user chose no durability, a preset takes a level that all engines give, and says so.
    fn on_equal_terms(
        &self,
        experiment: Experiment,
        mut changes: FlagOverrides,
    ) -> Result<Experiment, CommandFailure> {
        let instead =
            durability::find_substitute(self.registry, &self.source.name, &experiment, &changes);
        let Some(instead) = instead else { return Ok(experiment) };
        say(&instead.line);
        changes.factors.push((Factor::DURABILITY, instead.levels));
        self.source.load(&changes, self.arguments.trust_experiment)
    }

    /// Neither another experiment nor flags can change a resumed run.
    fn resumed_experiment(&self, dir: &Path) -> Result<Experiment, CommandFailure> {
        let refuse = |what: &str| {
            Err(usage_failure(format!(
                "--resume goes on with the experiment in {} as it is: leave out {what}, or start \
                 a new run without --resume",
                dir.display()
            )))
        };
        if let Some(name) = &self.arguments.experiment {
            return refuse(&format!("`{name}`"));
        }
        let (changes, none) = (&self.changes, FlagOverrides::default());
        // `--engine` may be repeated to give passwords, which the folder does not keep.
        if *changes != none {
            // Trusted only for the comparison: anybody may have written the folder.
            let recorded = self.source.load(&none, true)?;
            let again = self.source.load(changes, true);
            if !again.is_ok_and(|again| again.to_toml() == recorded.to_toml()) {
                return refuse(&changes.given_flags().join(", "));
            }
        }
        self.source.load(changes, self.arguments.trust_experiment)
    }

    /// If no virtual disk works and the user chose no disk, a preset runs on the host's disk, and
    /// says so. Without a launcher nothing is mounted to find out.
    pub fn on_disks_that_work(
        &self,
        experiment: Experiment,
        launcher: Option<&Launcher>,
    ) -> Result<Experiment, CommandFailure> {
        let Some(levels) = virtual_disks(&experiment) else { return Ok(experiment) };
        let works = launcher.map_or_else(can_mount, try_mount);
        let Err(reason) = works else { return Ok(experiment) };
        let arguments = self.arguments;
        let is_preset = self.is_preset();
        // Some presets ask about power cuts; other presets can leave them out.
        let cuts = experiment.cuts.as_ref();
        let given = arguments.keys.cuts.is_some();
        let asked = cuts.is_some_and(|it| given || it.by.workload == experiment.workload);
        if asked || !is_preset || self.changes.gives_factor(Factor::DISK) {
            // It is reported with the other obstacles.
            return Ok(experiment);
        }
        let without = if cuts.is_some() { " and without power cuts" } else { "" };
        say(format_args!(
            "on the disk {HOST} instead of {levels}{without}, since no virtual disk can be had: {reason}"
        ));
        let mut changes = self.changes.clone();
        changes.factors.push((Factor::DISK, HOST.into()));
        // The levels of durability may have changed since.
        let levels = experiment.factors.get(&Factor::DURABILITY);
        if let Some(levels) = levels.filter(|_| !changes.gives_factor(Factor::DURABILITY)) {
            changes.factors.push((Factor::DURABILITY, levels.join(",")));
        }
        changes.cuts = cuts.map(|_| Count::Times(0));
        self.source.load(&changes, arguments.trust_experiment)
    }
}

/// Refuses to keep crash images if there are no power cuts.
pub fn check_keep_images(
    arguments: &cli::RunArguments,
    experiment: &Experiment,
) -> Result<(), CommandFailure> {
    if !arguments.keep_images || experiment.cuts.is_some() {
        return Ok(());
    }
    Err(usage_failure(
        "--keep-images is for power cuts, and this run makes none: add --cuts N, or leave \
         --keep-images out",
    ))
}

fn can_mount() -> Result<(), String> {
    bakeoff_disk::daemon::can_mount().map_err(|error| error.to_string())
}

fn try_mount(launcher: &Launcher) -> Result<(), String> {
    let place = tempfile::tempdir().map_err(|error| format!("a temporary folder: {error}"))?;
    bakeoff_lab::try_virtual_disk(launcher, place.path())
}

fn virtual_disks(experiment: &Experiment) -> Option<String> {
    let levels = experiment.run_levels(Factor::DISK);
    let real = levels.iter().all(|level| without_alias(level) == HOST);
    (!real).then(|| levels.join(", "))
}

fn count_rows(registry: &Registry, experiment: &Experiment) -> Vec<(String, u64)> {
    let vocabulary = registry.vocabulary();
    let Some(workload) = vocabulary.find_workload(&experiment.workload) else { return Vec::new() };
    let all = || workload.scales.iter().zip(&workload.takes_rows);
    let levels = experiment.run_levels(Factor::SCALE);
    let counted =
        levels.iter().filter_map(|level| all().find(|(scale, _)| *scale == without_alias(level)));
    counted.map(|(scale, count)| (scale.clone(), *count)).collect()
}

/// The source of the experiment's texts as the report shows it: a file of rows or text, or
/// generated.
pub fn describe_text(
    registry: &Registry,
    experiment: &Experiment,
) -> Result<String, CommandFailure> {
    if let Some(from) = &experiment.rows_from {
        let Some(file) = find_rows_file(from).map_err(usage_failure)? else {
            return Ok(format!(
                "rows of made-up text, from the built-in generator (seed {})",
                experiment.seed
            ));
        };
        if experiment.rows_strict {
            file.check_whole().map_err(usage_failure)?;
        }
        let scales = count_rows(registry, experiment);
        let scales: Vec<(&str, u64)> = scales.iter().map(|(it, count)| (&**it, *count)).collect();
        return Ok(file.describe(&scales));
    }
    let target = registry.target_of(&experiment.workload).ok();
    let about = target.and_then(|target| target.describe_workload(&experiment.workload));
    let file = experiment.text.as_ref().map(|path| TextSource::from_file(path));
    let file = file.transpose().map_err(usage_failure)?.map(|text| text.describe());
    let seed = experiment.seed;
    Ok(match (about.and_then(|about| about.rows), file) {
        (Some(rows), None) => format!("{rows} (seed {seed})"),
        (Some(rows), Some(file)) => format!("{rows} (seed {seed}), their words from {file}"),
        (None, Some(file)) => file,
        (None, None) => TextSource::generate(seed).describe(),
    })
}
