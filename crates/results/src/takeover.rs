//! Which programs of bakeoff ran a run, and under which kernels.

use serde::{Deserialize, Serialize};

/// A program of bakeoff, and the kernel that it runs under.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Platform {
    /// bakeoff's version.
    pub version: String,
    /// The SHA-256 of its program, in hexadecimal digits; `None` where it is not known.
    pub program_sha256: Option<String>,
    /// The kernel's release.
    pub kernel: String,
    /// Which build of that release it is; `None` where it is not known.
    pub kernel_version: Option<String>,
}

/// Another program, or another kernel, that went on with a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Takeover {
    /// What went on.
    pub by: Platform,
    /// How many trials had ended by then.
    pub trials: u32,
    /// How many power cuts had been made by then, without those that failed.
    pub cuts: u32,
}

impl Takeover {
    /// Whether it ended anything of a run that has ended so many trials and power cuts.
    pub(crate) fn ran_something(&self, (trials, cuts): (u32, u32)) -> bool {
        self.trials < trials || self.cuts < cuts
    }
}

impl Platform {
    /// Whether both have the same program; what one does not know is no difference.
    pub fn has_program_of(&self, other: &Self) -> bool {
        is_alike(self.program_sha256.as_deref(), other.program_sha256.as_deref())
    }

    /// Whether both have the same kernel; what one does not know is no difference.
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
