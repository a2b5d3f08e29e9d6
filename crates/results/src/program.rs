//! What tells one program of bakeoff from another: its version, which names the commit that it was built from, as
//! `0.1.0 (8693ee198-dirty)`, and its SHA-256.

/// What git adds to the commit where files were changed since.
const CHANGED: &str = "-dirty";

/// So many digits of a SHA-256 tell programs apart for a reader.
const DIGITS: usize = 12;

/// The commit, with what git adds to it; `None` where the version has none.
pub fn commit(version: &str) -> Option<&str> {
    let (_, rest) = version.split_once(" (")?;
    rest.strip_suffix(')').filter(|commit| !commit.is_empty())
}

/// Whether files had been changed since the commit.
pub fn is_of_changed_files(version: &str) -> bool {
    commit(version).is_some_and(|commit| commit.ends_with(CHANGED))
}

/// The first digits of a SHA-256.
pub fn short_sum(sum: &str) -> &str {
    sum.get(..DIGITS).unwrap_or(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_tells_its_commit_and_whether_files_were_changed() {
        for (version, is_of, is_changed) in [
            ("0.1.0 (8693ee198)", Some("8693ee198"), false),
            ("0.1.0 (8693ee198-dirty)", Some("8693ee198-dirty"), true),
            ("0.1.0", None, false),
            ("0.1.0-dirty", None, false),
            ("0.1.0 ()", None, false),
            ("0.1.0 (8693ee198", None, false),
            ("", None, false),
        ] {
            assert_eq!((commit(version), is_of_changed_files(version)), (is_of, is_changed));
        }
    }
}
