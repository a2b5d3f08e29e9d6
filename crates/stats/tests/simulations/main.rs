//! The method on made-up runs of which the truth is known.

mod chance;
mod detectable;
mod idle;
mod images;
mod moderated;
mod order;
mod outliers;
mod pairs;
mod sequential;
mod window;
mod words;
