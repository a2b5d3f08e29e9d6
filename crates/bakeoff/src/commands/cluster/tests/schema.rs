//! The fields that Kubernetes publishes for the objects of a manifest, as far as a manifest of ours may
//! use them: names and types of the OpenAPI description of Kubernetes 1.30 (`api/openapi-spec/swagger.json`
//! of kubernetes/kubernetes: io.k8s.api.batch.v1, io.k8s.api.core.v1, io.k8s.apimachinery.pkg.apis.meta.v1).
//! An API server refuses or passes over what is not among them.

use serde_json::Value;

/// An object: its name, its fields with their types, and those of them that it must have. A type is that
/// of JSON or an object; `[T]` is a list of T, and `{T}` a map to T.
struct Object {
    name: &'static str,
    fields: &'static [(&'static str, &'static str)],
    required: &'static [&'static str],
}

const fn object(
    name: &'static str,
    fields: &'static [(&'static str, &'static str)],
    required: &'static [&'static str],
) -> Object {
    Object { name, fields, required }
}

const OBJECTS: &[Object] = &[
    // The description requires none of these four of a Job; without them an API server has no Job.
    object(
        "Job",
        &[
            ("apiVersion", "string"),
            ("kind", "string"),
            ("metadata", "ObjectMeta"),
            ("spec", "JobSpec"),
        ],
        &["apiVersion", "kind", "metadata", "spec"],
    ),
    object(
        "ConfigMap",
        &[
            ("apiVersion", "string"),
            ("kind", "string"),
            ("metadata", "ObjectMeta"),
            ("data", "{string}"),
            ("binaryData", "{string}"),
            ("immutable", "boolean"),
        ],
        &["apiVersion", "kind", "metadata"],
    ),
    object(
        "ObjectMeta",
        &[
            ("name", "string"),
            ("generateName", "string"),
            ("namespace", "string"),
            ("labels", "{string}"),
            ("annotations", "{string}"),
        ],
        &[],
    ),
    object(
        "JobSpec",
        &[
            ("activeDeadlineSeconds", "integer"),
            ("backoffLimit", "integer"),
            ("backoffLimitPerIndex", "integer"),
            ("completionMode", "string"),
            ("completions", "integer"),
            ("manualSelector", "boolean"),
            ("maxFailedIndexes", "integer"),
            ("parallelism", "integer"),
            ("podReplacementPolicy", "string"),
            ("suspend", "boolean"),
            ("template", "PodTemplateSpec"),
            ("ttlSecondsAfterFinished", "integer"),
        ],
        &["template"],
    ),
    object("PodTemplateSpec", &[("metadata", "ObjectMeta"), ("spec", "PodSpec")], &[]),
    object(
        "PodSpec",
        &[
            ("activeDeadlineSeconds", "integer"),
            ("affinity", "Affinity"),
            ("automountServiceAccountToken", "boolean"),
            ("containers", "[Container]"),
            ("hostNetwork", "boolean"),
            ("initContainers", "[Container]"),
            ("nodeName", "string"),
            ("nodeSelector", "{string}"),
            ("priorityClassName", "string"),
            ("restartPolicy", "string"),
            ("serviceAccountName", "string"),
            ("terminationGracePeriodSeconds", "integer"),
            ("tolerations", "[Toleration]"),
            ("volumes", "[Volume]"),
        ],
        &["containers"],
    ),
    object("Affinity", &[("podAntiAffinity", "PodAntiAffinity")], &[]),
    object(
        "PodAntiAffinity",
        &[("requiredDuringSchedulingIgnoredDuringExecution", "[PodAffinityTerm]")],
        &[],
    ),
    object(
        "PodAffinityTerm",
        &[
            ("labelSelector", "LabelSelector"),
            ("namespaceSelector", "LabelSelector"),
            ("namespaces", "[string]"),
            ("topologyKey", "string"),
        ],
        &["topologyKey"],
    ),
    object("LabelSelector", &[("matchLabels", "{string}")], &[]),
    object(
        "Toleration",
        &[
            ("effect", "string"),
            ("key", "string"),
            ("operator", "string"),
            ("tolerationSeconds", "integer"),
            ("value", "string"),
        ],
        &[],
    ),
    object(
        "Container",
        &[
            ("args", "[string]"),
            ("command", "[string]"),
            ("env", "[EnvVar]"),
            ("image", "string"),
            ("imagePullPolicy", "string"),
            ("name", "string"),
            ("volumeMounts", "[VolumeMount]"),
            ("workingDir", "string"),
        ],
        &["name"],
    ),
    object("EnvVar", &[("name", "string"), ("value", "string")], &["name"]),
    object(
        "VolumeMount",
        &[
            ("mountPath", "string"),
            ("name", "string"),
            ("readOnly", "boolean"),
            ("subPath", "string"),
        ],
        &["mountPath", "name"],
    ),
    object(
        "Volume",
        &[
            ("configMap", "ConfigMapVolumeSource"),
            ("emptyDir", "EmptyDirVolumeSource"),
            ("name", "string"),
            ("persistentVolumeClaim", "PersistentVolumeClaimVolumeSource"),
        ],
        &["name"],
    ),
    object(
        "ConfigMapVolumeSource",
        &[("defaultMode", "integer"), ("name", "string"), ("optional", "boolean")],
        &[],
    ),
    object("EmptyDirVolumeSource", &[("medium", "string"), ("sizeLimit", "string")], &[]),
    object(
        "PersistentVolumeClaimVolumeSource",
        &[("claimName", "string"), ("readOnly", "boolean")],
        &["claimName"],
    ),
];

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
        (_, Value::Object(fields)) => match OBJECTS.iter().find(|it| it.name == wanted) {
            Some(object) => {
                let lacking = object.required.iter().filter(|name| !fields.contains_key(**name));
                problems.extend(lacking.map(|name| format!("{at} lacks {name}")));
                for (name, item) in fields {
                    match object.fields.iter().find(|(known, _)| known == name) {
                        Some((_, of)) => check(&format!("{at}.{name}"), of, item, problems),
                        None => problems.push(format!("{at} has no field {name}")),
                    }
                }
                true
            }
            None => false,
        },
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
