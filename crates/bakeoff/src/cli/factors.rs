//! A flag for each of the lab's own factors, as its description says.

use bakeoff_experiment::{Factor, Vocabulary};
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};

/// The factors that were given, with their levels as they were written.
#[derive(Clone, Debug, Default)]
pub struct OwnFactors(pub Vec<(Factor, String)>);

impl Args for OwnFactors {
    fn augment_args(command: Command) -> Command {
        Factor::OWN.into_iter().fold(command, |command, factor| command.arg(build_flag(factor)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for OwnFactors {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given =
            |factor: Factor| Some((factor, matches.get_one::<String>(factor.name())?.clone()));
        Ok(Self(Factor::OWN.into_iter().filter_map(given).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn build_flag(factor: Factor) -> Arg {
    Arg::new(factor.name())
        .long(factor.name())
        .value_name("LEVELS")
        .help_heading("Factors")
        .allow_hyphen_values(true)
}

/// The command with the help of each flag.
pub fn with_factor_flags(command: Command, vocabulary: &Vocabulary) -> Command {
    Factor::OWN.into_iter().fold(command, |command, factor| {
        command.mut_arg(factor.name(), |flag| flag.help(vocabulary.flag_help(factor)))
    })
}
