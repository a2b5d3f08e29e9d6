//! `invariants.sql`: queries that must answer 0, or nothing.

use bakeoff_engines::Statement;

use crate::script::pieces::{ScriptPiece, split_script};
use crate::sql::{CompiledStatement, ParameterSource, SqlSchema, compile_statement};
use crate::{Mistakes, SourcePlace};

/// A query that must answer 0, or nothing.
#[derive(Clone, Debug)]
pub struct Invariant {
    pub place: SourcePlace,
    /// The given values that it gets, by their numbers.
    pub parameters: Vec<usize>,
}

/// Compiles the queries of a file. `given` are the names of the values that they may use.
pub fn compile_invariants(
    text: &str,
    place: &SourcePlace,
    schema: &SqlSchema,
    given: &[String],
    mistakes: &mut Mistakes,
) -> Vec<(Statement, Invariant)> {
    let mut compiled = Vec::new();
    for piece in split_script(text, place, mistakes) {
        match piece {
            ScriptPiece::Command { place, .. } => {
                mistakes.add(place, "an invariant is a query alone: leave it out");
            }
            ScriptPiece::Statement { text, place, .. } => {
                let statement = compile_statement(text, &place, schema, mistakes);
                compiled.extend(statement.map(|it| to_invariant(it, given, mistakes)));
            }
        }
    }
    compiled
}

fn to_invariant(
    mut statement: CompiledStatement,
    given: &[String],
    mistakes: &mut Mistakes,
) -> (Statement, Invariant) {
    // Its first word's: comments stand before it.
    let place = statement.place.clone();
    if statement.writes {
        mistakes.add(place.clone(), "an invariant is a query: it writes nothing");
    }
    let is_own = |source: &ParameterSource| matches!(source, ParameterSource::Literal(_));
    if statement.list_sources().iter().any(is_own) {
        // They stay in its text.
        statement.fitted = None;
        statement.why_not = Some("an invariant with values".into());
    }
    let sources = statement.list_sources().iter();
    let parameters = sources.filter_map(|source| find_given(source, &place, given, mistakes));
    let parameters = parameters.collect();
    (statement.to_statement(), Invariant { place, parameters })
}

fn find_given(
    source: &ParameterSource,
    statement: &SourcePlace,
    given: &[String],
    mistakes: &mut Mistakes,
) -> Option<usize> {
    let (found, place) = match source {
        ParameterSource::Named { name, place } => {
            (given.iter().position(|known| known == name), place)
        }
        _ => (None, statement),
    };
    if found.is_none() {
        let what = "an invariant has no parameters but tables, which are their numbers of rows, and factors";
        mistakes.add(place.clone(), what);
    }
    found
}
