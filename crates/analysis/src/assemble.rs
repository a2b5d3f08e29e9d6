//! From a run folder to its document.

use bakeoff_results::RunFolder;

use crate::document::{Document, SCHEMA};
use crate::{Result, beside, cells, compare, promises, warnings};

/// What a run folder has to tell, as it is at this moment.
///
/// # Errors
/// [`bakeoff_results::Error::Damaged`] where it can't be read.
pub fn document(folder: &RunFolder) -> Result<Document> {
    let _snapshot = folder.snapshot()?;
    let run = folder.state()?;
    let trials = folder.trials()?;
    let counted = cells::counted(&trials);
    let cells = cells::cells(folder, &run.run, &counted)?;
    let mut compared = compare::all(&run.run, &trials, &counted, |view| view.mean_s);
    beside::put(&mut compared.with_baseline, &cells);
    beside::put(&mut compared.between, &cells);
    let cuts = folder.cuts()?;
    let mut document = Document {
        schema: SCHEMA,
        promises: promises::promises(&run.run, &cuts),
        cuts,
        other_cuts: Vec::new(),
        run,
        trials: Vec::new(),
        cells,
        comparisons: compared.with_baseline,
        between: compared.between,
        noise: compared.noise,
        canaries: folder.canaries()?,
        warnings: Vec::new(),
    };
    let disturbed = folder.disturbed()?;
    document.warnings = warnings::all(&document, &trials, &counted, &disturbed);
    document.trials = trials;
    Ok(document)
}
