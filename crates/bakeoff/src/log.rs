//! Writes bakeoff's steps to standard error, for users who look for the cause of a problem.

use std::io::{self, Write};

use clap::ValueEnum;
use tracing::level_filters::LevelFilter;

use crate::exit::{CommandFailure, Exit};
use crate::output::fit_locale;

/// The variable that says how much, for this process and for those that it starts.
pub const VARIABLE: &str = bakeoff_lab::LOG;

/// How much is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogLevel {
    /// Nothing
    Off,
    /// What failed
    Error,
    /// What is odd
    Warn,
    /// Blocks and trials
    Info,
    /// Their steps: processes, images, disks, servers
    Debug,
    /// What processes say to each other, too
    Trace,
}

/// Writes standard error, an event at once.
struct LogWriter;

impl Write for LogWriter {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(event);
        io::stderr().write_all(fit_locale(&text).as_bytes()).map(|()| event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// Without a level the variable decides. Call this before there is a second thread.
pub fn start_logging(level: Option<LogLevel>) -> Result<(), CommandFailure> {
    let level = match (level, std::env::var(VARIABLE)) {
        (Some(level), _) => level,
        (None, Ok(name)) if !name.is_empty() => LogLevel::from_str(&name, true).map_err(|_| {
            let valid = LogLevel::value_variants().iter().filter_map(ValueEnum::to_possible_value);
            let valid: Vec<String> = valid.map(|value| value.get_name().to_owned()).collect();
            let valid = valid.join(", ");
            CommandFailure::new(Exit::Usage, format!("{VARIABLE} is `{name}`; valid: {valid}"))
        })?,
        (None, _) => return Ok(()),
    };
    let (name, filter) = match level {
        LogLevel::Off => ("off", LevelFilter::OFF),
        LogLevel::Error => ("error", LevelFilter::ERROR),
        LogLevel::Warn => ("warn", LevelFilter::WARN),
        LogLevel::Info => ("info", LevelFilter::INFO),
        LogLevel::Debug => ("debug", LevelFilter::DEBUG),
        LogLevel::Trace => ("trace", LevelFilter::TRACE),
    };
    // SAFETY: this is the only thread.
    unsafe { std::env::set_var(VARIABLE, name) };
    tracing_subscriber::fmt()
        .with_max_level(filter)
        .with_writer(|| LogWriter)
        .with_target(false)
        .log_internal_errors(false)
        .init();
    Ok(())
}
