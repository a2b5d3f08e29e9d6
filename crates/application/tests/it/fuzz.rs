//! Files cut off or damaged anywhere are refused or run. Nothing panics.

use std::sync::LazyLock;

use bakeoff_application::{Application, ApplicationFiles};
use proptest::prelude::*;

use crate::stage::example;

static SHOP: LazyLock<ApplicationFiles> = LazyLock::new(example);

/// Compiles the example with another text of a file, and renders what is wrong.
fn compile_with(name: &str, text: &str) {
    let mut files = SHOP.clone();
    files.texts.insert(name.into(), text.into());
    let _ = Application::new(files).map_err(|mistakes| mistakes.to_string());
}

fn cut_files(step: usize) {
    for (name, text) in &SHOP.texts {
        for end in (0..text.len()).step_by(step).filter(|end| text.is_char_boundary(*end)) {
            compile_with(name, &text[..end]);
        }
    }
}

#[test]
fn a_file_may_end_early() {
    cut_files(23);
}

#[test]
#[ignore = "soak: about 2 min"]
fn soak_a_file_may_end_anywhere() {
    cut_files(1);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(100) })]

    #[test]
    fn characters_may_be_missing_doubled_or_others(
        file in any::<prop::sample::Index>(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0..4_u8, any::<char>()), 1..6),
    ) {
        let (name, text) = file.get(&SHOP.texts.iter().collect::<Vec<_>>()).to_owned();
        let mut letters: Vec<char> = text.chars().collect();
        for (place, kind, other) in edits {
            let at = place.index(letters.len());
            match kind {
                0 => drop(letters.remove(at)),
                1 => letters[at] = other,
                2 => letters.insert(at, other),
                _ => letters.insert(at, letters[at]),
            }
        }
        compile_with(name, &letters.into_iter().collect::<String>());
    }

    #[test]
    fn lines_may_be_missing_or_in_another_order(
        file in any::<prop::sample::Index>(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..5),
    ) {
        let (name, text) = file.get(&SHOP.texts.iter().collect::<Vec<_>>()).to_owned();
        let mut lines: Vec<&str> = text.lines().collect();
        for (from, to) in edits.into_iter().take(lines.len() - 1) {
            let line = lines.remove(from.index(lines.len()));
            if to.index(2) == 0 {
                lines.insert(to.index(lines.len() + 1), line);
            }
        }
        compile_with(name, &lines.join("\n"));
    }
}
