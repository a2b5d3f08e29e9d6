//! The line that ends the first screen: what to do with the answer.

use bakeoff_analysis::answer::NextAction;
use bakeoff_analysis::layout::DocumentLayout;

use crate::block::NextStep;
use crate::unreached_limits;
use crate::words;

pub fn describe_action(layout: &DocumentLayout<'_>, action: &NextAction<'_>) -> NextStep {
    let name = |level: &str| words::name_contender(layout.compare, level);
    let (text, command) = match action {
        NextAction::Resume => {
            ("Go on with the run; DIR is its folder:".into(), Some("bakeoff run --resume DIR"))
        }
        NextAction::TimeDrive => (
            "The drive decides. Time yours, then run it again with --disk like:DIR:".into(),
            Some("bakeoff doctor DIR"),
        ),
        NextAction::RunMore(command) => {
            ("More repetitions may decide it:".into(), Some(command.as_str()))
        }
        NextAction::Avoid(levels) => {
            let names: Vec<String> = levels.iter().map(|level| name(level)).collect();
            let names = words::join_list(&names);
            (format!("Do not choose {names} where commits must last."), None)
        }
        NextAction::ReachLimit(limit) => {
            let limit = unreached_limits::describe_limit(limit, "");
            (format!("{}.", words::capitalize(&limit)), None)
        }
        NextAction::Choose(level) => (format!("Choose {}.", name(level)), None),
        NextAction::ChooseByLevel { factor, leaders } => {
            let choice = |(level, leader): &(&str, &str)| {
                format!("{} with {}", name(leader), words::phrase_level(factor, level))
            };
            let choices: Vec<String> = leaders.iter().map(choice).collect();
            (format!("Choose {}.", words::join_list(&choices)), None)
        }
        NextAction::Mend(remedy) => ((*remedy).to_owned(), None),
    };
    NextStep { text, command: command.map(str::to_owned) }
}
