//! The keys that are no factors, each declared once: how it is written in a file and as a flag, and
//! what it may be. A layer is what one place says: the file, its table `[quick]`, or the flags. An
//! upper layer replaces what is below.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use bakeoff_results::MOST_REPETITIONS;
use bakeoff_workloads::APPLICATION;
use clap::Args;

use crate::entries::{Around, NameList, TomlEntry, flag_name, of_flag};
use crate::images::MOST_LOADS;
use crate::layer::{self, LocatedLevels, ServerSettings};
use crate::message::{ExperimentProblem, LocatedValue, one_of};
use crate::{
    Count, EVERY, Factor, MOST_CUTS, MOST_IMAGES, PublishedArticle, ResponseTimeLimit, RowOrigin,
    bounds, cuts, images,
};

pub(crate) const QUICK: &str = "quick";
pub(crate) const DISKS: &str = "disks";
pub(crate) const SETTINGS: &str = "settings";
pub(crate) const PUBLISHED: &str = "published";
/// Factors may stand in a table of their own.
pub(crate) const FACTORS: &str = "factors";
/// Tables that are no settings of keys.
pub(crate) const TABLES: [&str; 6] = [QUICK, DISKS, SETTINGS, PUBLISHED, FACTORS, APPLICATION];

pub(crate) fn is_key(name: &str) -> bool {
    KEYS.contains(&name) || TABLES.contains(&name)
}

/// Makes the keys' names, the fields of a layer and the flags. Before a key with a flag stand the
/// flag's help and parser.
macro_rules! keys {
    (
        without_flag { $($own:ident: $said_alone:ty, $check_alone:expr;)* }
        with_flag { $($(#[$flag:meta])* $key:ident: $given:ty => $said:ty, $check:expr;)* }
    ) => {
        pub(crate) const KEYS: &[&str] =
            &[$(stringify!($own),)* $(stringify!($key),)*];

        #[derive(Debug, Default)]
        pub(crate) struct Layer {
            $(pub(crate) $own: Option<LocatedValue<$said_alone>>,)*
            $(pub(crate) $key: Option<LocatedValue<$said>>,)*
            pub(crate) factors: BTreeMap<Factor, LocatedLevels>,
            pub(crate) disks: BTreeMap<String, toml::Table>,
            pub(crate) settings: BTreeMap<String, ServerSettings>,
            pub(crate) published: Option<PublishedArticle>,
            pub(crate) application: toml::Table,
        }

        impl Layer {
            pub(crate) fn under(mut self, over: Self) -> Self {
                self.factors.extend(over.factors);
                self.disks.extend(over.disks);
                self.settings.extend(over.settings);
                Self {
                    $($own: over.$own.or(self.$own),)*
                    $($key: over.$key.or(self.$key),)*
                    ..self
                }
            }

            pub(crate) fn set(
                &mut self,
                entry: &TomlEntry<'_>,
                around: &Around<'_>,
            ) -> Result<(), ExperimentProblem> {
                match entry.name {
                    $(name if name == stringify!($own) => {
                        self.$own = Some(entry.read_checked(around, $check_alone)?);
                    })*
                    $(name if name == stringify!($key) => {
                        self.$key = Some(entry.read_checked(around, $check)?);
                    })*
                    name => unreachable!("`{name}` is not in KEYS"),
                }
                Ok(())
            }
        }

        /// What the flags say; each overrides what the file says.
        #[derive(Args, Clone, Debug, Default, PartialEq)]
        pub struct FlagOverrides {
            /// The levels of factors of the lab's own, as each factor's flag gives them: separated by
            /// commas.
            #[arg(skip)]
            pub factors: Vec<(Factor, String)>,
            /// `--factor`, each as it was given: `NAME=LEVEL,LEVEL`.
            #[arg(skip)]
            pub named: Vec<String>,
            $($(#[$flag])* pub $key: Option<$given>,)*
            /// Run the short version of the experiment, which its table `quick` describes
            #[arg(long)]
            pub quick: bool,
        }

        impl FlagOverrides {
            pub(crate) fn of_keys(&self) -> Vec<String> {
                let all = [$((self.$key.is_some(), stringify!($key)),)*];
                let given = all.into_iter().filter(|(given, _)| *given);
                given.map(|(_, key)| format!("--{}", flag_name(key))).collect()
            }

            pub(crate) fn put(
                &self,
                layer: &mut Layer,
                around: &Around<'_>,
                problems: &mut Vec<ExperimentProblem>,
            ) {
                $(if let Some(flag) = &self.$key {
                    layer.$key = of_flag(stringify!($key), flag, around, $check, problems);
                })*
            }
        }
    };
}

keys! {
    without_flag {
        name: String, |name: String, _| layer::run_name(&name);
        title: String, |title, _| layer::one_line(title);
        workload: String, |name: String, around| {
            let workloads = around.vocabulary.workloads.iter();
            let names: Vec<&str> = workloads.map(|workload| &*workload.name).collect();
            one_of("workload", &name, &names)
        };
    }
    with_flag {
        /// Take the workload's text from this file (UTF-8)
        #[arg(long, value_name = "FILE")]
        text: PathBuf => PathBuf, |path: PathBuf, around| layer::absolute_text_path(around.folder, &path);

        /// Take the workload's rows from this file (title TAB text a line, or .csv or .jsonl; plain, gzip or
        /// zstd), or from a collection of text (see `bakeoff doctor`); generated: make them up. For an
        /// application: from a database by URL, which is only read, or from its dump
        #[arg(long, value_name = "FILE|NAME|URL|generated")]
        rows_from: PathBuf => RowOrigin,
            |said: PathBuf, around| RowOrigin::parse_rows_from(around.folder, &said, around.vocabulary);

        /// Refuse a file of rows with a line that is empty, too long or not UTF-8, instead of skipping it
        #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
        rows_strict: bool => bool, |strict, _| Ok(strict);

        /// The factor whose levels are compared (engine, if the workload has it)
        #[arg(long, value_name = "FACTOR", display_order = 1)]
        compare: String => Factor,
            |name: String, around| around.vocabulary.find_factor(around.workload, &name);

        /// How long the clients of a trial run
        #[arg(long, value_name = "S", allow_hyphen_values = true, value_parser = seconds)]
        seconds: f64 => f64, |seconds, _| layer::check_seconds(seconds);

        /// End a trial before its time is over, as soon as this many operations of each kind have ended
        #[arg(long, value_name = "N", allow_hyphen_values = true,
              value_parser = read::<u32>("a whole number from 20 to 1000000"))]
        operations: u32 => u32, |operations, _| layer::check_operations(operations);

        /// How often each block is repeated
        #[arg(long, value_name = "N", allow_hyphen_values = true,
              value_parser = read::<u32>(format!("a whole number from 1 to {}", MOST_REPETITIONS)))]
        repetitions: u32 => u32, |repetitions, _| layer::check_repetitions(repetitions);

        /// How many times each engine's data are loaded, each time with other rows; blocks take turns on
        /// these images
        #[arg(long, value_name = "N", allow_hyphen_values = true,
              value_parser = read::<u32>(format!("a whole number from 1 to {MOST_LOADS}")))]
        images: u32 => u32, |images, _| images::check_images(images);

        /// The seed of rows, clients and order
        #[arg(long, value_name = "N", allow_hyphen_values = true,
              value_parser = read::<u64>("a whole number from 0 to 9223372036854775807"))]
        seed: u64 => u64, |seed, _| layer::check_seed(seed);

        /// Whether the baseline runs twice, and is compared with itself (an A/A check)
        #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
        noise_floor: bool => bool, |noise_floor, _| Ok(noise_floor);

        /// Whether the disk time of a commit is estimated before steady trials, by the model of the disk,
        /// from a trace of whole cycles of deferred work
        #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true")]
        priced: bool => bool, |priced, _| Ok(priced);

        /// What decides which block is run next (see `bakeoff list planners`)
        #[arg(long, value_name = "NAME")]
        planner: String => String, |name: String, around| {
            around.vocabulary.find_planner(&name).map(|planner| planner.name.to_owned())
        };

        /// How often a block is repeated at least, even if it is decided before (3)
        #[arg(long, value_name = "N", help_heading = "Until decided", allow_hyphen_values = true,
              value_parser = read::<u32>(format!("a whole number from 3 to {}", MOST_REPETITIONS)))]
        min_repetitions: u32 => u32, |least, _| bounds::min_repetitions(least);

        /// How often a block is repeated at most (20)
        #[arg(long, value_name = "N", help_heading = "Until decided", allow_hyphen_values = true,
              value_parser = read::<u32>(format!("a whole number from 1 to {}", MOST_REPETITIONS)))]
        max_repetitions: u32 => u32, |most, _| bounds::max_repetitions(most);

        /// How long the trials may take, those before a --resume included: 90s, 45min, 2h. A block that
        /// would take longer is not begun
        #[arg(long, value_name = "TIME", help_heading = "Until decided", allow_hyphen_values = true)]
        max_time: String => Duration, |time: String, _| bounds::max_time(&time);

        /// Look for the highest rate that keeps a limit of response times, as p99=50ms (or p50, p95,
        /// p999), in each combination of the other factors
        #[arg(long, value_name = "pN=TIME")]
        find_limit: String => ResponseTimeLimit, |limit: String, _| {
            ResponseTimeLimit::parse(&limit).map_err(|wrong| ExperimentProblem::in_lines(&wrong))
        };

        /// How many power cuts each engine gets at each durability level, after the trials; 0 for
        /// none; every for one at every moment of a short recorded run
        #[arg(long, value_name = "N", help_heading = "Power cuts", allow_hyphen_values = true,
              value_parser = read::<Count>(format!("a whole number from 0 to {MOST_CUTS}, or {EVERY}")))]
        cuts: Count => Count, |count, _| cuts::check_asked_count(count);

        /// With --cuts every, how many different crash images are judged at most, of each engine at
        /// each level on each file system (20000)
        #[arg(long, value_name = "N", help_heading = "Power cuts", allow_hyphen_values = true,
              value_parser = read::<u32>(format!("a whole number from 1 to {MOST_IMAGES}")))]
        max_images: u32 => u32, |images, _| cuts::check_max_images(images);

        /// The rules by which each cut is audited, which say what the disk may still have of unsynced
        /// writes: drop-all, prefix, subset, torn, or a list
        #[arg(long, value_name = "RULES", help_heading = "Power cuts")]
        keep: String => Vec<String>, |rules: NameList, _| cuts::read_rules(rules.0);

        /// When a new file name is durable: with the next commit of the journal (ext4, the default), or
        /// only once its folder was synced (posix). A list makes each cut on both
        #[arg(long, value_name = "KINDS", help_heading = "Power cuts")]
        file_system: String => Vec<String>, |kinds: NameList, _| cuts::file_systems(kinds.0);

        /// Cut the power a second time, while the engine recovers from the first
        #[arg(long, value_name = "BOOL", num_args = 0..=1, default_missing_value = "true",
              help_heading = "Power cuts")]
        cut_recovery: bool => bool, |recovery, _| Ok(recovery);

        /// Make only the power cut of this number, and no trials
        #[arg(long, value_name = "I", help_heading = "Power cuts", allow_hyphen_values = true,
              value_parser = read::<u32>(format!("a whole number from 0 to {}", MOST_CUTS - 1)))]
        cut_number: u32 => u32, |number, _| cuts::check_cut_number(number);
    }
}

/// Reads what stands behind a flag, which is to be `valid`.
fn read<T: FromStr>(
    valid: impl Into<String>,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    let wrong = format!("give {}", valid.into());
    move |text| text.trim().parse().map_err(|_| wrong.clone())
}

fn seconds(text: &str) -> Result<f64, String> {
    let number = text.trim().parse().ok().filter(|seconds: &f64| seconds.is_finite());
    number.ok_or_else(|| "give a number of seconds, such as 20 or 1.5".into())
}
