use std::sync::LazyLock;

use proptest::prelude::*;

use super::*;

static SOURCE: LazyLock<Arc<TextSource>> = LazyLock::new(|| Arc::new(TextSource::generate_short()));

fn place(line: u32) -> SourcePlace {
    SourcePlace { file: "workload.toml".into(), line, column: 1 }
}

fn generated(table: Table, references: &[(&[usize], usize)], rows: i64) -> GeneratedTable {
    let references = references.iter().map(|(columns, parent)| (columns.to_vec(), *parent));
    let place = SourcePlace::from_file("schema.sql");
    GeneratedTable { table, references: references.collect(), place, rows, copied: Vec::new() }
}

/// Rows by generators of `table`, column name and text.
fn make_rows(
    tables: &[GeneratedTable],
    written: &[(usize, &str, &str)],
) -> Result<TableRows, String> {
    make_seeded_rows(tables, written, 1)
}

fn make_seeded_rows(
    tables: &[GeneratedTable],
    written: &[(usize, &str, &str)],
    seed: u64,
) -> Result<TableRows, String> {
    let written: Vec<WrittenGenerator> = written
        .iter()
        .enumerate()
        .map(|(line, (table, column, text))| WrittenGenerator {
            table: *table,
            column: tables[*table].table.column_number(column),
            text: (*text).into(),
            place: place(line as u32 + 1),
        })
        .collect();
    let text = SOURCE.clone();
    let parameters = GeneratorParameters { seed, default_seed: 9, scale: 3, text, copied: None };
    let mut mistakes = Mistakes::default();
    let rows = TableRows::new(tables.to_vec(), &written, parameters, &mut mistakes);
    let rows = rows.filter(|rows| rows.check_values(&written, &mut mistakes));
    assert_eq!(rows.is_some(), mistakes.is_empty(), "{mistakes}");
    rows.ok_or_else(|| mistakes.to_string())
}

/// Tables are filled by several threads.
#[test]
fn rows_are_made_on_any_thread() {
    fn takes_shared<T: Send + Sync>() {}
    takes_shared::<TableRows>();
    takes_shared::<Expression>();
}

/// All rows of a table, each value as text.
fn list_rows(rows: &TableRows, table: usize) -> Vec<Vec<String>> {
    let mut listed = Vec::new();
    let mut take = |values: &[Value<'_>]| {
        let of_value = |value: &Value<'_>| match value {
            Value::Null => "NULL".into(),
            Value::Int(int) => int.to_string(),
            Value::Real(real) => real.get().to_string(),
            Value::Text(text) => (*text).to_owned(),
            Value::Bytes(_) => Datum::from(*value).to_string(),
        };
        listed.push(values.iter().map(of_value).collect());
        Ok(())
    };
    rows.for_each_row(table, &mut take).unwrap();
    listed
}

fn users() -> Table {
    Table::new("users")
        .generated_key("id")
        .column("email", Type::Text { most: 40 })
        .nullable("age", Type::Int)
        .column("about", Type::MediumText)
        .unique(&["email"])
}

fn orders() -> Table {
    Table::new("orders").generated_key("id").column("user_id", Type::Int)
}

fn lines() -> Table {
    Table::new("lines").key_column("order_id", Type::Int).key_column("number", Type::Int)
}

#[test]
fn what_nobody_wrote_is_made_up_by_type_key_and_reference() {
    let tables = [
        generated(users(), &[], 100),
        generated(orders(), &[(&[1], 0)], 250),
        generated(lines(), &[(&[0], 1)], 600),
    ];
    let rows = make_rows(&tables, &[]).unwrap();
    let users = list_rows(&rows, 0);
    assert_eq!(
        (users.len(), users[41][0].as_str(), users[41][1].as_str()),
        (100, "42", "email-41")
    );
    assert!(
        users.iter().all(|row| (8..=400).contains(&row[3].chars().count()) && row[2] != "NULL")
    );
    let orders = list_rows(&rows, 1);
    assert!(orders.iter().all(|row| (1..=100).contains(&row[1].parse().unwrap())));
    assert!(orders.iter().any(|row| row[1] != orders[0][1]));
    let lines = list_rows(&rows, 2);
    assert_eq!(lines[..4], [["1", "1"], ["1", "2"], ["1", "3"], ["2", "1"]]);
    assert_eq!(lines.len(), 600);
    assert!(rows.find_generator(0, 1).is_made_up());
}

#[test]
fn a_value_depends_on_seed_table_row_and_column_alone() {
    let tables = [generated(users(), &[], 50), generated(users(), &[], 50)];
    let written = [(0, "age", "random(0, 1000000)"), (0, "about", "text(random(0, 1000000))")];
    let (rows, again) =
        (make_rows(&tables, &written).unwrap(), make_rows(&tables, &written).unwrap());
    let all = list_rows(&rows, 0);
    assert_eq!(all, list_rows(&again, 0));
    let mut buffers = ValueBuffers::default();
    for row in [33, 5] {
        let late = rows.write_value(0, 3, row, &mut buffers).unwrap();
        assert_eq!(late, Datum::Text(&all[row as usize][3]));
    }
    assert!(all.iter().all(|row| row[2] != row[3]));
    let other = make_seeded_rows(&tables, &written, 2).unwrap();
    assert!(list_rows(&other, 0).iter().zip(&all).all(|(one, other)| one[2] != other[2]));
    // Both tables make up an `about`, each its own.
    assert!(
        list_rows(&rows, 1).iter().zip(list_rows(&other, 1)).all(|(one, other)| one[3] != other[3])
    );
}

#[test]
fn written_generators_have_their_variables_and_the_types_of_columns() {
    let tables = [generated(users(), &[], 4), generated(orders(), &[(&[1], 0)], 4)];
    let written = [
        (0, "email", "text('u', permute(:row, :rows), '@example.org')"),
        (0, "age", "null(1, 5)"),
        (0, "about", ":row * :rows + :scale"),
        (1, "user_id", "ref(users, zipf:9.5)"),
        (1, "id", "10 * :row - 5"),
    ];
    let rows = make_rows(&tables, &written).unwrap();
    let users = list_rows(&rows, 0);
    let mut emails: Vec<&str> = users.iter().map(|row| row[1].as_str()).collect();
    emails.sort_unstable();
    assert_eq!(emails, ["u0@example.org", "u1@example.org", "u2@example.org", "u3@example.org"]);
    assert_eq!(users[2][2..], ["NULL", "11"]);
    let orders = list_rows(&rows, 1);
    assert_eq!(orders[3], ["25", "1"]);
    assert!(!rows.find_generator(1, 1).is_made_up());
}

#[test]
fn rows_come_in_the_order_of_their_keys() {
    let text_key = Table::new("tags").key_column("name", Type::STRING).column("id", Type::Int);
    let tables = [
        generated(orders(), &[], 1_000),
        generated(text_key, &[], 300),
        generated(lines(), &[(&[0], 0)], 900),
        generated(orders(), &[], 500),
    ];
    let written = [
        (0, "id", "permute(:row, :rows)"),
        (1, "name", "text('t', :row)"),
        (3, "id", "hash(:row)"),
    ];
    let rows = make_rows(&tables, &written).unwrap();
    for table in [0, 3] {
        let keys: Vec<i64> =
            list_rows(&rows, table).iter().map(|row| row[0].parse().unwrap()).collect();
        assert!(keys.windows(2).all(|two| two[0] < two[1]), "{table}");
    }
    let names: Vec<Vec<String>> = list_rows(&rows, 1);
    assert!(names.windows(2).all(|two| two[0][0] < two[1][0]));
    assert_eq!((names.len(), names[2][0].as_str()), (300, "t10"));
    let lines = list_rows(&rows, 2);
    assert_eq!((lines.len(), lines[0].join(" ")), (900, "0 1".into()));
    let to_key = |row: &Vec<String>| [row[0].parse::<i64>().unwrap(), row[1].parse().unwrap()];
    assert!(lines.windows(2).all(|two| to_key(&two[0]) < to_key(&two[1])));
}

#[test]
fn pairs_of_references_are_different_ascending_and_spread() {
    let members =
        Table::new("members").key_column("user", Type::Int).key_column("group", Type::Int);
    for (users_count, groups, count) in [(10, 7, 70), (10, 7, 23), (3, 1_000, 500), (50, 5, 40)] {
        let tables = [
            generated(orders(), &[], users_count),
            generated(orders(), &[], groups),
            generated(members.clone(), &[(&[0], 0), (&[1], 1)], count),
        ];
        let rows = make_rows(&tables, &[]).unwrap();
        let pairs: Vec<[i64; 2]> = list_rows(&rows, 2)
            .iter()
            .map(|row| [row[0].parse().unwrap(), row[1].parse().unwrap()])
            .collect();
        assert!(pairs.windows(2).all(|two| two[0] < two[1]), "{pairs:?}");
        assert!(pairs.iter().all(|[_, group]| (1..=groups).contains(group)));
        assert_eq!(pairs.len() as i64, count);
        let greatest = pairs.iter().map(|pair| pair[1]).max().unwrap();
        assert!(greatest > groups * 3 / 4, "{greatest} of {groups}");
    }
}

#[test]
fn a_key_that_is_a_reference_takes_each_parent_once() {
    let profile = Table::new("profiles").key_column("user_id", Type::Int).column("age", Type::Int);
    let tables =
        |count| [generated(users(), &[], 10), generated(profile.clone(), &[(&[0], 0)], count)];
    let rows = make_rows(&tables(10), &[(0, "id", "permute(:row, 100)")]).unwrap();
    let keys = list_rows(&rows, 1);
    assert!(keys.iter().map(|row| &row[0]).eq(list_rows(&rows, 0).iter().map(|row| &row[0])));
    let refused = make_rows(&tables(11), &[]).unwrap_err();
    assert!(refused.contains("profiles.user_id is unique and refers to users"), "{refused}");
}

#[test]
fn what_could_break_a_key_or_unique_is_refused_with_arithmetic() {
    let codes =
        Table::new("codes").generated_key("id").nullable("code", Type::Int).unique(&["code"]);
    let tables = [generated(users(), &[], 10_000), generated(codes, &[], 10_000)];
    for (column, text, expected) in [
        (
            "email",
            "random(1, 1000)",
            "`random(1, 1000)` has 1,000 values for 10,000 rows of the UNIQUE \
          users.email; use :row, permute(:row, :rows), or text() of one of them",
        ),
        ("id", "random(1, 1000000)", "may give the key users.id a value twice"),
        ("id", "7", "the same value in all 10000 rows"),
        ("email", "digits('###')", "has 1,000 values"),
        ("email", "text('a', choose('b', 'c'), digits('#'))", "has 20 values"),
        ("id", "permute(:row, 9999)", "has 9,999 values"),
        ("id", "permute(:row - 1, 10007)", "can't be shown"),
        ("id", ":row % 77", "has 77 values"),
        ("id", ":row * 0", "can't be shown"),
        ("id", "null(0.1, :row)", "users.id can't be null"),
        ("email", "words(3, 9)", "can't be shown"),
        ("email", "text(:row, random(1, 10))", "can't be shown"),
        ("email", "text(words(3, 9), ' -', :row)", "can't be shown"),
        ("id", ":row + :missing", "there is no `:missing` here; a column's variables are :row"),
    ] {
        let refused = make_rows(&tables, &[(0, column, text)]).unwrap_err();
        assert!(refused.starts_with("workload.toml:1:"), "{refused}");
        assert!(refused.contains(expected), "{text}: {refused}");
    }
    for (column, text) in [
        ("code", "null(0.5, 3 * :row)"),
        // Nothing proves it, and no two of so few rows agree.
        ("id", "abs(:row)"),
        ("id", ":row + 1"),
        ("id", "5 - 3 * :row"),
        ("id", ":row * :rows"),
        ("id", "permute(:row + 5, :rows, 3) * 2"),
        ("id", "hash(permute(:row, 20000))"),
        ("id", "int(:row # 5)"),
        ("email", "uuid()"),
        ("email", "text(words(3, 9), ' ', :row, '!')"),
        ("email", "text(:row, ': ', words(3, 9))"),
        ("email", "date('2000-01-01') + :row"),
        ("email", "text('on ', timestamp('2000-01-01') + :row * 60)"),
    ] {
        let table = usize::from(column == "code");
        let rows = make_rows(&tables, &[(table, column, text)]).unwrap();
        let number = tables[table].table.column_number(column);
        let mut values: Vec<String> =
            list_rows(&rows, table).into_iter().map(|mut row| row.swap_remove(number)).collect();
        values.retain(|value| value != "NULL");
        let before = values.len();
        values.sort_unstable();
        values.dedup();
        assert_eq!(values.len(), before, "{text}");
    }
}

#[test]
fn a_composite_key_needs_generators_that_split_the_row_or_differ() {
    let tables = [generated(lines(), &[], 100)];
    let refused = make_rows(&tables, &[]).unwrap_err();
    assert!(refused.contains("the key lines.order_id, number needs a generator"), "{refused}");
    let split = [(0, "order_id", ":row / 7 + 1"), (0, "number", ":row % 7 + 1")];
    let rows = list_rows(&make_rows(&tables, &split).unwrap(), 0);
    assert_eq!((rows[6].join(" "), rows[7].join(" ")), ("1 7".into(), "2 1".into()));
    make_rows(&tables, &[(0, "order_id", "random(1, 5)"), (0, "number", ":row")]).unwrap();
    for wrong in [
        [(0, "order_id", ":row / 7"), (0, "number", ":row % 6")],
        [(0, "order_id", "random(1, 5)"), (0, "number", "random(1, 500)")],
    ] {
        let refused = make_rows(&tables, &wrong).unwrap_err();
        assert!(refused.contains("the same values in two of its 100 rows"), "{refused}");
    }
}

#[test]
fn tables_that_depend_on_each_other_or_on_nothing_are_refused() {
    let one = Table::new("one").key_column("other_id", Type::Int);
    let other = Table::new("other").key_column("one_id", Type::Int);
    let cycle = [generated(one, &[(&[0], 1)], 5), generated(other, &[(&[0], 0)], 5)];
    let refused = make_rows(&cycle, &[]).unwrap_err();
    assert!(refused.contains("made of each other: one, other"), "{refused}");
    make_rows(&cycle, &[(0, "other_id", ":row")]).unwrap();
    let itself = generated(orders(), &[(&[1], 0)], 5);
    make_rows(&[itself], &[]).unwrap();
    let empty = [generated(users(), &[], 0), generated(orders(), &[(&[1], 0)], 5)];
    let refused = make_rows(&empty, &[]).unwrap_err();
    assert!(refused.contains("orders.user_id refers to users, which has no rows"), "{refused}");
    let refused = make_rows(&empty, &[(1, "user_id", "ref(users)")]).unwrap_err();
    assert!(refused.contains("users has no rows to refer to"), "{refused}");
}

#[test]
fn values_that_do_not_fit_are_told_before_and_at_their_row() {
    let tables = [generated(users(), &[], 100)];
    for (column, text, expected) in [
        ("email", "text('0123456789012345678901234567890123456789', :row)", "holds at most 40"),
        ("about", "CASE WHEN :row > 5 THEN 'a' END", "can't hold null; this is of row 0"),
        ("about", "null(0.1, 'a')", "users.about can't be null; declare it without NOT NULL"),
        ("age", "'old'", "column holds integers"),
        ("age", "1 / :row", "division by zero; this is of row 0 (from 0)"),
        ("age", "1 / (99 - :row)", "division by zero; this is of row 99 (from 0)"),
    ] {
        let refused = make_rows(&tables, &[(0, column, text)]).unwrap_err();
        assert!(refused.contains(expected), "{text}: {refused}");
    }
    let rows = make_rows(&tables, &[(0, "age", "1 / (50 - :row)")]).unwrap();
    let mut taken = 0;
    let failed = rows.for_each_row(0, &mut |_| {
        taken += 1;
        Ok(())
    });
    let said = failed.unwrap_err().to_string();
    assert_eq!(
        (said.as_str(), taken),
        ("table users, column age, row 50 (from 0): division by zero", 50)
    );
}

#[test]
fn rows_are_counted_by_scale_and_other_tables() {
    let tables = ["users", "orders", "lines", "tags"];
    let count = |written: &[(&str, &str)], scale| {
        let mut mistakes = Mistakes::default();
        let written: Vec<_> = written
            .iter()
            .enumerate()
            .map(|(line, (name, text))| ((*name).into(), (*text).into(), place(line as u32 + 1)))
            .collect();
        let counts = count_table_rows(&tables, &written, scale, &mut mistakes);
        assert_eq!(counts.is_some(), mistakes.is_empty(), "{mistakes}");
        counts.ok_or_else(|| mistakes.to_string())
    };
    let written =
        [("lines", "3 * :orders"), ("orders", "10 * :users"), ("users", "100_0 * :scale")];
    assert!(count(&written, 2).is_err());
    let written = [("lines", "3 * :orders"), ("orders", "10 * :users"), ("users", "1.5 * :scale")];
    assert_eq!(count(&written, 2), Ok(vec![3, 30, 90, 0]));
    for (written, expected) in [
        ([("users", ":orders"), ("orders", "2 * :users")], "users -> orders -> users"),
        ([("users", ":users"), ("orders", "1")], "users -> users"),
        ([("user", "1"), ("orders", "1")], "no table `user`; did you mean `users`?"),
        ([("users", "random(1, 2)"), ("orders", "1")], "can't be random"),
        ([("users", ":order"), ("orders", "1")], "made of :scale, :users, :orders"),
        ([("users", "-1"), ("orders", "1")], "-1 is no number of rows"),
        ([("users", "'many'"), ("orders", "1")], "`many` is no number of rows"),
        ([("users", "1 / (:scale - 2)"), ("orders", "1")], "workload.toml:1:1: division by zero"),
        ([("users", "1e30"), ("orders", "1")], "no number of rows"),
    ] {
        let refused = count(&written, 2).unwrap_err();
        assert!(refused.contains(expected), "{refused}");
    }
}

#[test]
fn many_permuted_keys_are_in_order() {
    let tables = [generated(orders(), &[], 100_000)];
    let rows = make_rows(&tables, &[(0, "id", "permute(:row, :rows) + 1")]).unwrap();
    let mut next = 1;
    let mut take = |values: &[Value<'_>]| {
        assert_eq!(values[0], Value::Int(next));
        next += 1;
        Ok(())
    };
    rows.for_each_row(0, &mut take).unwrap();
    assert_eq!(next, 100_001);
}

/// Expressions that are mostly right, of what can prove a key.
fn any_generator() -> impl Strategy<Value = String> {
    let leaves = &[
        ":row",
        ":row",
        ":row",
        ":rows",
        ":scale",
        "0",
        "1",
        "-7",
        "20",
        "2.5",
        "'a'",
        "'1'",
        "' '",
        "date('2020-01-01')",
        "uuid()",
        "random(1, 9)",
        "digits('##')",
        "null",
    ];
    let leaf = prop::sample::select(&leaves[..]).prop_map(str::to_owned);
    leaf.prop_recursive(3, 12, 3, |inner| {
        let operators = prop::sample::select(&["+", "-", "*", "/", "%", "#", "="][..]);
        let calls = prop::sample::select(
            &[
                "permute(?, :rows)",
                "permute(?, 25, 3)",
                "hash(?)",
                "int(?)",
                "abs(?)",
                "text(?)",
                "text('n', ?, 'x')",
                "least(?, 15)",
                "null(0.5, ?)",
                "CASE WHEN :row > 9 THEN ? END",
            ][..],
        );
        prop_oneof![
            (inner.clone(), operators, inner.clone())
                .prop_map(|(left, operator, right)| format!("({left} {operator} {right})")),
            (calls, inner.clone()).prop_map(|(call, inner)| call.replace('?', &inner)),
            prop::collection::vec(inner, 1..4)
                .prop_map(|parts| format!("text({})", parts.join(", "))),
        ]
    })
}

proptest! {
    /// Whatever is accepted for a key has no value twice, and comes in order.
    #[test]
    fn no_accepted_generator_breaks_a_key(text in any_generator()) {
        let text_key = Table::new("tags").key_column("name", Type::STRING);
        let tables =
            [generated(users(), &[], 20), generated(orders(), &[], 20), generated(text_key, &[], 20)];
        for (table, column) in [(1, "id"), (2, "name")] {
            let Ok(rows) = make_rows(&tables, &[(table, column, &text)]) else { continue };
            let mut before: Option<(i64, String)> = None;
            let mut take = |values: &[Value<'_>]| {
                let key = match values[0] {
                    Value::Int(int) => (int, String::new()),
                    Value::Text(text) => (0, text.to_owned()),
                    Value::Real(_) | Value::Bytes(_) | Value::Null => panic!("{text}"),
                };
                assert!(before.as_ref().is_none_or(|before| *before < key), "{text}: {key:?}");
                before = Some(key);
                Ok(())
            };
            // An overflow in a later row is told there.
            let told = rows.for_each_row(table, &mut take).map_err(|error| error.to_string());
            prop_assert!(!told.is_err_and(|what| what.contains("the same key")), "{text}");
        }
    }
}

#[test]
fn a_deep_generator_is_judged_at_once() {
    let deep = format!("{}random(1, 2){}", "hash(1, ".repeat(150), ")".repeat(150));
    let refused = make_rows(&[generated(orders(), &[], 20)], &[(0, "id", &deep)]).unwrap_err();
    assert!(refused.contains("can't be shown"), "{refused}");
}
