//! What a device model is: a name, a line about it, and parameters that make a device.
//!
//! Each is described in the file of its device; [`Models`](crate::models::Models) has those that
//! can be had.

use std::fmt;
use std::ops::RangeInclusive;

use serde::Serialize;
use serde::de::DeserializeOwned;
use toml::Table;

use super::{Device, ParameterProblem};
use crate::size::{gib_text, size_of};

/// What a device is like. A model implements it for a struct whose fields are its parameters, by the
/// names that a user changes them by: each is a number or a word, and always has a value.
///
/// A device with a stroke has the parameter [`USED`].
pub trait DeviceParameters: fmt::Debug + Send + Sync {
    /// All that keeps such a device from being.
    fn check(&self) -> Vec<ParameterProblem>;

    /// The device, of parameters that [`DeviceParameters::check`] finds nothing wrong with. All that is
    /// random about it comes from the seed: the same seed makes the same device.
    fn build(&self, seed: u64) -> Box<dyn Device>;

    /// Bytes that the device may have acknowledged and would lose with the power, as nobody had
    /// them flushed.
    fn cache(&self) -> u64;

    /// Whether the device takes no time, and so has no queue in which anybody could be.
    fn takes_no_time(&self) -> bool {
        false
    }
}

/// The parameter of a device with a stroke that says over which part of it the data lie: above 0,
/// and 1 for all of it.
pub const USED: &str = "used";

/// Parameters of whatever model, which can be read and changed by their names. All that can be
/// written as TOML and read again are.
pub trait AnyParameters: DeviceParameters {
    /// The parameters by their names.
    ///
    /// # Errors
    /// TOML can't hold them.
    fn table(&self) -> Result<Table, toml::ser::Error>;

    /// These with some others among them, and all that is wrong then. What can't be read is left
    /// as it was.
    fn with(&self, changes: &Table) -> (Box<dyn AnyParameters>, Vec<ParameterProblem>);

    /// The same once more.
    fn boxed(&self) -> Box<dyn AnyParameters>;
}

impl<P: DeviceParameters + Serialize + DeserializeOwned + Clone + 'static> AnyParameters for P {
    fn table(&self) -> Result<Table, toml::ser::Error> {
        Table::try_from(self)
    }

    fn with(&self, changes: &Table) -> (Box<dyn AnyParameters>, Vec<ParameterProblem>) {
        let (changed, mut wrong) = changed(self, changes);
        wrong.extend(changed.check());
        (Box::new(changed), wrong)
    }

    fn boxed(&self) -> Box<dyn AnyParameters> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn AnyParameters> {
    fn clone(&self) -> Self {
        (**self).boxed()
    }
}

/// Parameters with the changed ones among them, and which of these are no value of theirs.
pub(crate) fn changed<P: Serialize + DeserializeOwned + Clone>(
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
                let why = refused(key, error.message());
                wrong.push(ParameterProblem { parameters: vec![key.clone()], why });
                all.extend(before.map(|before| (key.clone(), before)));
            }
        }
    }
    (parameters, wrong)
}

/// Why a parameter can't have a value, in the words of other such problems. Of a word that it does not have, serde
/// says "unknown variant `x`, expected one of `a`, `b`, `c`".
fn refused(key: &str, message: &str) -> String {
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

/// A device model, or a family of them that differ by the size in their names.
#[derive(Clone, Debug)]
pub struct DeviceModel {
    name: &'static str,
    summary: &'static str,
    made: ParameterFactory,
}

/// How the parameters of a model are made, as it comes.
#[derive(Clone, Debug)]
enum ParameterFactory {
    Once(fn() -> Box<dyn AnyParameters>),
    OfSize(RangeInclusive<u64>, fn(u64) -> Box<dyn AnyParameters>),
}

/// A device that can be had, for a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedModel {
    /// How it is written.
    pub name: String,
    /// What it is, in a line.
    pub summary: &'static str,
}

/// A size that is missing or can't be read, or that no model of a family has.
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

/// A model of some name as it comes, before a user changed anything.
pub(crate) type NamedParameters = (String, Box<dyn AnyParameters>);

impl DeviceModel {
    /// A model of this name, with a line about it for a list, and its parameters as it comes.
    pub const fn new(
        name: &'static str,
        summary: &'static str,
        parameters: fn() -> Box<dyn AnyParameters>,
    ) -> Self {
        Self { name, summary, made: ParameterFactory::Once(parameters) }
    }

    /// A family of models that are written `NAME:SIZE`, of so many GiB: the parameters are made of
    /// the size in GiB, of which parts are left out.
    pub const fn of_size(
        name: &'static str,
        summary: &'static str,
        gib: RangeInclusive<u64>,
        parameters: fn(u64) -> Box<dyn AnyParameters>,
    ) -> Self {
        Self { name, summary, made: ParameterFactory::OfSize(gib, parameters) }
    }

    /// Its name, without a size.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// How it is listed.
    pub fn listed(&self) -> ListedModel {
        let name = match self.made {
            ParameterFactory::Once(_) => self.name.to_owned(),
            ParameterFactory::OfSize(..) => format!("{}:SIZE", self.name),
        };
        ListedModel { name, summary: self.summary }
    }

    /// Its parameters as it comes; of a family, those of the smallest.
    pub(crate) fn smallest(&self) -> Box<dyn AnyParameters> {
        match &self.made {
            ParameterFactory::Once(parameters) => parameters(),
            ParameterFactory::OfSize(gib, parameters) => parameters(*gib.start()),
        }
    }

    /// The model that a text names, with its one name; `None` if it is another's.
    pub(crate) fn named(&self, text: &str) -> Option<Result<NamedParameters, WrongSize>> {
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
