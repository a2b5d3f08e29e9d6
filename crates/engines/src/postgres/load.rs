//! Bulk loads: binary `COPY` into a table that the same transaction has emptied.
//!
//! With `wal_level=minimal` such rows skip the log, and after `FREEZE` nobody has to visit them
//! again; nobody else uses the database meanwhile. Indexes are built afterwards, by sorting.

use postgres::Client;
use postgres::binary_copy::BinaryCopyInWriter;
use postgres::types::Type;
use self_cell::{MutBorrow, self_cell};

use super::cells::CopiedCell;
use super::{PostgresDatabase, SQL, to_error};
use crate::schema::{self, Table};
use crate::{Error, Loader, Result, Value};

type CopyWriter<'client> = Option<BinaryCopyInWriter<'client>>;

self_cell!(
    struct Copy {
        owner: MutBorrow<Client>,
        #[not_covariant]
        dependent: CopyWriter,
    }
);

pub(super) struct PostgresLoader<'a> {
    table: &'a Table,
    copy: Copy,
}

impl<'a> PostgresLoader<'a> {
    pub(super) fn new(database: &'a PostgresDatabase, table: usize) -> Result<Self> {
        let table = &database.schema.tables[table];
        let name = SQL.quote(&table.name);
        let mut client = database.connect()?;
        client.batch_execute(&format!("BEGIN; TRUNCATE {name}")).map_err(to_error)?;
        for index in &table.indexes {
            client.batch_execute(&SQL.drop_index(table, index)).map_err(to_error)?;
        }
        let types: Vec<_> = table
            .columns
            .iter()
            .map(|column| match column.kind {
                schema::Type::Int => Type::INT8,
                schema::Type::Text { .. } | schema::Type::MediumText => Type::TEXT,
                schema::Type::Bytes { .. } => Type::BYTEA,
                schema::Type::Real => Type::FLOAT8,
                schema::Type::Decimal { .. } => Type::NUMERIC,
                schema::Type::Bool => Type::BOOL,
                schema::Type::Date => Type::DATE,
                schema::Type::Timestamp => Type::TIMESTAMP,
            })
            .collect();
        let copy = Copy::try_new(MutBorrow::new(client), |client| {
            let text = format!("COPY {name} FROM STDIN (FORMAT binary, FREEZE)");
            let writer = client.borrow_mut().copy_in(&text).map_err(to_error)?;
            Ok::<_, Error>(Some(BinaryCopyInWriter::new(writer, &types)))
        })?;
        Ok(Self { table, copy })
    }
}

impl Loader for PostgresLoader<'_> {
    fn row(&mut self, row: &[Value<'_>]) -> Result<()> {
        self.table.fits(row)?;
        self.copy.with_dependent_mut(|_, writer| {
            let writer = writer.as_mut().expect("a load that goes on");
            writer.write_raw(row.iter().map(|value| CopiedCell(*value))).map_err(to_error)
        })
    }

    fn finish(mut self: Box<Self>) -> Result<()> {
        let table = self.table;
        self.copy.with_dependent_mut(|_, writer| {
            writer.take().expect("a load that goes on").finish().map_err(to_error)
        })?;
        let mut client = self.copy.into_owner().into_inner();
        let name = SQL.quote(&table.name);
        let mut texts: Vec<_> =
            table.indexes.iter().map(|index| SQL.create_index(table, index)).collect();
        if table.generated {
            let key = SQL.quote(&table.columns[table.key[0]].name);
            let sequence = SQL.quote(&SQL.sequence_name(table)).replace('\'', "''");
            // Never back: numbers that were given out stay given out.
            texts.push(format!(
                "SELECT setval('{sequence}', GREATEST(nextval('{sequence}'), max({key}))) \
                 FROM {name}"
            ));
        }
        texts.push("COMMIT".into());
        // Without statistics the planner guesses; without its visibility map an index alone never
        // answers.
        texts.push(format!("VACUUM (FREEZE, ANALYZE) {name}"));
        texts.iter().try_for_each(|text| client.batch_execute(text)).map_err(to_error)
    }
}
