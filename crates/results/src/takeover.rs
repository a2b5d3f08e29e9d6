//! The programs and kernels that ran a run.

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Platform {
    pub version: String,
    /// In hexadecimal digits; `None` if unknown.
    pub program_sha256: Option<String>,
    pub kernel: String,
    /// The kernel's build; `None` if unknown.
    pub kernel_version: Option<String>,
}

/// Another program or kernel that went on with a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Takeover {
    pub by: Platform,
    pub trials: u32,
    /// By then, without failed ones.
    pub cuts: u32,
}

impl Takeover {
    pub(crate) fn ran_something(&self, (trials, cuts): (u32, u32)) -> bool {
        self.trials < trials || self.cuts < cuts
    }
}

impl Platform {
    /// Unknown values are no difference.
    pub fn has_program_of(&self, other: &Self) -> bool {
        is_alike(self.program_sha256.as_deref(), other.program_sha256.as_deref())
    }

    /// Unknown values are no difference.
    pub fn has_kernel_of(&self, other: &Self) -> bool {
        let [one, two] = [self, other].map(|it| Some(&*it.kernel).filter(|it| !it.is_empty()));
        is_alike(one, two)
            && is_alike(self.kernel_version.as_deref(), other.kernel_version.as_deref())
    }
}

fn is_alike(one: Option<&str>, other: Option<&str>) -> bool {
    one.zip(other).is_none_or(|(one, other)| one == other)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn platform(program: Option<&str>, kernel: &str, build: Option<&str>) -> Platform {
        Platform {
            version: "0.1.0".into(),
            program_sha256: program.map(str::to_owned),
            kernel: kernel.into(),
            kernel_version: build.map(str::to_owned),
        }
    }

    #[test]
    fn what_is_not_known_is_no_difference() {
        let whole = platform(Some("aa"), "6.1", Some("#1"));
        for (other, same_program, same_kernel) in [
            (platform(Some("aa"), "6.1", Some("#1")), true, true),
            (platform(Some("bb"), "6.1", Some("#1")), false, true),
            (platform(Some("aa"), "6.2", Some("#1")), true, false),
            (platform(Some("aa"), "6.1", Some("#2")), true, false),
            (platform(None, "6.1", None), true, true),
            (platform(None, "", None), true, true),
            (platform(None, "6.2", None), true, false),
        ] {
            for (one, two) in [(&whole, &other), (&other, &whole)] {
                assert_eq!(one.has_program_of(two), same_program, "{other:?}");
                assert_eq!(one.has_kernel_of(two), same_kernel, "{other:?}");
            }
        }
    }
}
