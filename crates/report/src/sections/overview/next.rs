//! The line that ends the first screen: what to do with the answer.

use bakeoff_analysis::answer::UserAction;
use bakeoff_analysis::layout::DocumentLayout;

use crate::block::NextStep;
use crate::unreached_limits;
use crate::words;

pub fn describe_action(layout: &DocumentLayout<'_>, action: &UserAction<'_>) -> NextStep {
    let name = |level: &str| words::name_contender(layout.compare, level);
    let (text, command) = match action {
        UserAction::Resume => {
            ("Go on with the run; DIR is its folder:".into(), Some("bakeoff run --resume DIR"))
        }
        UserAction::TimeDrive => (
            "The drive decides. Time yours, then run it again with --disk like:DIR:".into(),
            Some("bakeoff doctor DIR"),
        ),
        UserAction::RunMore(command) => {
            ("More repetitions may decide it:".into(), Some(command.as_str()))
        }
        UserAction::Avoid(levels) => {
            let names: Vec<String> = levels.iter().map(|level| name(level)).collect();
            let names = words::join_list(&names);
            (format!("Do not choose {names} where commits must last."), None)
        }
        UserAction::ReachLimit(limit) => {
            let limit = unreached_limits::describe_limit(limit, "");
            (format!("{}.", words::capitalize(&limit)), None)
        }
        UserAction::Choose(level) => (format!("Choose {}.", name(level)), None),
        UserAction::ChooseByLevel { factor, leaders } => {
            let choice = |(level, leader): &(&str, &str)| {
                format!("{} with {}", name(leader), words::phrase_level(factor, level))
            };
            let choices: Vec<String> = leaders.iter().map(choice).collect();
            (format!("Choose {}.", words::join_list(&choices)), None)
        }
        UserAction::Mend(remedy) => ((*remedy).to_owned(), None),
    };
    NextStep { text, command: command.map(str::to_owned) }
}
