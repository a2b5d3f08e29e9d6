//! `bakeoff whatif`.

use std::path::PathBuf;

use clap::Args;

/// `bakeoff whatif`.
#[derive(Debug, Args)]
pub struct WhatIf {
    /// The server, by its URL: its settings are read, and nothing is changed
    #[arg(value_name = "URL", required_unless_present = "like", conflicts_with = "like")]
    pub url: Option<String>,
    /// Take the settings from this file instead: my.cnf or postgresql.conf
    #[arg(long, value_name = "FILE")]
    pub like: Option<PathBuf>,
    /// What its clients do: a workload (see `bakeoff list workloads`) or the folder of an application
    #[arg(long, value_name = "NAME|FOLDER")]
    pub workload: String,
    /// Another change to try, or another value of a usual one; may be given several times
    #[arg(long = "try", value_name = "NAME=VALUE", value_parser = parse_change)]
    pub tries: Vec<(String, String)>,
    /// Try only what --try names
    #[arg(long, requires = "tries")]
    pub only: bool,
    /// How many clients work at once
    #[arg(long, value_name = "N", default_value = "8")]
    pub clients: u32,
    /// How many rows there are (the workload's first scale)
    #[arg(long, value_name = "SCALE")]
    pub scale: Option<String>,
    /// The disk of the twin
    #[arg(long, value_name = "DISK", default_value = "host")]
    pub disk: String,
    /// The memory of the server, its page cache included (that of this machine)
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<String>,
    /// How long a trial's clients run (3; with --quick 1)
    #[arg(long, value_name = "S")]
    pub seconds: Option<f64>,
    /// The rows of an application: from a database by URL, which is only read, or from its dump
    #[arg(long, value_name = "URL|DUMP")]
    pub rows_from: Option<String>,
    /// Put the twin's data into a new folder below DIR while it runs, to measure the disk that DIR is on
    #[arg(long, value_name = "DIR")]
    pub path: Option<PathBuf>,
    /// Fewer and shorter trials
    #[arg(long)]
    pub quick: bool,
    /// The folder to make (bakeoff-whatif-1, or the next number that is free)
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print the changes that would be tried, and stop
    #[arg(long)]
    pub dry_run: bool,
    /// Run the programs of an application whose folder others can write
    #[arg(long)]
    pub trust_experiment: bool,
}

fn parse_change(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('=').filter(|(name, value)| !name.is_empty() && !value.is_empty());
    let (name, value) = parts.ok_or("write a setting and its value: work_mem=64MB")?;
    Ok((name.trim().to_lowercase().replace('-', "_"), value.trim().to_owned()))
}
