//! From an experiment's file to the plan of its trials.
//!
//! Knows what factors there are, how their levels are written, and how blocks are laid out and
//! shuffled. It must never know an engine, a workload or a disk itself: which names are valid is
//! told to it in a [`Vocabulary`]. It starts nothing and measures nothing.

mod factor;
mod file;
mod plan;
