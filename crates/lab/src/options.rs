//! The options that a cell's factors give its engine and its disk.

use bakeoff_devices::models::Models;
use bakeoff_devices::spec::Spec;
use bakeoff_engines::{Engine, find_among, find_with};
use bakeoff_experiment::{Cell, Experiment, Factor, HOST, OptionFactor};

use crate::refusal::Refusal;

/// The engine of a cell, one of these, with those of the cell's options that it has.
///
/// # Errors
/// There is no such engine, or it can't be had with a level of an option.
pub fn engine(
    engines: &[&'static dyn Engine],
    cell: &Cell,
) -> Result<&'static dyn Engine, Refusal> {
    let level = cell.level(Factor::ENGINE).unwrap_or_default();
    let plain = find_among(engines, level);
    let plain = plain
        .map_err(|_| Refusal::from_cell(cell, &[Factor::ENGINE], "there is no such engine"))?;
    let given = given(cell, &of_engine(plain));
    find_with(engines, level, &given).map_err(|why| refused(cell, Factor::ENGINE, &given, &why))
}

/// The device of a cell, with those of the cell's options that are parameters of it; `None` for the
/// machine's own disk.
///
/// # Errors
/// There is no such device, or it can't be had with a value of a parameter.
pub fn disk(
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
    let given = given(cell, &of_disk(&plain));
    let disk = plain.with(&given);
    disk.map(Some).map_err(|error| refused(cell, Factor::DISK, &given, &error.to_string()))
}

/// Checks that the engine or the disk of a cell has each of its options, or that the level stands for
/// what is so without the option.
///
/// # Errors
/// An option that neither has.
pub fn check(
    engines: &[&'static dyn Engine],
    models: &Models,
    experiment: &Experiment,
    cell: &Cell,
) -> Result<(), Refusal> {
    let engine = cell.level(Factor::ENGINE).and_then(|level| find_among(engines, level).ok());
    let mut had: Vec<String> = engine.map(of_engine).unwrap_or_default();
    had.extend(disk(models, experiment, cell)?.iter().flat_map(of_disk));
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

/// The names of an engine's options.
fn of_engine(engine: &dyn Engine) -> Vec<String> {
    engine.options().iter().map(|option| option.factor.name.to_owned()).collect()
}

/// The names of a device's parameters.
fn of_disk(disk: &Spec) -> Vec<String> {
    disk.parameters().into_iter().map(|parameter| parameter.name).collect()
}

/// Those of a cell's options that have one of these names, with their levels.
fn given<'c>(cell: &'c Cell, names: &[String]) -> Vec<(&'c str, &'c str)> {
    let options = cell.options().map(|(option, level)| (&*option.name, level));
    options.filter(|(name, _)| names.iter().any(|known| known == name)).collect()
}

/// Why an engine or a disk can't be had with the options that were given.
fn refused(cell: &Cell, of: Factor, given: &[(&str, &str)], why: &str) -> Refusal {
    let is_given = |name: &str| given.iter().any(|(given, _)| *given == name);
    let options = cell.options().map(|(option, _)| option);
    let options = options.filter(|option| is_given(&option.name)).map(Factor::Option);
    let factors: Vec<Factor> = [of].into_iter().chain(options).collect();
    Refusal::from_cell(cell, &factors, why.replace('\n', "; "))
}
