//! A manifest of Kubernetes: an Indexed Job, a pod a shard, no two of bakeoff on one node, on nodes that are
//! kept for bakeoff. It is JSON, which kubectl takes as it takes YAML; what would be a comment is an annotation.
//!
//! Sources: *Jobs*, *Indexed Job for Parallel Processing with Static Work Assignment*, *Assigning Pods to
//! Nodes* and *Taints and Tolerations* of the documentation of Kubernetes.

use serde_json::{Value, json};

use super::{ClusterExperiment, ClusterJob, SHARDS, collected, stoppable, system, usage};
use crate::exit::CommandFailure;

/// What a pod is made of.
pub struct Pod<'a> {
    /// The container image.
    pub image: &'a str,
    /// The claim that run folders are collected on.
    pub claim: &'a str,
    /// The path of bakeoff in the image.
    pub program: &'a str,
}

/// Bytes that a ConfigMap may hold.
const MOST: usize = 1 << 20;
/// Where an experiment's file is in a pod.
const FOLDER: &str = "/experiment";
const FILE: &str = "mine.toml";
/// The label and the taint of nodes that are kept for bakeoff alone: by the label its pods are there, by the
/// taint all others are not.
const NODES: &str = "bakeoff";
/// What the label says.
const ONLY: &str = "only";
/// Seconds that a run that is told to stop has to end and to be collected.
const GRACE: u32 = 300;

/// The longest name of a claim, in characters.
const LONGEST: usize = 253;

/// Refuses a name that no persistent volume claim has. Source: *Object Names and IDs* of the documentation of
/// Kubernetes, on names that are subdomains of DNS (RFC 1123).
///
/// # Errors
/// What a name is made of.
pub fn check_claim(name: &str) -> Result<(), CommandFailure> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let part = |part: &str| {
        part.starts_with(is_plain)
            && part.ends_with(is_plain)
            && part.chars().all(|c| is_plain(c) || c == '-')
    };
    match name.len() <= LONGEST && name.split('.').all(part) {
        true => Ok(()),
        false => Err(usage(format!(
            "--claim {name} is no name of a persistent volume claim: Kubernetes takes lower-case letters, digits, \
             - and ., with a letter or a digit at both ends and beside each ., and {LONGEST} characters at most"
        ))),
    }
}

/// Refuses what is no name of an image. Source: the grammar of references in distribution/reference, which has
/// no white space.
///
/// # Errors
/// That it is empty, or has white space.
pub fn check_image(name: &str) -> Result<(), CommandFailure> {
    match name.is_empty() || name.contains(char::is_whitespace) {
        true => Err(usage(format!(
            "--image `{name}` is no name of a container image, which is not empty and has no spaces: name it as \
             registry.example/lab"
        ))),
        false => Ok(()),
    }
}

/// Refuses a path of bakeoff that is no place in an image.
///
/// # Errors
/// That it is relative.
pub fn check_program(path: &str) -> Result<(), CommandFailure> {
    match path.starts_with('/') {
        true => Ok(()),
        false => Err(usage(format!(
            "--program `{path}` is relative, and an image says where that starts: name it from the image's root, \
             as /usr/local/bin/bakeoff"
        ))),
    }
}

/// The manifest.
///
/// # Errors
/// An experiment's file that can't be read, or is too large for a manifest.
pub fn manifest(job: &ClusterJob, pod: &Pod<'_>) -> Result<String, CommandFailure> {
    let file = match &job.experiment {
        ClusterExperiment::Preset(_) => None,
        ClusterExperiment::File(path) => Some(read(path)?),
    };
    let indexed = indexed_job(job, pod, file.is_some());
    let whole = match file {
        None => indexed,
        Some(text) => json!({
            "apiVersion": "v1",
            "kind": "List",
            "items": [
                {
                    "apiVersion": "v1",
                    "kind": "ConfigMap",
                    "metadata": { "name": job.name },
                    "data": { FILE: text },
                },
                indexed,
            ],
        }),
    };
    let text = serde_json::to_string_pretty(&whole).map_err(|error| usage(error.to_string()))?;
    Ok(text + "\n")
}

fn read(path: &str) -> Result<String, CommandFailure> {
    let text = std::fs::read_to_string(path).map_err(|error| system(path, &error))?;
    match text.len() > MOST {
        true => Err(usage(format!(
            "{path} has more than 1 MiB, which no ConfigMap holds; put it into the image as a preset"
        ))),
        false => Ok(text),
    }
}

fn indexed_job(job: &ClusterJob, pod: &Pod<'_>, has_file: bool) -> Value {
    let ClusterJob { name, shards, .. } = job;
    let mut mounts = vec![
        json!({ "name": "local", "mountPath": "/local" }),
        json!({ "name": "collected", "mountPath": "/collected" }),
    ];
    let mut volumes = vec![
        json!({ "name": "local", "emptyDir": {} }),
        json!({ "name": "collected", "persistentVolumeClaim": { "claimName": pod.claim } }),
    ];
    if has_file {
        mounts.push(json!({ "name": "experiment", "mountPath": FOLDER, "readOnly": true }));
        volumes.push(json!({ "name": "experiment", "configMap": { "name": name } }));
    }
    let affinity = json!({ "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [{
            "labelSelector": { "matchLabels": { "bakeoff": "shard" } },
            "topologyKey": "kubernetes.io/hostname",
        }],
    } });
    let container = json!({
        "name": "bakeoff",
        "image": pod.image,
        "command": ["/bin/sh", "-c", script(job, has_file), "bakeoff", pod.program],
        "env": [{ "name": SHARDS, "value": shards.to_string() }],
        "volumeMounts": mounts,
    });
    let template = json!({
        "metadata": { "labels": { "app": name, "bakeoff": "shard" } },
        "spec": {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": GRACE,
            "affinity": affinity,
            "nodeSelector": { NODES: ONLY },
            "tolerations": [{ "key": NODES, "operator": "Exists", "effect": "NoSchedule" }],
            "containers": [container],
            "volumes": volumes,
        },
    });
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": { "name": name, "annotations": { "bakeoff-nodes": nodes() } },
        "spec": {
            "completionMode": "Indexed",
            "completions": shards,
            "parallelism": shards,
            "backoffLimitPerIndex": 0,
            "template": template,
        },
    })
}

/// How nodes are kept for bakeoff, for whoever reads the manifest.
fn nodes() -> String {
    format!(
        "Pods run on nodes that are kept for bakeoff alone. For each, before the job: \
         kubectl label nodes NODE {NODES}={ONLY}; kubectl taint nodes NODE {NODES}=:NoSchedule"
    )
}

/// What a pod runs: the path of bakeoff is its first argument.
fn script(job: &ClusterJob, has_file: bool) -> String {
    let (name, check) = (&job.name, job.check("\"$1\""));
    let file = format!("{FOLDER}/{FILE}");
    let run = job.command(has_file.then_some(file.as_str()), "auto", "/local/shard");
    let run = stoppable(&format!("\"$1\" {run}"));
    let collected = collected("$target", &format!("/collected/{name}-shard-*"));
    format!(
        r#"set -eu
{check}target=/collected/{name}-shard-$((JOB_COMPLETION_INDEX + 1))
if [ -e "$target" ]; then
    echo "$target is there already; move it away" >&2
    exit 3
fi
{run}if [ -d /local/shard ]; then
    rm -rf -- "$target.part"
    cp -R /local/shard "$target.part"
    mv "$target.part" "$target"
    {collected}fi
exit "$status"
"#
    )
}
