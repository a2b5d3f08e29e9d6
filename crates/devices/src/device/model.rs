//! A device model: a name, a line about it, and parameters that make a device.

use std::fmt;
use std::ops::RangeInclusive;

use serde::Serialize;
use serde::de::DeserializeOwned;
use toml::Table;

use super::{Device, ParameterProblem};
use crate::size::{gib_text, size_of};

/// What a device is like. A model implements it for a struct of its parameters: each field is a
/// number or a word, has a default, and a user changes it by its name.
///
/// A device with a stroke has the parameter [`USED`].
pub trait DeviceParameters: fmt::Debug + Send + Sync {
    /// All reasons why such a device can't be.
    fn check(&self) -> Vec<ParameterProblem>;

    /// The device. [`DeviceParameters::check`] has found nothing wrong. The same seed makes the
    /// same device.
    fn build(&self, seed: u64) -> Box<dyn Device>;

    /// Bytes that the device may acknowledge and lose with the power, if nobody flushes.
    fn cache_bytes(&self) -> u64;

    /// Whether it has a write of its own that goes past its cache. Without one, the kernel makes a
    /// write and a flush of it (Linux, Documentation/block/writeback_cache_control.rst).
    fn has_fua(&self) -> bool {
        false
    }

    /// Whether the device takes no time, and so has no queue.
    fn takes_no_time(&self) -> bool {
        false
    }
}

/// The parameter of a device with a stroke: the part that holds data, above 0 and at most 1.
pub const USED: &str = "used";

/// Parameters of any model, read and changed by name. All that serde can write as TOML have it.
pub trait AnyParameters: DeviceParameters {
    /// The parameters by name. The error: TOML can't hold them.
    fn to_table(&self) -> Result<Table, toml::ser::Error>;

    /// A copy with these changes, and all that is wrong with them. What can't be read stays
    /// unchanged.
    fn with_changes(&self, changes: &Table) -> (Box<dyn AnyParameters>, Vec<ParameterProblem>);

    /// A copy.
    fn clone_boxed(&self) -> Box<dyn AnyParameters>;
}

impl<P: DeviceParameters + Serialize + DeserializeOwned + Clone + 'static> AnyParameters for P {
    fn to_table(&self) -> Result<Table, toml::ser::Error> {
        Table::try_from(self)
    }

    fn with_changes(&self, changes: &Table) -> (Box<dyn AnyParameters>, Vec<ParameterProblem>) {
        let (changed, mut wrong) = apply_changes(self, changes);
        wrong.extend(changed.check());
        (Box::new(changed), wrong)
    }

    fn clone_boxed(&self) -> Box<dyn AnyParameters> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn AnyParameters> {
    fn clone(&self) -> Self {
        (**self).clone_boxed()
    }
}

pub(crate) fn apply_changes<P: Serialize + DeserializeOwned + Clone>(
    own: &P,
    changes: &Table,
) -> (P, Vec<ParameterProblem>) {
    let (mut parameters, mut wrong) = (own.clone(), Vec::new());
    let mut all = Table::try_from(own).expect("numbers and words by name");
    for (key, value) in changes {
        let before = all.insert(key.clone(), value.clone());
        match all.clone().try_into() {
            Ok(changed) => parameters = changed,
            Err(error) => {
                let why = reword_error(key, error.message());
                wrong.push(ParameterProblem { parameters: vec![key.clone()], why });
                all.extend(before.map(|before| (key.clone(), before)));
            }
        }
    }
    (parameters, wrong)
}

/// Rewords a parameter's error. serde says "unknown variant `x`, expected one of `a`, `b`, `c`".
fn reword_error(key: &str, message: &str) -> String {
    let words =
        message.strip_prefix("unknown variant ").and_then(|it| it.split_once(", expected "));
    let Some((value, expected)) = words else { return format!("{key} has an {message}") };
    let expected = expected.strip_prefix("one of ").unwrap_or(expected);
    let expected = match expected.rsplit_once(", ") {
        Some((others, last)) => format!("{others} or {last}"),
        None => expected.to_owned(),
    };
    format!("{key} is {value}, and must be {expected}")
}

/// A device model, or a family of models that differ by the size in their names.
#[derive(Clone, Debug)]
pub struct DeviceModel {
    name: &'static str,
    summary: &'static str,
    made: ParameterFactory,
    sources: &'static [ConstantSource],
}

/// Where some parameters of a model come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConstantSource {
    /// Their names.
    pub parameters: &'static [&'static str],
    /// How far published values differ, in words; empty if that is not known.
    pub spread: &'static str,
    /// A publication that a reader can find.
    pub source: &'static str,
}

#[derive(Clone, Debug)]
enum ParameterFactory {
    Once(fn() -> Box<dyn AnyParameters>),
    OfSize(RangeInclusive<u64>, fn(u64) -> Box<dyn AnyParameters>),
}

/// A model in the list of models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedModel {
    /// As a user writes it.
    pub name: String,
    /// A description in one line.
    pub summary: &'static str,
}

/// The family of models has no such size.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{family} needs a size from {} to {}, written like `{family}:{}`",
    gib_text(*gib.start()),
    gib_text(*gib.end()),
    gib_text(100.clamp(*gib.start(), *gib.end()))
)]
pub struct WrongSize {
    family: &'static str,
    gib: RangeInclusive<u64>,
}

pub(crate) type NamedParameters = (String, Box<dyn AnyParameters>);

impl DeviceModel {
    /// A model with its summary and parameters.
    pub const fn new(
        name: &'static str,
        summary: &'static str,
        parameters: fn() -> Box<dyn AnyParameters>,
    ) -> Self {
        Self { name, summary, made: ParameterFactory::Once(parameters), sources: &[] }
    }

    /// A family of models written `NAME:SIZE`. `parameters` gets the size in whole GiB, rounded
    /// down.
    pub const fn of_size(
        name: &'static str,
        summary: &'static str,
        gib: RangeInclusive<u64>,
        parameters: fn(u64) -> Box<dyn AnyParameters>,
    ) -> Self {
        Self { name, summary, made: ParameterFactory::OfSize(gib, parameters), sources: &[] }
    }

    /// The model with the sources of its parameters. What has none is listed as one's own.
    #[must_use]
    pub const fn with_sources(mut self, sources: &'static [ConstantSource]) -> Self {
        self.sources = sources;
        self
    }

    pub(crate) fn sources(&self) -> &'static [ConstantSource] {
        self.sources
    }

    /// Without a size.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The model's entry in a list.
    pub fn to_listed(&self) -> ListedModel {
        let name = match self.made {
            ParameterFactory::Once(_) => self.name.to_owned(),
            ParameterFactory::OfSize(..) => format!("{}:SIZE", self.name),
        };
        ListedModel { name, summary: self.summary }
    }

    /// The default parameters; for a family, those of the smallest model.
    pub(crate) fn smallest_parameters(&self) -> Box<dyn AnyParameters> {
        match &self.made {
            ParameterFactory::Once(parameters) => parameters(),
            ParameterFactory::OfSize(gib, parameters) => parameters(*gib.start()),
        }
    }

    /// The full name and parameters of the model that a text names; `None` if it is another's.
    pub(crate) fn find_parameters(&self, text: &str) -> Option<Result<NamedParameters, WrongSize>> {
        let rest = text.strip_prefix(self.name)?;
        match &self.made {
            ParameterFactory::Once(parameters) => {
                rest.is_empty().then(|| Ok((self.name.to_owned(), parameters())))
            }
            ParameterFactory::OfSize(sizes, parameters) => {
                let size = if rest.is_empty() { "" } else { rest.strip_prefix(':')? };
                let gib = size_of(size).map(|bytes| bytes >> 30).filter(|gib| sizes.contains(gib));
                let wrong = || WrongSize { family: self.name, gib: sizes.clone() };
                let named = |gib| (format!("{}:{gib}G", self.name), parameters(gib));
                Some(gib.map(named).ok_or_else(wrong))
            }
        }
    }
}
