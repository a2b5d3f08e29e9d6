//! Which file a workload's rows come from.

use std::path::Path;

use bakeoff_experiment::{Experiment, GENERATED, RowsFrom};
use bakeoff_workloads::{Collection, RowsFile, SourceError, Workload};

/// The file that rows come from there; none where they are made up.
///
/// # Errors
/// What is wrong with the file, or the command that installs the collection.
pub fn survey(from: &RowsFrom) -> Result<Option<RowsFile>, SourceError> {
    match from {
        RowsFrom::Generated => Ok(None),
        RowsFrom::File(path) => RowsFile::survey(path).map(Some),
        RowsFrom::Collection(name) => {
            let found = Collection::find(name);
            let collection =
                found.ok_or_else(|| SourceError::new(format!("there are no texts {name}")))?;
            if collection.is_installed() {
                return RowsFile::survey(Path::new(collection.path)).map(Some);
            }
            Err(SourceError::new(format!(
                "the rows come from {name}, which is not installed here: {}; or start a new run with \
                 --rows-from {GENERATED}",
                collection.install()
            )))
        }
    }
}

/// The file that a workload's rows come from at a scale, where the experiment names one and the workload takes
/// them from it.
///
/// # Errors
/// What is wrong with the file, or that it holds too few rows.
pub(super) fn at_scale(
    experiment: &Experiment,
    workload: &dyn Workload,
    scale: &str,
) -> Result<Option<RowsFile>, SourceError> {
    let count = workload.rows_from_file(scale);
    let (Some(from), Some(count)) = (&experiment.rows_from, count) else { return Ok(None) };
    let Some(file) = survey(from)? else { return Ok(None) };
    if experiment.rows_strict {
        file.whole()?;
    }
    let scales = workload.scales().iter();
    let fewest = scales.filter_map(|scale| workload.rows_from_file(&scale.name)).min();
    file.holds(count, fewest.unwrap_or(count))?;
    Ok(Some(file))
}
