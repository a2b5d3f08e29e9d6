//! The fields that Kubernetes publishes for the objects of a manifest, as far as a manifest of ours may
//! use them: names and types of the OpenAPI description of Kubernetes 1.30 (`api/openapi-spec/swagger.json`
//! of kubernetes/kubernetes: io.k8s.api.batch.v1, io.k8s.api.core.v1, io.k8s.apimachinery.pkg.apis.meta.v1).
//! An API server refuses or passes over what is not among them.

use serde_json::Value;

/// The objects: a line of each, which may go on; its name and its fields with their types. A field that it
/// must have is marked with `*`. A type is that of JSON or an object; `[T]` is a list of T, and `{T}` a map to T.
/// The description requires none of the four of a Job; without them an API server has no Job.
const OBJECTS: &str = "
Job: apiVersion* string, kind* string, metadata* ObjectMeta, spec* JobSpec
ConfigMap: apiVersion* string, kind* string, metadata* ObjectMeta, data {string}, binaryData
  {string}, immutable boolean
ObjectMeta: name string, generateName string, namespace string, labels {string}, annotations
  {string}
JobSpec: activeDeadlineSeconds integer, backoffLimit integer, backoffLimitPerIndex integer,
  completionMode string, completions integer, manualSelector boolean, maxFailedIndexes integer,
  parallelism integer, podReplacementPolicy string, suspend boolean, template* PodTemplateSpec,
  ttlSecondsAfterFinished integer
PodTemplateSpec: metadata ObjectMeta, spec PodSpec
PodSpec: activeDeadlineSeconds integer, affinity Affinity, automountServiceAccountToken boolean,
  containers* [Container], hostNetwork boolean, initContainers [Container], nodeName string,
  nodeSelector {string}, priorityClassName string, restartPolicy string, serviceAccountName string,
  terminationGracePeriodSeconds integer, tolerations [Toleration], volumes [Volume]
Affinity: podAntiAffinity PodAntiAffinity
PodAntiAffinity: requiredDuringSchedulingIgnoredDuringExecution [PodAffinityTerm]
PodAffinityTerm: labelSelector LabelSelector, namespaceSelector LabelSelector, namespaces [string],
  topologyKey* string
LabelSelector: matchLabels {string}
Toleration: effect string, key string, operator string, tolerationSeconds integer, value string
Container: args [string], command [string], env [EnvVar], image string, imagePullPolicy string,
  name* string, volumeMounts [VolumeMount], workingDir string
EnvVar: name* string, value string
VolumeMount: mountPath* string, name* string, readOnly boolean, subPath string
Volume: configMap ConfigMapVolumeSource, emptyDir EmptyDirVolumeSource, name* string,
  persistentVolumeClaim PersistentVolumeClaimVolumeSource
ConfigMapVolumeSource: defaultMode integer, name string, optional boolean
EmptyDirVolumeSource: medium string, sizeLimit string
PersistentVolumeClaimVolumeSource: claimName* string, readOnly boolean
";

/// A field: its name, its type, and whether it is required.
type Field = (&'static str, &'static str, bool);

/// The fields of an object; none of one that is not described.
fn fields_of(wanted: &str) -> Vec<Field> {
    let begin = format!("\n{wanted}: ");
    let Some((_, rest)) = OBJECTS.split_once(&begin) else { return Vec::new() };
    // Another object begins a line; what goes on is indented.
    let end = rest.match_indices('\n').find(|(at, _)| !rest[at + 1..].starts_with("  "));
    let own = end.map_or(rest, |(at, _)| &rest[..at]);
    let fields = own.split(',').filter_map(|field| {
        let mut words = field.split_whitespace();
        let (name, of) = (words.next()?, words.next()?);
        Some((name.trim_end_matches('*'), of, name.ends_with('*')))
    });
    fields.collect()
}

/// In what a value is no such object, each with its place.
pub fn problems(name: &str, value: &Value) -> Vec<String> {
    let mut problems = Vec::new();
    check(name, name, value, &mut problems);
    problems
}

fn check(at: &str, wanted: &str, value: &Value, problems: &mut Vec<String>) {
    let bare = |brackets: [char; 2]| wanted.strip_prefix(brackets[0])?.strip_suffix(brackets[1]);
    let fits = match (wanted, value) {
        ("string", Value::String(_)) | ("boolean", Value::Bool(_)) => true,
        ("integer", Value::Number(number)) => number.is_i64(),
        (_, Value::Array(items)) if bare(['[', ']']).is_some() => {
            let of = bare(['[', ']']).unwrap_or_default();
            let each = items.iter().enumerate();
            each.for_each(|(n, item)| check(&format!("{at}[{n}]"), of, item, problems));
            true
        }
        (_, Value::Object(fields)) if bare(['{', '}']).is_some() => {
            let of = bare(['{', '}']).unwrap_or_default();
            let each = fields.iter();
            each.for_each(|(name, item)| check(&format!("{at}.{name}"), of, item, problems));
            true
        }
        (_, Value::Object(fields)) => {
            let known = fields_of(wanted);
            let lacking =
                known.iter().filter(|(name, _, must)| *must && !fields.contains_key(*name));
            problems.extend(lacking.map(|(name, ..)| format!("{at} lacks {name}")));
            for (name, item) in fields {
                match known.iter().find(|field| field.0 == name) {
                    Some((_, of, _)) => check(&format!("{at}.{name}"), of, item, problems),
                    None => problems.push(format!("{at} has no field {name}")),
                }
            }
            !known.is_empty()
        }
        _ => false,
    };
    if !fits {
        problems.push(format!("{at} is no {wanted}"));
    }
}

#[test]
fn what_is_no_such_object_is_told_with_its_place() {
    use serde_json::json;
    for (name, value, wanted) in [
        ("JobSpec", json!({ "completions": 2 }), "JobSpec lacks template"),
        ("JobSpec", json!({ "template": {}, "completion": 2 }), "JobSpec has no field completion"),
        ("EnvVar", json!({ "name": "a", "value": 2 }), "EnvVar.value is no string"),
        ("PodSpec", json!({ "containers": [{}] }), "PodSpec.containers[0] lacks name"),
        ("PodSpec", json!({ "containers": {} }), "PodSpec.containers is no [Container]"),
        ("ConfigMap", json!([]), "ConfigMap is no ConfigMap"),
    ] {
        assert_eq!(problems(name, &value), [wanted]);
    }
}
