//! Devices in virtual time: requests go in, moments of completion come out.
//!
//! A device is pure: it has no clock, starts no thread and reads no file. Whoever drives it says
//! what time it is. The same requests at the same times, with the same seed, give the same answers
//! on every machine.

pub mod agenda;
pub mod cloud;
pub mod hdd;
pub mod model;
pub mod null;
pub mod raid;
pub mod ssd;

/// A moment or a span of virtual time, in nanoseconds.
pub type Nanos = u64;

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RequestKind {
    /// Bytes from the device.
    Read,
    /// Bytes to the device.
    Write,
    /// All that was written and acknowledged becomes durable; has no place and no length.
    Flush,
}

/// A request to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceRequest {
    /// What it asks for.
    pub kind: RequestKind,
    /// Where it starts, in bytes from the start of the device.
    pub offset: u64,
    /// How many bytes.
    pub length: u64,
    /// Who asks: 0 is the foreground, 1 and above are its neighbours, one number a stream.
    pub stream: u32,
}

/// The end of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The number that it was submitted under.
    pub id: u64,
    /// When it is done.
    pub at: Nanos,
}

/// A device with its queue.
///
/// Time only moves forward: `now` is never before an earlier `now`. What was decided for a moment
/// is never decided again: a request that comes later can't change what the device did before.
pub trait Device: Send {
    /// Says how many bytes from 0 hold data. Moves are made within them: however few they are,
    /// they lie all over the part of the device that its model says is in use.
    fn set_span(&mut self, bytes: u64);

    /// Puts a request into the queue at `now`. `id` is unlike that of any request that is under
    /// way.
    fn submit(&mut self, now: Nanos, id: u64, request: DeviceRequest);

    /// The moment until which nothing is completed if nothing else is submitted; `None` when no
    /// request is in flight. A device that must decide something before its next completion names
    /// that earlier moment: calling [`Device::advance`] then may add nothing, and never hurts.
    fn next_completion(&self) -> Option<Nanos>;

    /// Lets time pass until `now` and adds what was completed by then, in order of time.
    fn advance(&mut self, now: Nanos, done: &mut Vec<Completion>);

    /// How long the device was busy, with at least one request in flight or one of its own to do,
    /// up to the last `now` it was told; for several disks, their mean.
    fn busy(&self) -> Nanos;

    /// The same device as it was before its first request, in a time of its own that starts at 0;
    /// its span is the present one.
    fn unused(&self) -> Box<dyn Device>;
}

/// A value that no parameter of a device can have, or values that do not go together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterProblem {
    /// The names of the parameters.
    pub parameters: Vec<String>,
    /// What is wrong, as a sentence.
    pub why: String,
}

/// Checks that a parameter is within its bounds.
///
/// # Errors
/// It is not.
pub fn within(
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

/// Checks two parameters of which the first may not be above the second.
///
/// # Errors
/// It is.
pub fn ordered(
    (low, lower): (&str, f64),
    (high, upper): (&str, f64),
) -> Result<(), ParameterProblem> {
    if lower <= upper {
        return Ok(());
    }
    let why = format!("{high} {upper} is below {low} {lower}");
    Err(ParameterProblem { parameters: [low, high].map(str::to_owned).to_vec(), why })
}

/// What is wrong of all that was checked.
pub fn wrongs<const N: usize>(checked: [Result<(), ParameterProblem>; N]) -> Vec<ParameterProblem> {
    checked.into_iter().filter_map(Result::err).collect()
}
