//! What is said of a word that a command does not take.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// How clap's advice begins to put `--` before a word, which makes a flag that is wrong no more right.
const NO_ADVICE: &str = "to pass ";

/// What is wrong with a command line of these words, where clap's own tip would not help.
pub fn explained(mut error: clap::Error, words: &[String]) -> clap::Error {
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    if error.kind() != ErrorKind::UnknownArgument {
        return error;
    }
    let mut after = words.iter().skip_while(|word| *word != "--").skip(1);
    let tip = after.any(|word| word == unknown).then(|| {
        format!(
            "`--` ends the flags: `{unknown}` after it is no flag but one name more than the command takes; \
             leave `--` out if it is meant as a flag"
        )
    });
    let tips = match error.remove(ContextKind::Suggested) {
        Some(ContextValue::StyledStrs(tips)) => tips,
        _ => Vec::new(),
    };
    let helps = tips.into_iter().filter(|tip| !tip.to_string().starts_with(NO_ADVICE));
    let tips: Vec<_> = helps.chain(tip.map(Into::into)).collect();
    if !tips.is_empty() {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    }
    error
}
