//! Options and settings of engines as factors, `postgres.work_mem`: they become levels of `engine`,
//! so that the levels of one engine stand in one block, and no other engine is run for them.

use bakeoff_engines::DEFAULT;

use crate::factor::OptionFactor;
use crate::keys::Layer;
use crate::layer::LocatedLevels;
use crate::level::{has_alias, without_alias};
use crate::message::{ExperimentProblem, LocatedValue};
use crate::options::HasOptions;
use crate::{Experiment, Factor, Vocabulary};

/// Of all engines together.
const MOST_LEVELS: usize = 64;
/// Of one engine: its levels have them all in their names.
const MOST_SETTINGS: usize = 16;

/// An engine that is run at another level of durability than the experiment asks for: its settings
/// keep that one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LevelMove {
    pub engine: String,
    pub asked: String,
    pub kept: String,
}

/// Replaces the engines' levels by one with each combination of the settings that they have.
pub(crate) fn expand_settings(
    layer: &mut Layer,
    vocabulary: &Vocabulary,
) -> Vec<ExperimentProblem> {
    let is_setting = |factor: &Factor| match factor {
        Factor::Option(option) => vocabulary.engines.is_setting(&option.name),
        Factor::Own(_) | Factor::Declared(_) => false,
    };
    let mut problems = Vec::new();
    if let Some(compare) = layer.compare.as_mut().filter(|it| is_setting(&it.value)) {
        if !layer.factors.contains_key(&compare.value) {
            let title = format!("`{}` is compared, and no level of it is given", compare.value);
            let problem = ExperimentProblem::new(title).at_place(&compare.place);
            problems.push(problem.with_help(format!("--factor {}=VALUE,VALUE", compare.value)));
        }
        compare.value = Factor::ENGINE;
    }
    let factors = std::mem::take(&mut layer.factors);
    let (settings, others): (Vec<_>, Vec<_>) =
        factors.into_iter().partition(|(factor, _)| is_setting(factor));
    layer.factors.extend(others);
    let Some(engines) = layer.factors.get(&Factor::ENGINE).filter(|_| !settings.is_empty()) else {
        return problems;
    };
    let settings = settings.into_iter().filter_map(|(factor, levels)| match factor {
        Factor::Option(option) => Some((option, levels)),
        Factor::Own(_) | Factor::Declared(_) => None,
    });
    let expansion = SettingExpansion { vocabulary, settings: settings.collect() };
    problems.extend(expansion.find_problems(engines));
    if problems.is_empty() {
        match expansion.expand_engines(engines) {
            Ok(levels) => drop(layer.factors.insert(Factor::ENGINE, levels)),
            Err(problem) => problems.push(problem),
        }
    }
    problems
}

struct SettingExpansion<'v> {
    vocabulary: &'v Vocabulary,
    settings: Vec<(&'static OptionFactor, LocatedLevels)>,
}

impl SettingExpansion<'_> {
    fn find_problems(&self, engines: &LocatedLevels) -> Vec<ExperimentProblem> {
        let known = &self.vocabulary.engines;
        let mut problems = Vec::new();
        for (option, levels) in &self.settings {
            let place = levels.first().map(|level| &level.place);
            let at = |problem: ExperimentProblem| match place {
                Some(place) => problem.at_place(place),
                None => problem,
            };
            let names = || engines.iter().map(|engine| without_alias(&engine.value));
            if !names().any(|engine| known.has(engine, &option.name)) {
                let title = format!("no engine of this experiment has `{}`", option.name);
                let of = format!("those that have it: {}", option.declarers().join(", "));
                problems.push(at(ExperimentProblem::new(title).with_help(of)));
            }
            for engine in names().filter(|engine| known.gives(engine, &option.name)) {
                let title =
                    format!("`{}` is given twice: by `{engine}`, and as a factor", option.name);
                problems.push(at(ExperimentProblem::new(title).with_help("leave one of them out")));
            }
            for aliased in levels.iter().filter(|level| has_alias(&level.value)) {
                let title = format!("a level of `{}` has no alias", option.name);
                let problem = ExperimentProblem::new(title).at_place(&aliased.place);
                problems.push(problem.with_help("give the alias to the engine: ENGINE@again"));
            }
        }
        problems
    }

    fn expand_engines(&self, engines: &LocatedLevels) -> Result<LocatedLevels, ExperimentProblem> {
        let mut expanded = LocatedLevels::new();
        for engine in engines {
            let base = without_alias(&engine.value);
            let has = |option: &OptionFactor| self.vocabulary.engines.has(base, &option.name);
            let own: Vec<_> = self.settings.iter().filter(|(option, _)| has(option)).collect();
            if own.len() > MOST_SETTINGS {
                return Err(too_many_settings(base, own.len()));
            }
            let count =
                own.iter().fold(1_usize, |all, (_, levels)| all.saturating_mul(levels.len()));
            if count.saturating_add(expanded.len()) > MOST_LEVELS {
                return Err(too_many_levels(base, count));
            }
            for number in 0..count {
                let (mut rest, mut options) = (number, Vec::new());
                for (option, levels) in own.iter().rev() {
                    let level = &levels[rest % levels.len()];
                    rest /= levels.len();
                    if level.value != DEFAULT {
                        options.push((&*option.name, level));
                    }
                }
                expanded.push(self.with_settings(engine, &options)?);
            }
        }
        Ok(expanded)
    }

    fn with_settings(
        &self,
        engine: &LocatedValue<String>,
        options: &[(&str, &LocatedValue<String>)],
    ) -> Result<LocatedValue<String>, ExperimentProblem> {
        let base = without_alias(&engine.value);
        let alias = &engine.value[base.len()..];
        let pairs: Vec<(&str, &str)> =
            options.iter().map(|(name, level)| (*name, &*level.value)).collect();
        let name = self.vocabulary.engines.name_with(base, &pairs);
        let place = options.first().map_or(&engine.place, |(_, level)| &level.place);
        let name = name.map_err(|problem| problem.at_place(place))?;
        Ok(LocatedValue { value: format!("{name}{alias}"), place: engine.place.clone() })
    }
}

fn too_many_settings(engine: &str, count: usize) -> ExperimentProblem {
    ExperimentProblem::new(format!(
        "{count} settings of `{engine}` are factors; at most {MOST_SETTINGS} can be"
    ))
    .with_help(format!("put those with one value below [settings.\"{engine}\"] in a file"))
}

fn too_many_levels(engine: &str, count: usize) -> ExperimentProblem {
    ExperimentProblem::new(format!(
        "the settings make {count} levels of `{engine}`; at most {MOST_LEVELS} levels of all engines are run"
    ))
    .with_help("every value of one setting meets every value of the others: name fewer")
}

impl Experiment {
    /// The engines whose settings keep another level of durability than the experiment asks for.
    pub(crate) fn find_moves(&self, vocabulary: &Vocabulary) -> Vec<LevelMove> {
        let levels = |factor| self.factors.get(&factor).into_iter().flatten();
        let mut moves: Vec<LevelMove> = Vec::new();
        for engine in levels(Factor::ENGINE).map(|level| without_alias(level)) {
            let settings = self.settings_of(engine);
            for asked in levels(Factor::DURABILITY).map(|level| without_alias(level)) {
                let kept = vocabulary.engines.find_kept_level(engine, asked, &settings);
                let Some(kept) = kept.filter(|kept| *kept != asked) else { continue };
                let [engine, asked, kept] = [engine, asked, kept].map(str::to_owned);
                let one = LevelMove { engine, asked, kept };
                if !moves.contains(&one) {
                    moves.push(one);
                }
            }
        }
        moves
    }

    /// Whether an engine is run at a level of durability, which it may keep instead of another one.
    pub(crate) fn runs_at(&self, engine: &str, durability: &str) -> bool {
        let moves = || self.moves.iter().filter(|it| it.engine == engine);
        let given = self.factors.get(&Factor::DURABILITY).into_iter().flatten();
        match given.into_iter().any(|level| without_alias(level) == durability) {
            true => moves().all(|it| it.asked != durability),
            false => moves().any(|it| it.kept == durability),
        }
    }
}
