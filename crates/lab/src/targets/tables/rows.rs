use std::path::Path;

use bakeoff_experiment::{Experiment, GENERATED, RowOrigin};
use bakeoff_workloads::{Collection, RowsFile, SourceError, Workload};

pub fn find_rows_file(from: &RowOrigin) -> Result<Option<RowsFile>, SourceError> {
    match from {
        RowOrigin::Generated => Ok(None),
        RowOrigin::File(path) => RowsFile::survey(path).map(Some),
        RowOrigin::Collection(name) => {
            let found = Collection::find(name);
            let collection =
                found.ok_or_else(|| SourceError::new(format!("there are no texts {name}")))?;
            if collection.is_installed() {
                return RowsFile::survey(Path::new(collection.path)).map(Some);
            }
            Err(SourceError::new(format!(
                "the rows come from {name}, which is not installed here: {}; or start a new run with \
                 --rows-from {GENERATED}",
                collection.install_command()
            )))
        }
    }
}

/// `None` unless the experiment names a file and the workload takes rows from it.
pub(super) fn at_scale(
    experiment: &Experiment,
    workload: &dyn Workload,
    scale: &str,
) -> Result<Option<RowsFile>, SourceError> {
    let count = workload.rows_from_file(scale);
    let (Some(from), Some(count)) = (&experiment.rows_from, count) else { return Ok(None) };
    let Some(file) = find_rows_file(from)? else { return Ok(None) };
    if experiment.rows_strict {
        file.check_whole()?;
    }
    let scales = workload.scales().iter();
    let fewest = scales.filter_map(|scale| workload.rows_from_file(&scale.name)).min();
    file.check_holds(count, fewest.unwrap_or(count))?;
    Ok(Some(file))
}
