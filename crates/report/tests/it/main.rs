//! What a reader of reports sees, of synthetic documents.

mod blocks;
mod brief;
mod browser;
mod contrast;
mod cuts;
mod first_screen;
mod formats;
mod guide;
mod lines;
mod machines;
mod many;
mod narrow;
mod over_time;
mod published;
mod question;
mod reading;
mod sample;
mod sections;
mod sentences;
mod snapshots;
mod sweeps;
mod two_runs;
