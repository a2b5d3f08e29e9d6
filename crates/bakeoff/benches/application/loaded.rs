//! A workload's rows in an engine.

use std::path::Path;
use std::sync::Arc;

use bakeoff_application::{Application, ApplicationFiles};
use bakeoff_engines::{Database, Durability, OpenTerms, find_level};
use bakeoff_workloads::{PreparedWorkload, TextSource, Workload, WorkloadParameters};

const SEED: u64 = 1;

/// A workload at its first scale, with its rows.
pub struct Loaded {
    pub prepared: Box<dyn PreparedWorkload>,
    pub database: Box<dyn Database>,
}

impl Loaded {
    /// Loads it into a new folder of that name.
    pub fn load(workload: &dyn Workload, engine: &str, folder: &Path) -> Self {
        std::fs::create_dir(folder).expect("a folder");
        let scale = workload.scales()[0].name.clone();
        let text = Arc::new(TextSource::generate(SEED));
        let prepared = workload.prepare(&WorkloadParameters::new(&scale, SEED, text));
        let engine = find_level(engine).expect("an engine");
        let terms = OpenTerms::new(Durability::Relaxed);
        let database = engine
            .open(folder, &terms, prepared.schema(), prepared.statements())
            .expect("it opens");
        for table in 0..prepared.schema().tables.len() {
            let mut loader = database.load(table).expect("an empty table");
            prepared.rows(table, &mut |row| loader.row(row)).expect("rows that fit");
            loader.finish().expect("room");
        }
        database.drain().expect("room");
        Self { prepared, database }
    }
}

/// An application of these files.
pub fn compile(name: &str, files: &[(&str, &str)]) -> Application {
    let texts = files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
    let files = ApplicationFiles {
        name: name.into(),
        texts: texts.collect(),
        weights: Default::default(),
        shown: name.into(),
        copied: None,
        program: None,
    };
    Application::new(files).unwrap_or_else(|mistakes| panic!("{mistakes}"))
}
