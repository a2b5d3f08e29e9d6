//! The workload `text-oltp`: rows of text under the four tests of TerarkDB's comparison of 2017,
//! which added two tests of a secondary index to sysbench's.

use std::sync::{Arc, LazyLock};

use bakeoff_engines::schema::{Table, Type};
use bakeoff_engines::statement::{AccessPath, RangeBound, ReadOrder, ReadScope, Set, TableRead};
use bakeoff_engines::{Access, Action, Database, Result, Schema, Statement};
use rand::RngExt;

use crate::ageing::{self, AGE, Ageing};
use crate::keys::{KeyDistribution, KeySampler, UNIFORM};
use crate::sender::{TRANSACTION, named, one_of};
use crate::{
    Declared, DeclaredLevels, DeclaredStatements, FigureOfMerit, Name, OperationCounts,
    PreparedWorkload, RowsError, RowsFile, Scales, Take, TextSource, Workload, WorkloadClient,
    WorkloadParameters, WorkloadScale, articles, seed_stream, to_names,
};

use client::TextOltpClient;

mod client;

pub struct TextOltp;

static SCALES: LazyLock<Scales<i64, 4>> = LazyLock::new(|| {
    Scales::new([
        (WorkloadScale::new("small", "10,000 articles of 2.4 kB", 24_400_000), 10_000),
        (WorkloadScale::new("large", "100,000 articles of 2.4 kB", 244_000_000), 100_000),
        (WorkloadScale::new("huge", "500,000 articles of 2.4 kB", 1_220_000_000), 500_000),
        (WorkloadScale::new("giant", "1,000,000 articles of 2.4 kB", 2_440_000_000), 1_000_000),
    ])
});

const TITLE: (usize, usize) = (8, 80);
/// Keys of one read, or its limit.
const KEYS: usize = 100;
const STATEMENTS: usize = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TextOltpTest {
    /// 100 titles by id.
    PointSelect,
    /// 90 titles by id, then 10 new titles.
    PointSelectUpdate,
    /// Whole rows of 100 values of `k`.
    RandomPoints,
    /// 100 times the titles of 100 rows from a value of `k` on.
    RandomLimit,
    /// 100 times the titles of 100 rows from a deleted id on.
    DeletedRange,
}

impl TextOltpTest {
    /// By the article's names and one of our own.
    const ALL: [(&str, Self); 5] = [
        ("point_select", Self::PointSelect),
        ("point_select90_update10", Self::PointSelectUpdate),
        ("secondary_random_points100", Self::RandomPoints),
        ("secondary_random_limit100", Self::RandomLimit),
        ("deleted_range", Self::DeletedRange),
    ];
}

static TEST: Declared = Declared {
    name: "test",
    summary: "what clients do",
    syntax: "point_select, point_select90_update10, secondary_random_points100, \
             secondary_random_limit100 or deleted_range",
    default: "point_select",
    canonical: &|text| one_of("a test", text, &TextOltpTest::ALL.map(|(name, _)| name)),
};

impl Workload for TextOltp {
    fn name(&self) -> &str {
        "text-oltp"
    }

    fn summary(&self) -> &str {
        "titles and texts, read by id and by a secondary index as a comparison of 2017 did"
    }

    fn scales(&self) -> &[WorkloadScale] {
        SCALES.all()
    }

    fn estimate_entries(&self, scale: &str) -> u64 {
        2 * SCALES.find_data(scale) as u64
    }

    fn factors(&self) -> Vec<&'static Declared> {
        vec![&TEST, &TRANSACTION, &UNIFORM, &AGE]
    }

    fn rows_from_file(&self, scale: &str) -> Option<u64> {
        Some(SCALES.find_data(scale) as u64)
    }

    fn shapes_rows(&self, factor: &Declared) -> bool {
        factor.name == AGE.name
    }

    fn find_age(&self, levels: &DeclaredLevels) -> f64 {
        ageing::parse_times(levels.level_of(&AGE))
    }

    /// A transaction of sysbench: all statements of a test once.
    fn operations(&self) -> Vec<Name> {
        to_names(["transaction"])
    }

    fn figure_of_merit(&self) -> FigureOfMerit {
        FigureOfMerit::Rows
    }

    fn counts(&self) -> OperationCounts {
        OperationCounts { rows: true, bytes: false }
    }

    fn prepare(&self, parameters: &WorkloadParameters<'_>) -> Box<dyn PreparedWorkload> {
        let count = SCALES.find_data(parameters.scale);
        let keys =
            KeyDistribution::parse(parameters.levels.level_of(&UNIFORM)).expect("a checked level");
        let test = named(&TextOltpTest::ALL, &TEST, &parameters.levels);
        let access = match test {
            TextOltpTest::PointSelectUpdate => Access::Write,
            TextOltpTest::PointSelect
            | TextOltpTest::RandomPoints
            | TextOltpTest::RandomLimit
            | TextOltpTest::DeletedRange => Access::Read,
        };
        let mut statements = DeclaredStatements::default();
        let numbers = TextOltpStatementNumbers::declare(&mut statements);
        let times = self.find_age(&parameters.levels);
        let deleted = ageing::count_deleted(times, count);
        let ageing = Ageing::declare(&mut statements, times, (deleted, count), parameters.seed);
        Box::new(Articles {
            count,
            deleted,
            ageing,
            seed: parameters.seed,
            text: Arc::clone(&parameters.text),
            file: parameters.rows.clone(),
            schema: Schema { tables: vec![declare_table()] },
            statements: statements.into_vec(),
            numbers,
            test,
            together: (parameters.levels.level_of(&TRANSACTION) == "on").then_some(access),
            picker: KeySampler::new(keys, 1, count),
        })
    }
}

fn declare_table() -> Table {
    Table::new("articles")
        .generated_key("id")
        .column("k", Type::Int)
        .column("c", Type::Text { most: 512 })
        .column("pad", Type::MediumText)
        .index(&["k"])
}

#[derive(Clone, Copy, Debug)]
struct TextOltpStatementNumbers {
    title: usize,
    new_title: usize,
    points: usize,
    limit: usize,
    from: usize,
}

impl TextOltpStatementNumbers {
    fn declare(statements: &mut DeclaredStatements) -> Self {
        let by_k = TableRead::by_prefix(0, AccessPath::Index(0), 0, &[2]);
        let points = TableRead {
            scope: ReadScope::Among(KEYS),
            ..TableRead::by_prefix(0, AccessPath::Index(0), 0, &[0, 1, 2, 3])
        };
        // In index order, or an engine might answer from any rows at hand: the first half of the
        // table answers half of all these.
        let limit = TableRead {
            scope: ReadScope::Range { equal: 0, from: Some(RangeBound::Inclusive), to: None },
            order: ReadOrder::Ascending,
            limit: Some(KEYS as u32),
            ..by_k
        };
        let from = TableRead { path: AccessPath::Key, ..limit.clone() };
        let new_title = Action::Update { table: 0, set: vec![Set::To(2)], only_if: Vec::new() };
        Self {
            title: statements.add("title by id", Action::Read(TableRead::by_key(0, 1, &[2]))),
            new_title: statements.add("new title", new_title),
            points: statements.add("articles among k", Action::Read(points)),
            limit: statements.add("titles from k on", Action::Read(limit)),
            from: statements.add("titles from id on", Action::Read(from)),
        }
    }
}

struct Articles {
    count: i64,
    /// Rows with ids up to this one were inserted and deleted by ageing.
    deleted: i64,
    ageing: Option<Ageing>,
    seed: u64,
    text: Arc<TextSource>,
    file: Option<RowsFile>,
    schema: Schema,
    statements: Vec<Statement>,
    numbers: TextOltpStatementNumbers,
    test: TextOltpTest,
    together: Option<Access>,
    picker: KeySampler,
}

impl PreparedWorkload for Articles {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn statements(&self) -> &[Statement] {
        &self.statements
    }

    fn rows(&self, _: usize, row: &mut Take<'_>) -> std::result::Result<(), RowsError> {
        let mut random = seed_stream(self.seed, 0);
        let mut id = self.deleted;
        if let Some(file) = &self.file {
            return file.give_rows(self.count as u64, self.seed, &mut |title, text| {
                id += 1;
                let k = random.random_range(1..=self.count);
                row(&[id.into(), k.into(), title.into(), text.into()])
            });
        }
        (0..self.count).try_for_each(|_| {
            id += 1;
            let k = random.random_range(1..=self.count);
            let longest = random.random_range(TITLE.0..=TITLE.1);
            let title = self.text.cut_line(&mut random, longest);
            let longest = articles::draw_length(&mut random);
            let text = self.text.cut(&mut random, longest);
            row(&[id.into(), k.into(), title.into(), text.into()])
        })?;
        Ok(())
    }

    fn age_rows(&self, database: &dyn Database, alive: &mut dyn FnMut()) -> Result<()> {
        self.ageing.map_or(Ok(()), |ageing| ageing.run(database, alive))
    }

    fn make_client(&self, number: usize, _: usize, seed: u64) -> Box<dyn WorkloadClient + '_> {
        Box::new(TextOltpClient::new(
            self,
            self.test,
            self.together,
            seed_stream(seed, number as u64),
        ))
    }

    /// Conditions with the test that writes: reads defer nothing.
    fn make_conditioner(&self, number: usize, _: usize, seed: u64) -> Box<dyn WorkloadClient + '_> {
        let together = self.together.map(|_| Access::Write);
        let random = seed_stream(seed, number as u64);
        Box::new(TextOltpClient::new(self, TextOltpTest::PointSelectUpdate, together, random))
    }
}
