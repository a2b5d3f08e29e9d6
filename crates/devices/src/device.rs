//! Devices in virtual time: requests go in, moments of completion come out.
//!
//! A device is pure: it has no clock, starts no thread and reads no file. Its caller says what time
//! it is. The same requests at the same times, with the same seed, give the same answers on every
//! machine.

pub mod agenda;
pub mod cloud;
pub mod hdd;
pub mod model;
pub mod null;
pub mod raid;
pub mod ssd;
mod timed;

/// A moment or a span of virtual time, in nanoseconds.
pub type Nanos = u64;

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RequestKind {
    /// Bytes from the device.
    Read,
    /// Bytes to the device.
    Write,
    /// Bytes to the device, past its volatile cache ("force unit access", FUA). Only a device with
    /// [`DeviceParameters::has_fua`](model::DeviceParameters::has_fua) gets it.
    WriteThrough,
    /// Makes durable what was written and acknowledged before. Has no place and no length.
    Flush,
}

/// A request to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceRequest {
    /// What it asks for.
    pub kind: RequestKind,
    /// In bytes from the start of the device.
    pub offset: u64,
    /// In bytes.
    pub length: u64,
    /// The source: 0 is the foreground, each stream of the neighbours has a number from 1 on.
    pub stream: u32,
}

/// The end of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The `id` that was given to [`Device::submit`].
    pub id: u64,
    /// When it is done.
    pub at: Nanos,
}

/// A device with its queue.
///
/// Time only moves forward. A decision stays: a later request can't change what the device did
/// before.
pub trait Device: Send {
    /// Says how many bytes from 0 hold data. They lie all over the part of the device that its
    /// model says is in use, however few they are.
    fn set_span(&mut self, bytes: u64);

    /// Puts a request into the queue at `now`. No request in flight has the same `id`.
    fn submit(&mut self, now: Nanos, id: u64, request: DeviceRequest);

    /// Nothing is completed before this moment unless something else is submitted; `None` when no
    /// request is in flight. A device that must decide something earlier names that moment: then
    /// [`Device::advance`] may add nothing.
    fn next_completion(&self) -> Option<Nanos>;

    /// Lets time pass until `now` and adds the completions until then, in order of time.
    fn advance(&mut self, now: Nanos, done: &mut Vec<Completion>);

    /// Time with a request in flight or work of the device's own, up to the last `now`; for several
    /// disks, their mean.
    fn busy_time(&self) -> Nanos;

    /// The device as it was before its first request, with the present span and a clock at 0.
    fn fresh_copy(&self) -> Box<dyn Device>;
}

/// A parameter's value that can't be, or values that don't go together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterProblem {
    /// The names of the parameters.
    pub parameters: Vec<String>,
    /// The error, as a sentence.
    pub why: String,
}

/// Checks that a parameter is within its bounds.
pub fn check_bounds(
    name: &str,
    value: f64,
    bounds: std::ops::RangeInclusive<f64>,
) -> Result<(), ParameterProblem> {
    if bounds.contains(&value) {
        return Ok(());
    }
    let why = format!("{name} is {value}, and must be from {} to {}", bounds.start(), bounds.end());
    Err(ParameterProblem { parameters: vec![name.to_owned()], why })
}

/// Checks that the first parameter is not above the second.
pub fn check_order(
    (low, lower): (&str, f64),
    (high, upper): (&str, f64),
) -> Result<(), ParameterProblem> {
    if lower <= upper {
        return Ok(());
    }
    let why = format!("{high} {upper} is below {low} {lower}");
    Err(ParameterProblem { parameters: [low, high].map(str::to_owned).to_vec(), why })
}

/// The problems among the results of several checks.
pub fn collect_problems<const N: usize>(
    checked: [Result<(), ParameterProblem>; N],
) -> Vec<ParameterProblem> {
    checked.into_iter().filter_map(Result::err).collect()
}
