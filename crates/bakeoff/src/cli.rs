//! The command line: flags and what they mean.

use std::path::PathBuf;

use bakeoff_analysis::FailCondition;
use bakeoff_application::ScriptArgument;
use bakeoff_experiment::{ARTICLES, Factor, FlagOverrides, HOST};
use bakeoff_lab::targets::page::encode_level;
use bakeoff_report::{FORMATS, format_of_ending};
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

mod cluster;
mod disk;
mod factors;
mod shards;
mod unknown;
mod what_if;

pub use cluster::Cluster;
pub use disk::{
    CutMomentArguments, DiskArm, DiskCommand, DiskCut, DiskFault, DiskMount, DiskSet, DiskSnapshot,
    DiskStat, DiskUnmount, Switch,
};
use factors::OwnFactors;
pub use shards::{Merge, Shards, Which};
use unknown::explain_error;
pub use what_if::WhatIf;

use crate::Lab;
use crate::commands::baseline::BaselineName;
use crate::log::LogLevel;
use crate::output::{self, program_name};
use crate::until_decided::UNTIL_DECIDED;

/// Finds out which database engine, how much memory, which disk and which durability setting an
/// application needs, and what each change buys.
#[derive(Debug, Parser)]
#[command(version = env!("BAKEOFF_VERSION"), about, disable_help_subcommand = true)]
pub struct Cli {
    /// Log each step to standard error (or set BAKEOFF_LOG)
    #[arg(long, global = true, value_enum, value_name = "LEVEL")]
    pub log: Option<LogLevel>,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

impl Cli {
    /// Reads the command line, where these things are registered.
    ///
    /// # Errors
    /// What is wrong with it, or a text that was asked for.
    pub fn parse_for(lab: &Lab) -> Result<Self, clap::Error> {
        let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
        let matches = Self::command_for(lab).try_get_matches();
        let words: Vec<String> = words.collect();
        let matches = matches.map_err(|error| explain_error(error, &words, &preset_names(lab)))?;
        Self::from_arg_matches(&matches)
    }

    /// Reads a command line that is not this process's, its program first.
    ///
    /// # Errors
    /// What is wrong with it, or a text that was asked for.
    pub fn read_for(lab: &Lab, words: &[String]) -> Result<Self, clap::Error> {
        let matches = Self::command_for(lab).try_get_matches_from(words);
        let matches = matches.map_err(|error| explain_error(error, words, &preset_names(lab)))?;
        Self::from_arg_matches(&matches)
    }

    /// All commands and flags, where these things are registered.
    pub fn command_for(lab: &Lab) -> clap::Command {
        let formats = FORMATS.iter().map(|it| PossibleValue::new(it.name).help(it.about));
        let formats = PossibleValuesParser::new(formats);
        let vocabulary = lab.registry.vocabulary();
        let command = Self::command()
            .mut_subcommand("report", |report| {
                report.mut_arg("format", |format| format.value_parser(formats))
            })
            .mut_subcommand("run", |run| factors::with_factor_flags(run, &vocabulary));
        by_own_name(command.name(program_name().leak() as &str))
    }
}

/// What `bakeoff run` takes by its name.
fn preset_names(lab: &Lab) -> Vec<&'static str> {
    let names = lab.registry.presets().iter().map(|preset| preset.name);
    names.chain([ARTICLES]).collect()
}

/// Help that names commands of this program, and not of `bakeoff`.
fn by_own_name(command: clap::Command) -> clap::Command {
    let command = command.mut_args(|arg| match arg.get_help().map(|help| help.to_string()) {
        Some(help) => arg.help(output::by_own_name(&help)),
        None => arg,
    });
    command.mut_subcommands(by_own_name)
}

/// What bakeoff can do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run an experiment: a preset, a TOML file, or an application of your own
    Run(Box<RunArguments>),
    /// Write the folder of an example application: put your own SQL in its place
    New(New),
    /// Find every mistake of an application, and try its statements on each engine
    Check(Check),
    /// Find out which change of a server's settings buys what, on a private twin of it
    #[command(name = "whatif")]
    WhatIf(WhatIf),
    /// Show what a run found
    Report(ReportArguments),
    /// Hold two runs against each other: another version, machine or month
    Compare(Compare),
    /// Print a job file that spreads a run over several machines; nothing is run
    #[command(subcommand)]
    Cluster(Cluster),
    /// Make one run of the shards of a plan
    Merge(Merge),
    /// List what there is to choose from
    List(ListArguments),
    /// Say what this machine can run, and how to install or allow the rest
    Doctor(Doctor),
    /// Print the commands that set up arrays of disks to compare; bakeoff runs none of them
    Layouts(Layouts),
    /// Print what makes a shell complete bakeoff's commands and flags
    Completions(Completions),
    /// Print the manual page, or write one for each command
    Man(Man),
    /// Mount a virtual disk, look at it, change it, pull its plug
    #[command(subcommand)]
    Disk(DiskCommand),
    /// A trial's own process; bakeoff starts it for itself
    #[command(hide = true)]
    Trial,
    /// A mounted disk's own process; bakeoff starts it for itself
    #[command(hide = true)]
    DiskDaemon,
}

/// `bakeoff run`.
#[derive(Clone, Debug, Args)]
pub struct RunArguments {
    /// A preset (see `bakeoff list presets`), a TOML file, a folder of SQL (see `bakeoff new`), scripts of pgbench, or
    /// a job file of fio (FILE.fio); `articles` runs all presets of articles and makes a page of them; not needed with
    /// --resume
    #[arg(value_name = "PRESET|FILE.toml|FOLDER|FILE.sql")]
    pub experiment: Option<String>,
    /// More scripts, each with its weight: buy.sql@1 browse.sql@9
    #[arg(value_name = "FILE.sql", value_parser = parse_script)]
    pub scripts: Vec<String>,

    /// The lab's own factors, a flag each.
    #[command(flatten)]
    pub own: OwnFactors,
    /// Levels of any factor that the workload has, or of an option of its engines or a parameter of its
    /// disks, by the name (see `bakeoff list factors`), or of a setting of an engine:
    /// postgres.work_mem=4MB,64MB; may be given several times
    #[arg(
        long = "factor",
        value_name = "NAME=LEVELS",
        help_heading = "Factors",
        allow_hyphen_values = true
    )]
    pub factors: Vec<String>,

    /// The page that the workload `page` asks for: short for --factor url=URL
    #[arg(long, value_name = "URL", help_heading = "Factors")]
    pub url: Option<String>,
    /// The method of the page's request
    #[arg(long, value_name = "METHOD", help_heading = "Factors")]
    pub method: Option<String>,
    /// A header of the page's request; may be given several times. $NAME in its value is a variable of the
    /// environment, which no record keeps
    #[arg(long, value_name = "NAME: VALUE", help_heading = "Factors")]
    pub header: Vec<String>,
    /// The body of the page's request, or @ and the file that has it
    #[arg(long, value_name = "TEXT|@FILE", value_parser = parse_body, help_heading = "Factors")]
    pub body: Option<String>,

    /// Repeat each block until its comparisons are decided: short for --planner until-decided
    #[arg(long, conflicts_with = "planner", help_heading = "Until decided")]
    pub until_decided: bool,
    /// What else they change in the experiment, a flag each.
    #[command(flatten)]
    pub keys: FlagOverrides,
    /// Which part of the plan it is, where several machines share it.
    #[command(flatten)]
    pub shards: Shards,
    /// Keep the crash images that show a broken promise, in the run folder
    #[arg(long, help_heading = "Power cuts")]
    pub keep_images: bool,

    /// The run folder to make (bakeoff-NAME-1, or the next number that is free)
    #[arg(long, value_name = "DIR", conflicts_with = "resume")]
    pub out: Option<PathBuf>,
    /// Put the data into a new folder below DIR while it runs, to measure the disk that DIR is on (implies --disk
    /// host where no disk is named); or, with --i-know-this-destroys-data, onto the raw device DEVICE
    #[arg(long, value_name = "DIR|DEVICE")]
    pub path: Option<PathBuf>,
    /// Let the workload `fileio` write over the raw device that --path names: everything on it is lost
    #[arg(long, requires = "path")]
    pub i_know_this_destroys_data: bool,
    /// Go on with an interrupted run
    #[arg(long, value_name = "DIR")]
    pub resume: Option<PathBuf>,
    /// Go on all the same where bakeoff's program or the kernel is another one than ran it last: the report then
    /// warns of it
    #[arg(long, requires = "resume", conflicts_with = "out")]
    pub another_binary: bool,
    /// Allow a database (given by its URL) that holds tables of an earlier run, and drop those
    /// tables; other tables are never touched
    #[arg(long)]
    pub reuse: bool,
    /// Let the experiment's file make servers run commands, load code and use files elsewhere, and
    /// name databases by their URLs. Trust such a file as you trust a program that you run
    #[arg(long)]
    pub trust_experiment: bool,
    /// Load a page on another machine, too: you run its server, and it may be loaded
    #[arg(long)]
    pub i_run_this_server: bool,
    /// The levels that are in use today: the report says what each change from them buys (by default the
    /// first level of each factor at which clients read or write anything)
    #[arg(long, value_name = "FACTOR=LEVEL,…")]
    pub present: Option<String>,
    /// Print the plan and stop
    #[arg(long)]
    pub dry_run: bool,
    /// Print only the verdict, a sentence a line, and what failed
    #[arg(long, short)]
    pub quiet: bool,
    /// Print all tables, and not only the answer
    #[arg(long, conflicts_with = "quiet")]
    pub full: bool,
    /// End with 7 where a figure is beyond this: p99>50ms, mean>2ms, rate<1000/s, errors>0; may be
    /// given several times
    #[arg(long, value_name = "CONDITION", value_parser = FailCondition::parse, conflicts_with = "dry_run")]
    pub fail_if: Vec<FailCondition>,
    /// Keep the run as the baseline NAME, in the place of an earlier one, if it ends with 0: for
    /// bakeoff compare --baseline NAME
    #[arg(long, value_name = "NAME", value_parser = BaselineName::parse, conflicts_with = "dry_run")]
    pub save_baseline: Option<BaselineName>,
    /// Whether it is a part of another command, which tells what was found.
    #[arg(skip)]
    pub is_stage: bool,
}

impl RunArguments {
    /// The parts of a page's request, each as a level.
    fn request_levels(&self) -> impl Iterator<Item = String> {
        let headers = (!self.header.is_empty()).then(|| self.header.join("\n"));
        let parts = [("method", &self.method), ("header", &headers), ("body", &self.body)]
            .map(|(name, text)| text.as_ref().map(|text| format!("{name}={}", encode_level(text))));
        parts.into_iter().flatten()
    }

    /// What the flags change in the experiment.
    pub fn changes(&self) -> FlagOverrides {
        let planner = match self.until_decided {
            true => Some(UNTIL_DECIDED.name.into()),
            false => self.keys.planner.clone(),
        };
        // A comma is part of the one URL here, and stands between levels there.
        let url = self.url.iter().map(|url| format!("url={}", url.replace(',', "%2C")));
        let named = self.factors.iter().cloned().chain(url).chain(self.request_levels()).collect();
        let mut changes =
            FlagOverrides { factors: self.own.0.clone(), named, planner, ..self.keys.clone() };
        // What goes on has its disk.
        if self.path.is_some() && self.resume.is_none() && !changes.gives_factor(Factor::DISK) {
            changes.factors.push((Factor::DISK, HOST.into()));
        }
        changes
    }
}

fn parse_body(text: &str) -> Result<String, String> {
    let Some(file) = text.strip_prefix('@') else { return Ok(text.to_owned()) };
    std::fs::read_to_string(file).map_err(|error| format!("{file} can't be read: {error}"))
}

/// Only scripts are named side by side.
fn parse_script(text: &str) -> Result<String, String> {
    match ScriptArgument::from_argument(text) {
        Some(script) => script.map(|_| text.to_owned()),
        None => Err("only scripts stand side by side: FILE.sql FILE.sql".into()),
    }
}

fn parse_count(text: &str) -> Result<u64, String> {
    text.trim().parse().map_err(|_| "give a whole number from 1".into())
}

fn parse_milliseconds(text: &str) -> Result<u64, String> {
    text.trim().parse().map_err(|_| "give a whole number of milliseconds".into())
}

fn parse_seed(text: &str) -> Result<u64, String> {
    text.trim().parse().map_err(|_| "give a whole number from 0 to 9223372036854775807".into())
}

/// `10%` as a share of one. A number alone could be meant as a share as well: `0.1`, or `10`.
fn parse_share(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let valid = |number: &f64| (0.0..=10_000.0).contains(number);
    let number = |text: &str| text.trim().parse::<f64>().ok().filter(valid);
    if let Some(per_cent) = text.strip_suffix('%').and_then(number) {
        return Ok(per_cent / 100.0);
    }
    match number(text) {
        Some(_) => Err(format!("give per cent with their sign: {text}%, not {text}")),
        None => Err("give per cent from 0% to 10000%, such as 10%".into()),
    }
}

/// `bakeoff new`.
#[derive(Debug, Args)]
pub struct New {
    /// The folder to make
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Which example: shop, point (one read by key) or oltp (sysbench's tests); or a database by URL, or
    /// a dump, whose tables it takes
    #[arg(long, value_name = "EXAMPLE|URL|DUMP", default_value = "shop")]
    pub from: String,
}

/// `bakeoff check`.
#[derive(Debug, Args)]
pub struct Check {
    /// The folder of the application, or a script
    #[arg(value_name = "FOLDER|FILE.sql")]
    pub application: String,
    /// More scripts
    #[arg(value_name = "FILE.sql", value_parser = parse_script)]
    pub scripts: Vec<String>,
    /// The engines (by default sqlite, mariadb:innodb and postgres)
    #[arg(long, value_name = "LEVELS", value_delimiter = ',')]
    pub engine: Vec<String>,
    /// Run a program of the folder, whoever may have written it
    #[arg(long)]
    pub trust_experiment: bool,
}

/// `bakeoff report`.
#[derive(Debug, Args)]
pub struct ReportArguments {
    /// The run folder
    pub dir: PathBuf,
    /// The format of the report (by default that of FILE's ending, else brief)
    #[arg(long)]
    pub format: Option<String>,
    /// Print all tables, and not only the answer; as --format term
    #[arg(long, conflicts_with_all = ["format", "output"])]
    pub full: bool,
    /// What each row of --format csv is (by default a trial, or a power cut if there are no trials)
    #[arg(long, value_enum, value_name = "WHAT")]
    pub rows: Option<CsvRowKind>,
    /// Add what the power cuts of another run, in this folder, found about the same engines at the
    /// same durability levels; may be given several times
    #[arg(long, value_name = "DIR")]
    pub cuts: Vec<PathBuf>,
    /// Add how another run, in this folder, found the levels that this one compares: what a disk is worth to
    /// an application beside what it does by itself; may be given several times
    #[arg(long, value_name = "DIR")]
    pub beside: Vec<PathBuf>,
    /// The levels that are in use today: the report says what each change from them buys (by default the
    /// first level of each factor at which clients read or write anything)
    #[arg(long, value_name = "FACTOR=LEVEL,…")]
    pub present: Option<String>,
    /// Where to write it (by default to standard output)
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

impl ReportArguments {
    /// The form of the report: the one that was asked for, else that of the file's ending, else the
    /// answer for a terminal.
    ///
    /// # Errors
    /// An ending that says none.
    pub fn choose_format(&self) -> Result<&str, String> {
        if let Some(format) = &self.format {
            return Ok(format);
        }
        let Some(ending) = self.output.as_ref().and_then(|path| path.extension()) else {
            return Ok(if self.full { "term" } else { "brief" });
        };
        let ending = ending.to_string_lossy();
        format_of_ending(&ending).ok_or_else(|| {
            let endings = FORMATS.iter().flat_map(|it| it.endings);
            let endings: Vec<String> = endings.map(|it| format!(".{it}")).collect();
            format!(
                "bakeoff can't write a report as `.{ending}`; take one of {}, or name the format: \
                 --format FORMAT",
                endings.join(", ")
            )
        })
    }
}

/// What rows are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum CsvRowKind {
    /// A row for each trial and operation
    Trials,
    /// A row for each power cut and rule
    Cuts,
    /// What happened over time: a row for each second of each trial and operation, and for each reading
    /// and each payment of deferred work
    Series,
}

/// `bakeoff compare`.
#[derive(Debug, Args)]
pub struct Compare {
    /// The folders of two runs: the second is held against the first. With --baseline, of one run
    #[arg(required = true, num_args = 1..=2, value_names = ["BEFORE", "AFTER"])]
    pub runs: Vec<PathBuf>,
    /// Hold the run against this baseline (see bakeoff run --save-baseline)
    #[arg(long, value_name = "NAME", value_parser = BaselineName::parse)]
    pub baseline: Option<BaselineName>,
    /// End with 1 where an operation in AFTER is shown to be slower by more than so much, with 3 where
    /// nothing could be decided, and else with 0
    #[arg(long, value_name = "N%", allow_hyphen_values = true, value_parser = parse_share)]
    pub fail_above: Option<f64>,
    /// The format of what is printed
    #[arg(long, default_value = "term",
        value_parser = PossibleValuesParser::new(bakeoff_report::TWO_RUNS_FORMATS))]
    pub format: String,
}

/// `bakeoff list`.
#[derive(Debug, Args)]
pub struct ListArguments {
    /// What to list whole (by default the names of everything, by question)
    #[arg(value_enum)]
    pub what: Option<ListTopic>,
    /// With factors: those of one workload, by its name or the folder of an application
    pub of: Option<String>,
}

/// What can be listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ListTopic {
    /// Experiments that are built in
    Presets,
    /// Engines, and their settings for each durability level
    Engines,
    /// What bakeoff sets of each engine, what the values depend on, and why
    Settings,
    /// Workloads, their scales and operations
    Workloads,
    /// Disks
    Disks,
    /// Arrival processes: how the starts of an open loop follow each other
    Arrivals,
    /// Planners: what decides which block is run next
    Planners,
    /// Factors and how their levels are written
    Factors,
}

/// `bakeoff doctor`.
#[derive(Debug, Args)]
pub struct Doctor {
    /// Where run folders would be made (.). The disk of a folder that is named is timed, in 20 s
    pub dir: Option<PathBuf>,
    /// Time the disk, in 20 s, also where no folder is named
    #[arg(long)]
    pub disk: bool,
}

/// `bakeoff layouts`.
#[derive(Debug, Args)]
pub struct Layouts {
    /// The disks, as /dev/xvdg, or /dev/xvd[g-n] for several
    #[arg(required = true, value_name = "DEVICE")]
    pub devices: Vec<String>,
    /// Bytes of a chunk of an array
    #[arg(long, value_name = "SIZE", default_value = "512K")]
    pub chunk: String,
}

/// `bakeoff completions`.
#[derive(Debug, Args)]
pub struct Completions {
    /// The shell
    #[arg(value_enum)]
    pub shell: Shell,
}

/// A shell that can be given completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    /// Bash, with its package bash-completion or without
    Bash,
    /// Zsh
    Zsh,
    /// Fish
    Fish,
}

/// `bakeoff man`.
#[derive(Debug, Args)]
pub struct Man {
    /// Write a page for each command into this folder, which has to be there
    #[arg(long, short, value_name = "DIR")]
    pub output: Option<PathBuf>,
}
