//! `--present`: the levels in use today; the report says what each change from them gains.

use bakeoff_experiment::Experiment;

use crate::exit::{CommandFailure, Exit};

pub type Factors = [(String, Vec<String>)];

pub fn list_factors(experiment: &Experiment) -> Vec<(String, Vec<String>)> {
    let factors = experiment.factors.keys();
    factors.map(|factor| (factor.name().to_owned(), experiment.run_levels(*factor))).collect()
}

/// Reads `FACTOR=LEVEL,FACTOR=LEVEL`, each factor once.
pub fn parse_present(
    given: Option<&str>,
    factors: &Factors,
) -> Result<Vec<(String, String)>, CommandFailure> {
    let mut present: Vec<(String, String)> = Vec::new();
    for piece in given.into_iter().flat_map(|given| given.split(',')).map(str::trim) {
        let (factor, level) = parse_piece(piece, factors).map_err(|why| {
            CommandFailure::new(Exit::Usage, format!("--present can't take `{piece}`: {why}"))
        })?;
        if present.iter().any(|(known, _)| *known == factor) {
            let why = format!("--present has two levels of {factor}; name one");
            return Err(CommandFailure::new(Exit::Usage, why));
        }
        present.push((factor, level));
    }
    Ok(present)
}

fn parse_piece(piece: &str, factors: &Factors) -> Result<(String, String), String> {
    let Some((factor, level)) = piece.split_once('=') else {
        return Err("write FACTOR=LEVEL, such as engine=sqlite".into());
    };
    let (factor, level) = (factor.trim(), level.trim());
    let Some((name, levels)) = factors.iter().find(|(name, _)| name == factor) else {
        let names: Vec<&str> = factors.iter().map(|(name, _)| name.as_str()).collect();
        return Err(format!("the run has no factor `{factor}`; it has {}", names.join(", ")));
    };
    match levels.iter().find(|known| *known == level) {
        Some(level) => Ok((name.clone(), level.clone())),
        None => Err(format!("the run has no such level of {name}; it has {}", levels.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(given: &str) -> Result<Vec<(String, String)>, String> {
        let factors = [("engine", vec!["sqlite", "lmdb"]), ("durability", vec!["strict"])];
        let factors = factors.map(|(name, levels)| {
            (name.to_owned(), levels.into_iter().map(str::to_owned).collect::<Vec<_>>())
        });
        parse_present(Some(given), &factors).map_err(|failure| failure.message)
    }

    #[test]
    fn levels_are_read_each_with_its_factor() {
        let present = said("engine=lmdb, durability = strict").unwrap();
        let pair = |name: &str, level: &str| (name.to_owned(), level.to_owned());
        assert_eq!(present, [pair("engine", "lmdb"), pair("durability", "strict")]);
        assert_eq!(parse_present(None, &[]).unwrap(), []);
    }

    #[test]
    fn what_the_run_does_not_have_is_refused_with_what_it_has() {
        for (given, why) in [
            ("sqlite", "write FACTOR=LEVEL"),
            ("", "write FACTOR=LEVEL"),
            ("engin=sqlite", "no factor `engin`; it has engine, durability"),
            ("engine=postgres", "no such level of engine; it has sqlite, lmdb"),
            ("engine=sqlite,engine=lmdb", "two levels of engine"),
        ] {
            let said = said(given).unwrap_err();
            assert!(said.contains(why), "{given}: {said}");
        }
    }
}
