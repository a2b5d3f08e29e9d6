//! The run folder: what is kept of a run, and the JSON that is made of it.
//!
//! It stores and reads back records, and holds the compared levels against each other. It must
//! never know how a trial is run, how an engine works, or how a report looks.

pub mod document;
pub mod record;

pub use document::Document;
pub use record::*;
