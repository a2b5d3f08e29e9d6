//! Finds what the fastest level depends on, if several levels win.

use super::FindingKind;
use crate::layout::DocumentLayout;
use crate::leader::LeaderOutcome;
use crate::operation_case::OperationCase;

/// Who is fastest at a level of the factor that decides, or over several of them.
pub struct LevelWinner<'a> {
    pub place: PlaceOfLevels<'a>,
    pub leader: &'a str,
    pub won: Vec<OperationCase<'a>>,
    /// Also those without a winner.
    pub cases: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaceOfLevels<'a> {
    /// A level, or the operation.
    At(&'a str),
    /// Neighbours among the levels of a numeric factor.
    FromTo(&'a str, &'a str),
}

type PlacedCases<'b, 'a> = (PlaceOfLevels<'a>, Vec<&'b OperationCase<'a>>);

/// The levels that win, and where; who wins most comes first.
pub fn group_wins<'a>(cases: &[OperationCase<'a>]) -> Vec<(&'a str, Vec<OperationCase<'a>>)> {
    let mut wins: Vec<(&str, Vec<OperationCase>)> = Vec::new();
    for case in cases.iter().filter(|case| case.outcome == LeaderOutcome::Won) {
        match wins.iter_mut().find(|(leader, _)| *leader == case.leader) {
            Some((_, won)) => won.push(case.clone()),
            None => wins.push((case.leader, vec![case.clone()])),
        }
    }
    wins.sort_by_key(|(leader, won)| (std::cmp::Reverse(won.len()), *leader));
    wins
}

/// The factor, or the operation, at each of whose levels one contender wins more than half and no
/// other wins any. Two factors that explain the wins equally well explain nothing.
pub fn find_dependence<'a>(
    layout: &DocumentLayout<'a>,
    cases: &[OperationCase<'a>],
) -> Option<FindingKind<'a>> {
    let factors = std::iter::once(None).chain(layout.varying.iter().copied().map(Some));
    let mut found = factors.enumerate().filter_map(|(number, factor)| {
        let placed = group_by_level(layout, cases, number, factor);
        let winners: Option<Vec<LevelWinner>> =
            placed.into_iter().map(|(place, group)| find_level_winner(place, &group)).collect();
        Some(FindingKind::DependsOn { factor, winners: winners? })
    });
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

fn find_level_winner<'a>(
    place: PlaceOfLevels<'a>,
    group: &[&OperationCase<'a>],
) -> Option<LevelWinner<'a>> {
    let leader = find_winner(group)?;
    let won = group.iter().copied().filter(|case| case.outcome == LeaderOutcome::Won);
    Some(LevelWinner { place, leader, won: won.cloned().collect(), cases: group.len() })
}

/// By level of a factor, or by operation. Neighbouring levels of the numeric factor with the same
/// winner are joined.
fn group_by_level<'b, 'a>(
    layout: &DocumentLayout<'a>,
    cases: &'b [OperationCase<'a>],
    number: usize,
    factor: Option<&str>,
) -> Vec<PlacedCases<'b, 'a>> {
    let mut groups: Vec<(&str, Vec<&OperationCase>)> = Vec::new();
    for case in cases {
        let level = case.level_of_split(number);
        match groups.iter_mut().find(|(known, _)| *known == level) {
            Some((_, group)) => group.push(case),
            None => groups.push((level, vec![case])),
        }
    }
    let sweep = layout.document.sweep.as_ref().filter(|it| factor == Some(it.factor.as_str()));
    let Some(sweep) = sweep else {
        let place = |(level, group)| (PlaceOfLevels::At(level), group);
        return groups.into_iter().map(place).collect();
    };
    groups.sort_by_key(|(level, _)| sweep.levels.iter().position(|it| it.level == *level));
    let same = |one: &(&str, Vec<&OperationCase>), other: &(&str, Vec<&OperationCase>)| {
        find_winner(&one.1).is_some() && find_winner(&one.1) == find_winner(&other.1)
    };
    groups.chunk_by(same).map(join_groups).collect()
}

fn join_groups<'b, 'a>(groups: &[(&'a str, Vec<&'b OperationCase<'a>>)]) -> PlacedCases<'b, 'a> {
    let place = match groups {
        [(first, _), .., (last, _)] => PlaceOfLevels::FromTo(first, last),
        _ => PlaceOfLevels::At(groups[0].0),
    };
    (place, groups.iter().flat_map(|(_, cases)| cases).copied().collect())
}

/// The level that wins more than half, if no other wins any.
fn find_winner<'a>(group: &[&OperationCase<'a>]) -> Option<&'a str> {
    let won: Vec<&OperationCase> =
        group.iter().copied().filter(|case| case.outcome == LeaderOutcome::Won).collect();
    let first = won.first()?;
    let alone = 2 * won.len() > group.len() && won.iter().all(|case| case.leader == first.leader);
    alone.then_some(first.leader)
}
