//! The workload `oltp`: the tests of sysbench 1.0.20, statement for statement, with its defaults.

use std::sync::LazyLock;

use bakeoff_engines::schema::{Table, Type};
use bakeoff_engines::statement::{AccessPath, RangeBound, ReadScope, Set, TableRead, Yield};
use bakeoff_engines::{Access, Action, Database, Result, Schema, Statement};

use crate::ageing::{self, AGE, Ageing};
use crate::digits::{self, OF_C, OF_PAD};
use crate::keys::{self, KeyDistribution, KeySampler};
use crate::sender::{named, one_of};
use crate::{
    Declared, DeclaredLevels, DeclaredStatements, FigureOfMerit, Name, OperationCounts,
    PreparedWorkload, RowsError, Scales, Take, Workload, WorkloadClient, WorkloadParameters,
    WorkloadScale, seed_stream, to_names,
};

use client::OltpClient;

mod client;

pub struct Oltp;

static SCALES: LazyLock<Scales<i64, 4>> = LazyLock::new(|| {
    Scales::new([
        (WorkloadScale::new("10k", "10,000 rows of 194 bytes", 1_940_000), 10_000),
        (WorkloadScale::new("100k", "100,000 rows of 194 bytes", 19_400_000), 100_000),
        (WorkloadScale::new("1M", "1,000,000 rows of 194 bytes", 194_000_000), 1_000_000),
        (WorkloadScale::new("10M", "10,000,000 rows of 194 bytes", 1_940_000_000), 10_000_000),
    ])
});

/// `--random-points`.
const POINTS: usize = 10;
/// `--number-of-ranges`.
const RANGES: usize = 10;

/// By the names in sysbench's scripts.
const READS: [&str; 5] =
    ["point_selects", "simple_ranges", "sum_ranges", "order_ranges", "distinct_ranges"];
const WRITES: [&str; 4] = ["index_updates", "non_index_updates", "deletes", "inserts"];
const NOT_SENT: usize = usize::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OltpTest {
    PointSelect,
    ReadOnly,
    ReadWrite,
    WriteOnly,
    UpdateIndex,
    UpdateNonIndex,
    Insert,
    Delete,
    RandomPoints,
    RandomRanges,
}

impl OltpTest {
    /// By the names of sysbench's scripts, without `oltp_`.
    const ALL: [(&str, Self); 10] = [
        ("point_select", Self::PointSelect),
        ("read_only", Self::ReadOnly),
        ("read_write", Self::ReadWrite),
        ("write_only", Self::WriteOnly),
        ("update_index", Self::UpdateIndex),
        ("update_non_index", Self::UpdateNonIndex),
        ("insert", Self::Insert),
        ("delete", Self::Delete),
        ("select_random_points", Self::RandomPoints),
        ("select_random_ranges", Self::RandomRanges),
    ];

    fn list_statements(self) -> Vec<&'static str> {
        match self {
            Self::PointSelect => vec!["point_selects"],
            Self::ReadOnly => READS.into(),
            Self::ReadWrite => [&READS[..], &WRITES].concat(),
            Self::WriteOnly => WRITES.into(),
            Self::UpdateIndex => vec!["index_updates"],
            Self::UpdateNonIndex => vec!["non_index_updates"],
            Self::Insert => vec!["inserts"],
            Self::Delete => vec!["deletes"],
            Self::RandomPoints => vec!["random_points"],
            Self::RandomRanges => vec!["random_ranges"],
        }
    }

    fn choose_access(self) -> Option<Access> {
        match self {
            Self::ReadOnly => Some(Access::Read),
            Self::ReadWrite | Self::WriteOnly => Some(Access::Write),
            Self::PointSelect
            | Self::UpdateIndex
            | Self::UpdateNonIndex
            | Self::Insert
            | Self::Delete
            | Self::RandomPoints
            | Self::RandomRanges => None,
        }
    }
}

static TEST: Declared = Declared {
    name: "test",
    summary: "what clients do: sysbench's scripts",
    syntax: "point_select, read_only, read_write, write_only, update_index, update_non_index, \
             insert, delete, select_random_points or select_random_ranges",
    default: "read_write",
    canonical: &|text| one_of("a test", text, &OltpTest::ALL.map(|(name, _)| name)),
};

/// The opposite of sysbench's `--skip-trx`.
static TRANSACTION: Declared = Declared {
    name: "transaction",
    summary: "whether the statements of read_only, read_write and write_only are one transaction \
              together",
    syntax: "on or off",
    default: "on",
    canonical: &|text| one_of("a way to send statements", text, &["on", "off"]),
};

/// sysbench's `--rand-type`, with the defaults of its versions.
static KEYS: Declared = Declared {
    name: "keys",
    summary: "how clients pick keys, and how the column k is filled; 1.0.20 and master are what these versions of \
              sysbench have by default",
    syntax: concat!("1.0.20 (special:75:1), master (uniform), or one of: ", keys::syntax!()),
    default: "special:75:1",
    canonical: &|text| match text {
        "1.0.20" => Ok(KEYS.default.into()),
        "master" => Ok(keys::UNIFORM.default.into()),
        other => keys::normalize_keys(other),
    },
};

impl Workload for Oltp {
    fn name(&self) -> &str {
        "oltp"
    }

    fn summary(&self) -> &str {
        "the tests of sysbench 1.0.20, statement for statement"
    }

    fn scales(&self) -> &[WorkloadScale] {
        SCALES.all()
    }

    fn estimate_entries(&self, scale: &str) -> u64 {
        2 * SCALES.find_data(scale) as u64
    }

    fn factors(&self) -> Vec<&'static Declared> {
        vec![&TEST, &TRANSACTION, &KEYS, &AGE]
    }

    fn shapes_rows(&self, factor: &Declared) -> bool {
        [KEYS.name, AGE.name].contains(&factor.name)
    }

    fn find_age(&self, levels: &DeclaredLevels) -> f64 {
        ageing::parse_times(levels.level_of(&AGE))
    }

    /// A transaction of sysbench: all statements of a test once, whether or not the database runs
    /// them as one.
    fn operations(&self) -> Vec<Name> {
        to_names(["transaction"])
    }

    fn figure_of_merit(&self) -> FigureOfMerit {
        FigureOfMerit::Operations
    }

    fn counts(&self) -> OperationCounts {
        OperationCounts { rows: true, bytes: false }
    }

    fn prepare(&self, parameters: &WorkloadParameters<'_>) -> Box<dyn PreparedWorkload> {
        let keys =
            KeyDistribution::parse(parameters.levels.level_of(&KEYS)).expect("a checked level");
        let mut statements = DeclaredStatements::default();
        let test = named(&OltpTest::ALL, &TEST, &parameters.levels);
        let numbers = OltpStatementNumbers::declare(&mut statements, test);
        let (count, times) =
            (SCALES.find_data(parameters.scale), self.find_age(&parameters.levels));
        let ageing = Ageing::declare(&mut statements, times, (0, count), parameters.seed);
        Box::new(OltpTable {
            count,
            ageing,
            seed: parameters.seed,
            schema: Schema { tables: vec![declare_table()] },
            statements: statements.into_vec(),
            numbers,
            test,
            in_transactions: parameters.levels.level_of(&TRANSACTION) == "on",
            keys,
        })
    }
}

fn declare_table() -> Table {
    Table::new("sbtest1")
        .generated_key("id")
        .column("k", Type::Int)
        .column("c", Type::Text { most: 120 })
        .column("pad", Type::Text { most: 60 })
        .index(&["k"])
}

/// As in sysbench, a client prepares only the statements of its test, and those that condition.
#[derive(Clone, Copy, Debug)]
struct OltpStatementNumbers {
    point_selects: usize,
    simple_ranges: usize,
    sum_ranges: usize,
    order_ranges: usize,
    distinct_ranges: usize,
    index_updates: usize,
    non_index_updates: usize,
    deletes: usize,
    inserts: usize,
    random_points: usize,
    random_ranges: usize,
}

impl OltpStatementNumbers {
    fn declare(statements: &mut DeclaredStatements, test: OltpTest) -> Self {
        let sent = [test.list_statements(), OltpTest::WriteOnly.list_statements()].concat();
        let inclusive = Some(RangeBound::Inclusive);
        let between = ReadScope::Range { equal: 0, from: inclusive, to: inclusive };
        let range = |yields| {
            let all = TableRead::by_prefix(0, AccessPath::Key, 0, &[]);
            Action::Read(TableRead { scope: between, yields, ..all })
        };
        let update = |set| Action::Update { table: 0, set: vec![set], only_if: Vec::new() };
        let whole = TableRead::by_prefix(0, AccessPath::Index(0), 0, &[0, 1, 2, 3]);
        let points = TableRead { scope: ReadScope::Among(POINTS), ..whole.clone() };
        let ranges =
            TableRead { scope: ReadScope::Ranges(RANGES), yields: Yield::Count(1), ..whole };
        let mut add = |name, action| match sent.contains(&name) {
            true => statements.add(name, action),
            false => NOT_SENT,
        };
        Self {
            point_selects: add("point_selects", Action::Read(TableRead::by_key(0, 1, &[2]))),
            simple_ranges: add("simple_ranges", range(Yield::Columns(vec![2]))),
            sum_ranges: add("sum_ranges", range(Yield::Sum(1))),
            order_ranges: add("order_ranges", range(Yield::Sorted(2))),
            distinct_ranges: add("distinct_ranges", range(Yield::Distinct(2))),
            index_updates: add("index_updates", update(Set::Add(1))),
            non_index_updates: add("non_index_updates", update(Set::To(2))),
            deletes: add("deletes", Action::Delete { table: 0 }),
            inserts: add("inserts", Action::Insert { table: 0 }),
            random_points: add("random_points", Action::Read(points)),
            random_ranges: add("random_ranges", Action::Read(ranges)),
        }
    }
}

struct OltpTable {
    count: i64,
    ageing: Option<Ageing>,
    seed: u64,
    schema: Schema,
    statements: Vec<Statement>,
    numbers: OltpStatementNumbers,
    test: OltpTest,
    in_transactions: bool,
    keys: KeyDistribution,
}

impl OltpTable {
    fn make_picker(&self) -> KeySampler {
        KeySampler::new(self.keys, 1, self.count)
    }

    /// Each client has a segment of its own, which ends where the next one begins.
    fn make_segment_picker(&self, number: usize, clients: usize) -> KeySampler {
        let length = self.count as f64 / clients as f64;
        let first = length * (number % clients) as f64;
        KeySampler::new(self.keys, first as i64, (first + length) as i64)
    }
}

impl PreparedWorkload for OltpTable {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn statements(&self) -> &[Statement] {
        &self.statements
    }

    fn rows(&self, _: usize, row: &mut Take<'_>) -> std::result::Result<(), RowsError> {
        let (mut random, ids) = (seed_stream(self.seed, 0), self.make_picker());
        let (mut c, mut pad) = (String::new(), String::new());
        (1..=self.count).try_for_each(|id| {
            let k = ids.pick(&mut random);
            digits::write_digits(&mut random, OF_C, &mut c);
            digits::write_digits(&mut random, OF_PAD, &mut pad);
            row(&[id.into(), k.into(), (&*c).into(), (&*pad).into()])
        })?;
        Ok(())
    }

    fn age_rows(&self, database: &dyn Database, alive: &mut dyn FnMut()) -> Result<()> {
        self.ageing.map_or(Ok(()), |ageing| ageing.run(database, alive))
    }

    fn make_client(
        &self,
        number: usize,
        clients: usize,
        seed: u64,
    ) -> Box<dyn WorkloadClient + '_> {
        let random = seed_stream(seed, number as u64);
        Box::new(OltpClient::new(
            self,
            self.test,
            self.make_segment_picker(number, clients),
            random,
        ))
    }

    /// Conditions with `write_only` for every test: reads defer nothing, and other tests change the
    /// size.
    fn make_conditioner(
        &self,
        number: usize,
        clients: usize,
        seed: u64,
    ) -> Box<dyn WorkloadClient + '_> {
        let random = seed_stream(seed, number as u64);
        Box::new(OltpClient::new(
            self,
            OltpTest::WriteOnly,
            self.make_segment_picker(number, clients),
            random,
        ))
    }
}
