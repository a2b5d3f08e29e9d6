//! Makes a Kubernetes manifest: an Indexed Job with one pod per shard and one pod per node, on
//! nodes kept for bakeoff. It is JSON, so comments are annotations.
//!
//! Sources: *Jobs*, *Indexed Job for Parallel Processing with Static Work Assignment*, *Assigning
//! Pods to Nodes* and *Taints and Tolerations* of the documentation of Kubernetes.

use serde_json::{Value, json};

use super::{
    ClusterExperiment, ClusterJob, SHARDS, collected_notice, stoppable_script, system_failure,
    usage_failure,
};
use crate::exit::CommandFailure;

pub struct Pod<'a> {
    pub image: &'a str,
    pub claim: &'a str,
    pub program: &'a str,
}

const MOST: usize = 1 << 20;
const FOLDER: &str = "/experiment";
const FILE: &str = "mine.toml";
/// Label and taint of nodes for bakeoff alone: the label attracts its pods, the taint keeps other
/// pods off.
const NODES: &str = "bakeoff";
const ONLY: &str = "only";
/// Seconds that a stopped run has to end and to be collected.
const GRACE: u32 = 300;

const LONGEST: usize = 253;

/// Source: *Object Names and IDs* of the documentation of Kubernetes (RFC 1123 subdomains).
pub fn check_claim(name: &str) -> Result<(), CommandFailure> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let part = |part: &str| {
        part.starts_with(is_plain)
            && part.ends_with(is_plain)
            && part.chars().all(|c| is_plain(c) || c == '-')
    };
    match name.len() <= LONGEST && name.split('.').all(part) {
        true => Ok(()),
        false => Err(usage_failure(format!(
            "--claim {name} is no name of a persistent volume claim: Kubernetes takes lower-case letters, digits, \
             - and ., with a letter or a digit at both ends and beside each ., and {LONGEST} characters at most"
        ))),
    }
}

/// Source: the grammar of references in distribution/reference, which has no white space.
pub fn check_image(name: &str) -> Result<(), CommandFailure> {
    match name.is_empty() || name.contains(char::is_whitespace) {
        true => Err(usage_failure(format!(
            "--image `{name}` is no name of a container image, which is not empty and has no spaces: name it as \
             registry.example/lab"
        ))),
        false => Ok(()),
    }
}

pub fn check_program(path: &str) -> Result<(), CommandFailure> {
    match path.starts_with('/') {
        true => Ok(()),
        false => Err(usage_failure(format!(
            "--program `{path}` is relative, and an image says where that starts: name it from the image's root, \
             as /usr/local/bin/bakeoff"
        ))),
    }
}

pub fn build_manifest(job: &ClusterJob, pod: &Pod<'_>) -> Result<String, CommandFailure> {
    let file = match &job.experiment {
        ClusterExperiment::Preset(_) => None,
        ClusterExperiment::File(path) => Some(read_file(path)?),
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
    let text =
        serde_json::to_string_pretty(&whole).map_err(|error| usage_failure(error.to_string()))?;
    Ok(text + "\n")
}

fn read_file(path: &str) -> Result<String, CommandFailure> {
    let text = std::fs::read_to_string(path).map_err(|error| system_failure(path, &error))?;
    match text.len() > MOST {
        true => Err(usage_failure(format!(
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
        "command": ["/bin/sh", "-c", keep_dollars(&pod_script(job, has_file)), "bakeoff", keep_dollars(pod.program)],
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
        "metadata": { "name": name, "annotations": { "bakeoff-nodes": nodes_comment() } },
        "spec": {
            "completionMode": "Indexed",
            "completions": shards,
            "parallelism": shards,
            "backoffLimitPerIndex": 0,
            "template": template,
        },
    })
}

fn nodes_comment() -> String {
    format!(
        "Pods run on nodes that are kept for bakeoff alone. For each, before the job: \
         kubectl label nodes NODE {NODES}={ONLY}; kubectl taint nodes NODE {NODES}=:NoSchedule"
    )
}

/// Kubernetes puts a variable in the place of `$(NAME)`, and `$` in that of `$$`. Source: *Define
/// Dependent Environment Variables* of its documentation.
fn keep_dollars(text: &str) -> String {
    text.replace('$', "$$")
}

/// The script of a pod; its first argument is the path of bakeoff.
fn pod_script(job: &ClusterJob, has_file: bool) -> String {
    let (name, check) = (&job.name, job.check_program_script("\"$1\""));
    let file = format!("{FOLDER}/{FILE}");
    let run = job.run_command(has_file.then_some(file.as_str()), "auto", "/local/shard");
    let run = stoppable_script(&format!("\"$1\" {run}"));
    let collected = collected_notice("$target", &format!("/collected/{name}-shard-*"));
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
