//! Identifies programs of bakeoff: by the version with its commit, as `0.1.0 (8693ee198-dirty)`,
//! and by the SHA-256.

/// git's suffix for changed files.
const CHANGED: &str = "-dirty";

/// Enough digits of a SHA-256 for a reader.
const DIGITS: usize = 12;

/// With git's suffix; `None` if the version has none.
pub fn find_commit(version: &str) -> Option<&str> {
    let (_, rest) = version.split_once(" (")?;
    rest.strip_suffix(')').filter(|commit| !commit.is_empty())
}

pub fn is_of_changed_files(version: &str) -> bool {
    find_commit(version).is_some_and(|commit| commit.ends_with(CHANGED))
}

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
            assert_eq!((find_commit(version), is_of_changed_files(version)), (is_of, is_changed));
        }
    }
}
