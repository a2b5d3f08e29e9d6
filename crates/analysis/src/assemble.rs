//! From a run folder to its document.

use bakeoff_results::{DATABASE, Error, RunFolder};

use crate::document::{Document, SCHEMA};
use crate::judged::Judged;
use crate::{
    Result, beside, bounds, cells, compare, limits, over, over_machines, over_time, priced,
    promises, series, statements, warnings,
};

/// What a run folder has to tell, as it is at this moment.
///
/// # Errors
/// [`Error::Damaged`] where it can't be read, [`Error::Refused`] where it is larger than any run.
pub fn document(folder: &RunFolder) -> Result<Document> {
    let _snapshot = folder.snapshot()?;
    let run = folder.state()?;
    let trials = folder.trials()?;
    let cuts = folder.cuts()?;
    if let Some(why) = bounds::exceeded(&run.run, &trials, &cuts) {
        return Err(Error::Refused { path: folder.dir().join(DATABASE), why });
    }
    let counted = cells::counted(&trials);
    let mut cells = cells::cells(&run.run, &counted);
    for cell in &mut cells {
        let Some(view) = &mut cell.priced else { continue };
        view.ratio = priced::to_baseline(&run.run, &counted, &cell.levels);
    }
    let mut courses = over_time::all(folder, &run.run.compare, &counted)?;
    cells.iter_mut().for_each(|cell| cell.over_time = courses.remove(&cell.levels));
    let mut compared = compare::all(&run.run, &trials, &counted, |view| view.mean_s);
    let conditions = Judged::judge(&run, &compared).conditions;
    beside::put(&mut compared.with_baseline, &cells);
    beside::put(&mut compared.between, &cells);
    let limits = limits::all(run.run.limit, &trials);
    let canaries = folder.canaries()?;
    let machines = over_machines::view(&run.run, &trials, &counted, &canaries);
    let mut document = Document {
        schema: SCHEMA,
        promises: promises::promises(&run.run, &cuts),
        cuts,
        other_cuts: Vec::new(),
        applications: Vec::new(),
        published: None,
        run,
        trials: Vec::new(),
        series: Vec::new(),
        cells,
        comparisons: compared.with_baseline,
        between: compared.between,
        noise: compared.noise,
        sweep: None,
        limits,
        machines,
        conditions,
        canaries,
        warnings: Vec::new(),
    };
    let disturbed = folder.disturbed()?;
    document.warnings = warnings::all(&document, &trials, &counted, &disturbed, &compared.serial);
    document.trials = trials;
    document.published = statements::view(&document);
    document.sweep = over::sweep(&document);
    Ok(document)
}

impl Document {
    /// Takes the series of every trial, those that don't count among them, from the folder that the
    /// document is of.
    ///
    /// # Errors
    /// [`Error::Damaged`] where they can't be read, [`Error::Refused`] where they have over a million
    /// slots and looks.
    pub fn take_series(&mut self, folder: &RunFolder) -> Result<()> {
        self.series = series::all(folder, &self.trials)?;
        Ok(())
    }
}
