//! `bakeoff cluster`: prints job files that spread a run over machines. Nothing is run.
//!
//! A job asks for whole machines with their own disks, runs this same bakeoff and collects the run
//! folders. User input is quoted as one word of a shell, or as a string of JSON.

mod demands;
mod kubernetes;
mod slurm;
mod ssh;

use std::path::Path;

use bakeoff_experiment::{Experiment, Factor, FlagOverrides, Vocabulary, deal_blocks};

use self::demands::{MachineDemands, StagingScope};
use super::checksum;
use super::present::{list_factors, parse_present};
use super::run::{
    SHARDS, check_keep_images, describe_text, find_substitute, is_job_file, plan_is_known,
    refuse_shared,
};
use crate::Lab;
use crate::cli::{Cli, Cluster, Command, RunArguments};
use crate::exit::{CommandFailure, Exit};
use crate::output::{print_data, quote, say};

const REFUSED: [(&str, &str); 4] = [
    ("--shard", "the job file gives each run its own --shard"),
    (
        "--out",
        "the job file gives each run its own --out; where shards are collected is said before the --",
    ),
    (
        "--resume",
        "a job file begins each shard anew; go on with one by bakeoff run --resume on its machine",
    ),
    ("--dry-run", "a job file measures; the plan is shown by bakeoff run --dry-run here"),
];

struct ClusterJob {
    experiment: ClusterExperiment,
    /// The experiment's name in a form that all schedulers take: lower-case letters, digits,
    /// hyphens.
    name: String,
    shards: u32,
    program: String,
    sha256: String,
    flags: Vec<String>,
}

enum ClusterExperiment {
    Preset(String),
    File(String),
}

pub fn run(lab: &Lab, what: &Cluster) -> Result<Exit, CommandFailure> {
    let text = match what {
        Cluster::Slurm(asked) => {
            let job = ClusterJob::read_job(
                lab,
                &asked.experiment,
                asked.shards,
                &asked.flags,
                StagingScope::All,
            )?;
            let out = job.output_folder(asked.out.as_deref())?;
            slurm::build_script(&job, &out)
        }
        Cluster::Kubernetes(asked) => {
            let brought = StagingScope::Experiment;
            let job =
                ClusterJob::read_job(lab, &asked.experiment, asked.shards, &asked.flags, brought)?;
            let given = [("--image", &asked.image), ("--claim", &asked.claim)];
            given.into_iter().try_for_each(|(what, text)| check_plain_text(what, text))?;
            kubernetes::check_image(&asked.image)?;
            kubernetes::check_claim(&asked.claim)?;
            check_plain_text("--program", &asked.program)?;
            kubernetes::check_program(&asked.program)?;
            let pod = kubernetes::Pod {
                image: &asked.image,
                claim: &asked.claim,
                program: &asked.program,
            };
            kubernetes::build_manifest(&job, &pod)?
        }
        Cluster::Ssh(asked) => {
            let shards = ssh::count_shards(&asked.hosts, asked.shards)?;
            let brought = StagingScope::Experiment;
            let job = ClusterJob::read_job(lab, &asked.experiment, shards, &asked.flags, brought)?;
            let out = job.output_folder(asked.out.as_deref())?;
            ssh::build_script(&job, &asked.hosts, &out)
        }
    };
    print_data(&text)?;
    Ok(Exit::Done)
}

impl ClusterJob {
    fn read_job(
        lab: &Lab,
        name: &str,
        shards: u32,
        flags: &[String],
        brought: StagingScope,
    ) -> Result<Self, CommandFailure> {
        check_plain_text("the experiment", name)?;
        for flag in flags {
            check_plain_text("a flag", flag)?;
            let name = flag.split('=').next().unwrap_or_default();
            if let Some((_, why)) = REFUSED.iter().find(|(refused, _)| *refused == name) {
                return Err(usage_failure(format!("leave out {flag}: {why}")));
            }
        }
        if is_job_file(name) {
            return Err(usage_failure(format!(
                "a job file of fio can't be run in parts: run {name} here, and name the experiment.toml in \
                 its run folder"
            )));
        }
        let (loaded, arguments) = load_experiment(lab, name, flags)?;
        parse_present(arguments.present.as_deref(), &list_factors(&loaded))?;
        check_keep_images(&arguments, &loaded)?;
        let experiment = match lab.registry.presets().iter().any(|preset| preset.name == name) {
            true => ClusterExperiment::Preset(name.to_owned()),
            false => ClusterExperiment::File(absolute_path(Path::new(name))?),
        };
        let home = match &experiment {
            ClusterExperiment::Preset(_) => None,
            ClusterExperiment::File(path) => Path::new(path).parent(),
        };
        MachineDemands { experiment: &loaded, home, flags: &arguments }
            .check_machines(&lab.registry, brought)?;
        check_parts(&loaded, shards)?;
        let program =
            std::env::current_exe().map_err(|error| system_failure("this program", &error))?;
        let sha256 = checksum::of_file(&program);
        Ok(Self {
            experiment,
            name: scheduler_name(&loaded.name),
            shards,
            program: absolute_path(&program)?,
            sha256: sha256.map_err(|error| system_failure("this program", &error))?,
            flags: flags.to_vec(),
        })
    }

    fn output_folder(&self, given: Option<&Path>) -> Result<String, CommandFailure> {
        let default = format!("{}-shards", self.name);
        absolute_path(given.unwrap_or_else(|| Path::new(&default)))
    }

    /// `shard` and `out` are not quoted, since they may hold variables of the shell.
    fn run_command(&self, experiment: Option<&str>, shard: &str, out: &str) -> String {
        let own = match &self.experiment {
            ClusterExperiment::Preset(name) => name,
            ClusterExperiment::File(path) => path,
        };
        let flags = self.flags.iter().map(|flag| format!(" {}", quote(flag)));
        let flags: String = flags.collect();
        let experiment = quote(experiment.unwrap_or(own));
        format!("run {experiment} --shard {shard} --out {out}{flags}")
    }

    /// Shell lines that exit with 2 if the file is another bakeoff than this one.
    fn check_program_script(&self, program: &str) -> String {
        let sha256 = &self.sha256;
        format!(
            "found=$(sha256sum < {program})\n\
             # Beside the sum it names what it read, which has no name here.\n\
             found=${{found%% *}}\n\
             if [ \"$found\" != {sha256} ]; then\n    \
             echo {program} \"is another bakeoff than the one that made this job: its SHA-256 is $found\" >&2\n    \
             exit 2\n\
             fi\n"
        )
    }
}

/// Reads the experiment, changed by the flags of its run. Also returns those flags.
fn load_experiment(
    lab: &Lab,
    name: &str,
    flags: &[String],
) -> Result<(Experiment, Box<RunArguments>), CommandFailure> {
    let own = ["bakeoff", "run", name, "--shard", "1/1"].map(str::to_owned);
    let cli = Cli::read_for(lab, &[&own[..], flags].concat());
    let Command::Run(arguments) = cli.map_err(|error| usage_failure(error.to_string()))?.command
    else {
        return Err(usage_failure(format!("what follows -- are no flags of a run of {name}")));
    };
    if arguments.i_know_this_destroys_data {
        return Err(usage_failure(
            "a job file writes over no device: a path may be another machine's precious disk. Leave out \
             --i-know-this-destroys-data, and run it by hand on the machine whose device is to be measured"
                .to_owned(),
        ));
    }
    let (mut changes, trusts) = (arguments.changes(), arguments.trust_experiment);
    let load = |changes: &FlagOverrides, trusts| {
        let vocabulary = Vocabulary { trusts, ..lab.registry.vocabulary() };
        Experiment::load(name, changes, &vocabulary)
    };
    let experiment = load(&changes, trusts).map_err(|error| {
        let needs_trust = !trusts && load(&changes, true).is_ok();
        let where_to = if needs_trust { "\nhere it follows --: -- --trust-experiment" } else { "" };
        usage_failure(format!("{error}{where_to}"))
    })?;
    // The job's machines ask the external servers: from here they may be out of reach.
    let engines = experiment.run_levels(Factor::ENGINE);
    let asks_nobody = engines.iter().all(|level| !level.contains("://"));
    let levels =
        asks_nobody.then(|| find_substitute(&lab.registry, name, &experiment, &changes)).flatten();
    let Some(levels) = levels else { return Ok((experiment, arguments)) };
    say(&levels.line);
    changes.factors.push((Factor::DURABILITY, levels.levels));
    let experiment = load(&changes, trusts).map_err(|error| usage_failure(error.to_string()))?;
    Ok((experiment, arguments))
}

/// Refuses plans that no shard would run: a plan that isn't known beforehand, or one with fewer
/// parts.
fn check_parts(experiment: &Experiment, shards: u32) -> Result<(), CommandFailure> {
    plan_is_known(experiment)?;
    refuse_shared(experiment)?;
    let plan = experiment.plan();
    // Power cuts alone are dealt out by engine or disk.
    if plan.blocks.is_empty() && experiment.cut_cells().len() >= shards as usize {
        return Ok(());
    }
    deal_blocks(&plan, shards).map(drop).map_err(|error| usage_failure(error.to_string()))
}

/// Prints where a shard's folder is now. `target` and `shards` are shell words between double
/// quotes.
fn collected_notice(target: &str, shards: &str) -> String {
    format!(
        "echo \"collected to {target}, and the folder that the run names is removed; when all shards are there: \
         bakeoff merge all {shards}\"\n"
    )
}

/// Runs a command, passes a stop on to it and leaves its exit code in `status`.
fn stoppable_script(command: &str) -> String {
    format!(
        "stopped= child=\n\
         trap 'stopped=yes; [ -z \"$child\" ] || kill -TERM \"$child\" 2>/dev/null || :' TERM INT\n\
         {command} &\n\
         child=$!\n\
         [ -z \"$stopped\" ] || kill -TERM \"$child\" 2>/dev/null || :\n\
         # A signal ends the wait, not the run.\n\
         while :; do\n    \
         stopped= status=0\n    \
         wait \"$child\" || status=$?\n    \
         [ -n \"$stopped\" ] || break\n\
         done\n"
    )
}

/// Cut to 40 lower-case letters, digits and hyphens, which every scheduler takes.
fn scheduler_name(name: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let name: String = format!("bakeoff-{name}").chars().map(letter).take(40).collect();
    name.trim_end_matches('-').to_owned()
}

fn absolute_path(path: &Path) -> Result<String, CommandFailure> {
    let path = std::path::absolute(path).map_err(|error| system_failure("a path", &error))?;
    match path.to_str() {
        Some(text) => check_plain_text("a path", text).map(|()| text.to_owned()),
        None => Err(usage_failure(format!(
            "{} is not UTF-8, which a job file has to be; give it another name",
            path.display()
        ))),
    }
}

fn check_plain_text(what: &str, text: &str) -> Result<(), CommandFailure> {
    match text.chars().any(char::is_control) {
        true => Err(usage_failure(format!(
            "{what} holds a control character, which can't stand in a job file: {}",
            bakeoff_results::escape_unseen(&text.replace(['\n', '\t'], "\u{fffd}"))
        ))),
        false => Ok(()),
    }
}

fn usage_failure(message: String) -> CommandFailure {
    CommandFailure::new(Exit::Usage, message)
}

fn system_failure(what: &str, error: &std::io::Error) -> CommandFailure {
    CommandFailure::new(Exit::Failed, format!("{what} can't be read: {error}"))
}

#[cfg(test)]
mod tests;
