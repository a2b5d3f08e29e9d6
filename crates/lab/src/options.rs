//! Applies a cell's option factors to its engine and its disk.

use bakeoff_devices::models::Models;
use bakeoff_devices::spec::Spec;
use bakeoff_engines::{Engine, find_among, find_with};
use bakeoff_experiment::{Cell, Experiment, Factor, HOST, OptionFactor};

use crate::refusal::Refusal;

/// Picks the cell's engine among these, and applies the options that it has.
pub fn find_engine(
    engines: &[&'static dyn Engine],
    cell: &Cell,
) -> Result<&'static dyn Engine, Refusal> {
    let level = cell.level(Factor::ENGINE).unwrap_or_default();
    let plain = find_among(engines, level);
    let plain = plain
        .map_err(|_| Refusal::from_cell(cell, &[Factor::ENGINE], "there is no such engine"))?;
    let given = given_options(cell, &of_engine(plain));
    find_with(engines, level, &given)
        .map_err(|why| refuse_options(cell, Factor::ENGINE, &given, &why))
}

pub struct CellParts {
    /// The opener of the engine reports why it can't be had.
    pub engine: Result<&'static dyn Engine, Refusal>,
    pub disk: Option<Spec>,
}

impl CellParts {
    pub fn resolve(
        engines: &[&'static dyn Engine],
        models: &Models,
        experiment: &Experiment,
        cell: &Cell,
    ) -> Result<Self, Refusal> {
        let plain = cell.level(Factor::ENGINE).and_then(|level| find_among(engines, level).ok());
        let mut had: Vec<String> = plain.map(of_engine).unwrap_or_default();
        let disk = find_disk(models, experiment, cell)?;
        had.extend(disk.iter().flat_map(of_disk));
        check_options(cell, &had)?;
        Ok(Self { engine: find_engine(engines, cell), disk })
    }
}

/// The device of a cell; `None` for the machine's own disk.
fn find_disk(
    models: &Models,
    experiment: &Experiment,
    cell: &Cell,
) -> Result<Option<Spec>, Refusal> {
    let name = cell.level(Factor::DISK).unwrap_or(HOST);
    if name == HOST {
        return Ok(None);
    }
    let plain = match experiment.disks.get(name) {
        Some(table) => models.parse_table(table),
        None => models.parse(name),
    };
    let plain =
        plain.map_err(|error| Refusal::from_cell(cell, &[Factor::DISK], error.to_string()))?;
    let given = given_options(cell, &of_disk(&plain));
    let disk = plain.with_parameters(&given);
    disk.map(Some).map_err(|error| refuse_options(cell, Factor::DISK, &given, &error.to_string()))
}

fn check_options(cell: &Cell, had: &[String]) -> Result<(), Refusal> {
    let lacking = |(option, level): &(&OptionFactor, &str)| {
        *level != option.default && !had.contains(&option.name)
    };
    let Some((option, _)) = cell.options().find(lacking) else { return Ok(()) };
    let of = option.declaring_factors();
    let names: Vec<String> = of.iter().map(|factor| format!("the {factor}")).collect();
    let why = match &names[..] {
        [one] => format!("{one} has no option `{}`", option.name),
        _ => format!("neither {} has an option `{}`", names.join(" nor "), option.name),
    };
    let factors = of.into_iter().chain([Factor::Option(option)]);
    Err(Refusal::from_cell(cell, &factors.collect::<Vec<_>>(), why))
}

fn of_engine(engine: &dyn Engine) -> Vec<String> {
    engine.options().iter().map(|option| option.factor.name.to_owned()).collect()
}

fn of_disk(disk: &Spec) -> Vec<String> {
    disk.list_parameters().into_iter().map(|parameter| parameter.name).collect()
}

fn given_options<'c>(cell: &'c Cell, names: &[String]) -> Vec<(&'c str, &'c str)> {
    let options = cell.options().map(|(option, level)| (&*option.name, level));
    options.filter(|(name, _)| names.iter().any(|known| known == name)).collect()
}

fn refuse_options(cell: &Cell, of: Factor, given: &[(&str, &str)], why: &str) -> Refusal {
    let is_given = |name: &str| given.iter().any(|(given, _)| *given == name);
    let options = cell.options().map(|(option, _)| option);
    let options = options.filter(|option| is_given(&option.name)).map(Factor::Option);
    let factors: Vec<Factor> = [of].into_iter().chain(options).collect();
    Refusal::from_cell(cell, &factors, why.replace('\n', "; "))
}
