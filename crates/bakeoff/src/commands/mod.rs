//! The commands, one file for each.

pub mod baseline;
pub mod check;
pub mod checksum;
pub mod cluster;
pub mod compare;
pub mod completions;
pub mod disk;
pub mod disk_daemon;
pub mod doctor;
pub mod external;
pub mod layouts;
pub mod list;
pub mod man;
pub mod merge;
pub mod new;
pub mod numbered_folder;
pub mod past_noise;
pub mod plan;
pub mod present;
pub mod report;
pub mod run;
pub mod strength;
pub mod trial;
pub mod what_if;
