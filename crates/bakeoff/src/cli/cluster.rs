//! `bakeoff cluster`: which scheduler, and what its job file needs to know.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// `bakeoff cluster`.
#[derive(Debug, Subcommand)]
pub enum Cluster {
    /// A job array of Slurm: bakeoff cluster slurm redmine-sweep --shards 8 > job.sh; sbatch job.sh
    Slurm(SlurmJob),
    /// An Indexed Job of Kubernetes, for kubectl create -f
    Kubernetes(KubernetesJob),
    /// A script that runs a shard on each of some hosts
    Ssh(SshJob),
}

/// `bakeoff cluster slurm`.
#[derive(Debug, Args)]
pub struct SlurmJob {
    /// A preset, or a TOML file in a folder that all nodes share
    #[arg(value_name = "PRESET|FILE.toml")]
    pub experiment: String,
    /// Into how many parts the plan is dealt, each for a machine of its own
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub shards: u32,
    /// Where the shards' run folders are collected, in a folder that all nodes share (NAME-shards)
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// More flags of `bakeoff run`
    #[arg(last = true, value_name = "FLAGS")]
    pub flags: Vec<String>,
}

/// `bakeoff cluster kubernetes`.
#[derive(Debug, Args)]
pub struct KubernetesJob {
    /// A preset, or a TOML file, which goes into the manifest
    #[arg(value_name = "PRESET|FILE.toml")]
    pub experiment: String,
    /// Into how many parts the plan is dealt, each for a machine of its own
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub shards: u32,
    /// The container image, which holds this very bakeoff and the servers that it is to start
    #[arg(long)]
    pub image: String,
    /// The persistent volume claim that the shards' run folders are collected on (ReadWriteMany)
    #[arg(long)]
    pub claim: String,
    /// The path of bakeoff in the image
    #[arg(long, value_name = "PATH", default_value = "/usr/local/bin/bakeoff")]
    pub program: String,
    /// More flags of `bakeoff run`
    #[arg(last = true, value_name = "FLAGS")]
    pub flags: Vec<String>,
}

/// `bakeoff cluster ssh`.
#[derive(Debug, Args)]
pub struct SshJob {
    /// A preset, or a TOML file, which is copied
    #[arg(value_name = "PRESET|FILE.toml")]
    pub experiment: String,
    /// The machines, as ssh names them: each runs one shard
    #[arg(value_name = "HOST", required = true)]
    pub hosts: Vec<String>,
    /// As many as there are hosts
    #[arg(long, value_name = "N")]
    pub shards: Option<u32>,
    /// Where the shards' run folders are collected, on this machine (NAME-shards)
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// More flags of `bakeoff run`
    #[arg(last = true, value_name = "FLAGS")]
    pub flags: Vec<String>,
}
