//! Rows that can't be had: whose fault that is said to be, and what is left of their image.

use std::fs;
use std::sync::atomic::AtomicBool;

use bakeoff_disk::mount::Launcher;
use bakeoff_engines::schema::{Table, Type};
use bakeoff_engines::{Schema, Statement};
use bakeoff_experiment::{Experiment, FlagOverrides};
use bakeoff_lab::place::images::Images;
use bakeoff_lab::targets::WantedLevels;
use bakeoff_lab::{Registry, TrialError, procedures};
use bakeoff_testkit::open_to_all;
use bakeoff_workloads::{
    Name, PreparedWorkload, RowsError, SourceError, Take, Workload, WorkloadClient,
    WorkloadParameters, WorkloadScale, names,
};

use crate::Test;
use crate::stage::{Nobody, program, this};

pub const TESTS: &[Test] =
    &[("rows_that_cannot_be_had_leave_no_image", rows_that_cannot_be_had_leave_no_image)];

/// A workload whose source fails after some rows.
pub struct HalfWay;

static SCALES: [WorkloadScale; 1] = [WorkloadScale::new("only", "some rows", 100_000)];

impl Workload for HalfWay {
    fn name(&self) -> &'static str {
        "half-way"
    }

    fn summary(&self) -> &'static str {
        "its source fails"
    }

    fn scales(&self) -> &'static [WorkloadScale] {
        &SCALES
    }

    fn operations(&self) -> Vec<Name> {
        names(["nothing"])
    }

    fn prepare(&self, _: &WorkloadParameters<'_>) -> Box<dyn PreparedWorkload> {
        let table = Table::new("notes").key_column("id", Type::Int).column("text", Type::STRING);
        Box::new(Half(Schema { tables: vec![table] }))
    }
}

struct Half(Schema);

impl PreparedWorkload for Half {
    fn schema(&self) -> &Schema {
        &self.0
    }

    fn statements(&self) -> &[Statement] {
        &[]
    }

    fn rows(&self, _: usize, row: &mut Take<'_>) -> Result<(), RowsError> {
        (1..=5000_i64).try_for_each(|id| row(&[id.into(), "a note".into()]))?;
        let error = SourceError::new("a quote has no end: put one there");
        Err(error.in_file("/data/notes.csv".as_ref()).at_line(5001).into())
    }

    fn client(&self, _: usize, _: usize, _: u64) -> Box<dyn WorkloadClient + '_> {
        unreachable!("its data are never there")
    }
}

fn rows_that_cannot_be_had_leave_no_image() {
    let registry = Registry::standard().with_workloads([&HalfWay as &dyn Workload]);
    let folder = tempfile::tempdir().expect("a folder");
    open_to_all(folder.path());
    let file = folder.path().join("it.toml");
    fs::write(&file, "workload = 'half-way'\nengine = ['sqlite', 'lmdb']\n").expect("room");
    let (file, vocabulary) = (file.to_string_lossy(), registry.vocabulary());
    let experiment =
        Experiment::load(&file, &FlagOverrides::default(), &vocabulary).expect("a file");
    let launcher = Launcher { program: this(), arguments: vec!["disk-daemon".into()] };
    let mut lab = procedures::ProcedureContext {
        registry: &registry,
        program: &program(),
        launcher: &launcher,
        work: folder.path(),
        device: None,
        images: Images::default(),
        hired: None,
        reuse: false,
        filled: Default::default(),
        claims: Default::default(),
        applied: Vec::new(),
        stop: &AtomicBool::new(false),
        watch: &mut Nobody,
    };
    for trial in &experiment.plan().blocks[0].trials {
        let wanted = WantedLevels {
            experiment: &experiment,
            cell: &trial.cell,
            workload: &experiment.workload,
        };
        let target = registry.target_of("half-way").expect("a target");
        let setup = target.resolve(&wanted).expect("levels");
        let said = "its data can't be loaded: table notes, after row 5000: /data/notes.csv, line \
                    5001: a quote has no end: put one there";
        // Once more it is known, and nothing is loaded.
        for _ in 0..2 {
            match lab.image(&setup) {
                Err(TrialError::User(why)) => assert_eq!(why, said),
                other => panic!("{other:?}"),
            }
            let left = fs::read_dir(folder.path()).expect("the folder").map(|it| it.unwrap());
            let left: Vec<_> = left.map(|entry| entry.file_name()).collect();
            assert_eq!(left, ["it.toml"], "something is left");
        }
    }
}
