use std::sync::LazyLock;

use bakeoff_workloads::{TextSource, seed_stream};
use proptest::prelude::*;

use super::*;

/// `:five` is 5, `:nothing` null, `:word` a text, `:number` a text that is a number, `:paid` what an
/// engine answers for a BOOLEAN that is true.
struct FiveNames;

const VARIABLES: [&str; 5] = ["five", "nothing", "word", "number", "paid"];

impl ExpressionNames for FiveNames {
    fn find_variable(&self, name: &str) -> Option<Slot> {
        VARIABLES.iter().position(|known| *known == name)
    }

    fn find_table(&self, name: &str) -> Option<usize> {
        ["customers", "empty"].iter().position(|known| *known == name)
    }
}

/// Customers have the keys k0 to k99.
struct HundredRows;

impl RowKeys for HundredRows {
    fn count_rows(&self, table: usize) -> i64 {
        [100, 0][table]
    }

    fn write_key<'t>(
        &self,
        _: usize,
        row: i64,
        scratch: &'t mut String,
    ) -> Result<Datum<'t>, EvaluationError> {
        let start = scratch.len();
        scratch.push('k');
        scratch.push_str(&row.to_string());
        Ok(Datum::Text(&scratch[start..]))
    }
}

static SOURCE: LazyLock<TextSource> = LazyLock::new(TextSource::generate_short);

/// The expression, or the mistakes.
fn parse_text(text: &str) -> Result<Expression, String> {
    let (place, mut mistakes) = (SourcePlace::from_file("x.sql"), Mistakes::default());
    let parsed = parse_expression(text, &place, &FiveNames, &mut mistakes);
    assert_eq!(parsed.is_some(), mistakes.is_empty(), "{text}: {mistakes}");
    parsed.ok_or_else(|| mistakes.to_string())
}

/// `count` values one after the other, as `kind value`.
fn evaluate_often(text: &str, count: usize) -> Vec<String> {
    let expression = match parse_text(text) {
        Ok(expression) => expression,
        Err(mistakes) => return vec![format!("refused {mistakes}")],
    };
    let source = &*SOURCE;
    let mut slots = Slots::new(VARIABLES.len());
    slots.set(0, Datum::Int(5));
    slots.set(4, Datum::Int(1));
    slots.set(2, Datum::Text("it's"));
    slots.set(3, Datum::Text("1.5"));
    let (mut random, mut scratch) = (seed_stream(7, 0), String::new());
    let mut evaluation = Evaluation {
        slots: &slots,
        random: &mut random,
        default_seed: 5432,
        text: source,
        rows: &HundredRows,
    };
    let mut evaluate = || match expression.evaluate(&mut evaluation, &mut scratch) {
        Ok(Datum::Null) => "null".into(),
        Ok(Datum::Bool(bool)) => format!("boolean {bool}"),
        Ok(Datum::Int(int)) => format!("int {int}"),
        Ok(Datum::Real(real)) => format!("double {real}"),
        Ok(Datum::Text(text)) => format!("text {text}"),
        Ok(Datum::Bytes(_)) => "bytes".into(),
        Err(error) => format!("error {error}"),
    };
    (0..count).map(|_| evaluate()).collect()
}

fn evaluate_once(text: &str) -> String {
    evaluate_often(text, 1).remove(0)
}

fn agree(own: &str, expected: &str) -> bool {
    let real = |text: &str| text.strip_prefix("double ").and_then(|text| text.parse::<f64>().ok());
    match (real(own), real(expected)) {
        (Some(own), Some(expected)) => {
            own == expected
                || own.is_nan() && expected.is_nan()
                || (own / expected - 1.0).abs() < 1e-13
        }
        _ if expected.starts_with("error ") || expected == "refused" => {
            let what = expected.trim_start_matches("error ");
            own.starts_with(expected) || own.starts_with("refused") && own.contains(what)
        }
        _ => own == expected,
    }
}

/// What `\set x debug(EXPRESSION)` of pgbench 15.18 printed; `refused` are its syntax errors. The
/// last half was made up at random.
#[test]
fn values_and_errors_are_those_of_pgbench() {
    let table = include_str!("tests/pgbench-15.18.txt");
    let mut wrong = Vec::new();
    for line in table.lines() {
        let (text, expected) = line.split_once(" => ").unwrap();
        let own = evaluate_once(text);
        if !agree(&own, expected) {
            wrong.push(format!("{text}: {own}, not {expected}"));
        }
        // Within a branch that is perhaps not taken an error comes late.
        let late = evaluate_once(&format!("CASE WHEN :five > 1 THEN {text} END"));
        if expected != "refused" && !agree(&late, expected) {
            wrong.push(format!("{text} within CASE: {late}, not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(table.lines().count() > 290);
}

#[test]
fn variables_and_our_own_functions_have_values() {
    for (text, expected) in [
        (":five * 2", "int 10"),
        (":word", "text it's"),
        (":number * 2", "double 3"),
        (":word + 1", "error cannot coerce text to int"),
        ("NOT :paid", "boolean false"),
        (":paid AND NOT :paid OR :paid", "boolean true"),
        (":paid IS TRUE AND :paid IS NOT FALSE", "boolean true"),
        (":paid = true AND false <> :paid AND :paid = 1", "boolean true"),
        ("CASE WHEN :paid THEN 'yes' ELSE 'no' END", "text yes"),
        ("NOT :five", "error cannot coerce int to boolean"),
        ("NOT :paid * 1", "error cannot coerce int to boolean"),
        (":paid + true", "error cannot coerce boolean to int"),
        ("'a''b'", "text a'b"),
        ("''", "text "),
        ("text('u', :five, '@', 1.5, true, :word)", "text u5@1.5trueit's"),
        ("text(text('a', text(1, 2)), digits('--'), text(:five))", "text a12--5"),
        ("text('a', :nothing)", "null"),
        ("'a' < 'b' AND 'a' = text('a')", "boolean true"),
        ("decimal(2.345, 1)", "double 2.3"),
        ("decimal(-0.125, 2)", "double -0.13"),
        ("decimal(:five, 2)", "int 5"),
        ("date('2020-02-28') + 2", "text 2020-03-01"),
        ("1 + date('1900-02-28')", "text 1900-03-01"),
        ("date('2000-03-01') - 1", "text 2000-02-29"),
        ("date('0001-01-01') + 0", "text 0001-01-01"),
        ("date('9999-12-31') + 1", "refused x.sql:1:20: the date is out of the years 1 to 9999"),
        ("date('2021-01-01') - date('2020-01-01')", "int 366"),
        ("date('2020-01-01') + :five < date('2020-01-07')", "boolean true"),
        ("timestamp('2020-01-01 00:00:00') + 86399.5", "text 2020-01-01 23:59:59.500000"),
        ("timestamp('1969-12-31 23:59:59.25') - 0", "text 1969-12-31 23:59:59.250000"),
        ("timestamp('2020-01-01') + :five * 40", "text 2020-01-01 00:03:20.000000"),
        ("text('on ', date('2020-01-01') + :five)", "text on 2020-01-06"),
        ("ref(customers) IS NULL", "boolean false"),
        ("null(1, :five)", "null"),
        ("bytes(:five, 9)", "bytes"),
        ("CASE WHEN :five > 1 THEN bytes(1, 1) END", "bytes"),
        ("bytes(1, 2) IS NULL", "boolean false"),
        ("text('a', bytes(1, :five))", "error cannot coerce bytes to text"),
        ("bytes(1, :five) = bytes(1, :five)", "error cannot coerce bytes to int"),
        (
            "bytes(:five, 1)",
            "error bytes(5, 1) needs a least and a most number of bytes, from 0 to 16777215",
        ),
        ("null(0, :five)", "int 5"),
        ("choose('a':0, 'b':2.5)", "text b"),
        ("pick(3, 3, zipf:0.8) + pick(4, 4)", "int 7"),
        ("hash(:five) = hash(:five, 5432) AND hash(1) = hash(1, :default_seed)", "boolean true"),
        ("1 +\\\n 2", "int 3"),
    ] {
        assert_eq!(evaluate_once(text), expected, "{text}");
    }
}

#[test]
fn mistakes_say_where_and_what_mends_them() {
    for (text, expected) in [
        ("randm(1, 2)", "x.sql:1:1: there is no function `randm`; did you mean `random`?"),
        ("1 + :fiev", "x.sql:1:5: `:fiev` is never set; set it before, as in `\\set fiev 1`"),
        ("abs(1, 2)", "x.sql:1:1: abs() can't take 2 arguments; write abs(number)"),
        ("2 * (1 + 3", "x.sql:1:5: this parenthesis is never closed; add `)`"),
        ("abs(1", "x.sql:1:4: this parenthesis is never closed; add `)`"),
        ("1 + 9223372036854775808", "doesn't fit in 64 bits"),
        ("1 + 99999999999999999999", "x.sql:1:5: `99999999999999999999` doesn't fit in 64 bits"),
        ("debug(1)", "debug() isn't supported"),
        ("ref(custmers)", "x.sql:1:5: there is no table `custmers`"),
        ("ref(customers, zip:1)", "`zip:1` is no distribution of keys"),
        ("pick(1, 2, zipf:99)", "EXPONENT is a number above 0, up to 10"),
        ("choose('a':x)", "`x` is no weight"),
        ("choose('a':0)", "more than 0 together"),
        ("'abc", "x.sql:1:1: the text that begins here has no closing `'`"),
        ("random(5, :five) + random(5, 1)", "x.sql:1:20: empty range"),
        ("1 +", "x.sql:1:4: the expression ends here, where a value"),
        ("1 2", "x.sql:1:3: `2` stands where an operator"),
        ("random", "`random` is no value; the function is called as random(low, high)"),
        ("five", "a variable is written :five, a text 'five'"),
        ("date('2021-02-29')", "`2021-02-29` is no date"),
        ("\"a\"", "a text stands in single quotes"),
        ("", "x.sql:1:1: the expression ends here"),
        ("1 ; 2", "not with `;`"),
        ("words(9, 3)", "words(9, 3) needs a least and a most"),
        ("ref(empty, zipf)", ""),
    ] {
        let own = evaluate_once(text);
        assert!(own.contains(expected), "{text}: {own}");
    }
    let both = evaluate_once(":a + nosuch(:b) + abs()");
    assert_eq!(both.lines().count(), 4, "{both}");
    assert!(evaluate_once("ref(empty)").contains("give it some in [rows]"));
}

#[test]
fn a_deep_or_long_expression_is_refused_and_a_long_constant_one_isnt() {
    let deep = format!("{}1{}", "(".repeat(10_000), ")".repeat(10_000));
    let signs = format!("{}1", "- ".repeat(10_000));
    let long = format!(":five{}", "+:five".repeat(10_000));
    for text in [&deep, &signs, &long, &"abs(".repeat(10_000), &"CASE WHEN ".repeat(10_000)] {
        assert!(evaluate_once(text).contains("deeper than 200"), "{}", &text[..20]);
    }
    assert_eq!(evaluate_once(&format!("1{}", "+1".repeat(10_000))), "int 10001");
    assert_eq!(evaluate_once(&format!("{}:five{}", "(".repeat(150), ")".repeat(150))), "int 5");
}

#[test]
fn an_expression_says_what_it_reads() {
    let expression = parse_text(":word + :five + :five + ref(customers)").unwrap();
    assert_eq!((expression.list_slots(), expression.list_tables()), (vec![0, 2], vec![0]));
    assert!(expression.is_random());
    assert!(parse_text("random(1, 2)").unwrap().is_random());
}

#[test]
fn every_day_of_9999_years_is_read_as_it_is_written() {
    let first = calendar::parse_date("0001-01-01").unwrap();
    let last = calendar::parse_date("9999-12-31").unwrap();
    assert_eq!(
        (first, last, calendar::parse_date("1970-01-01").unwrap()),
        (-719_162, 2_932_896, 0)
    );
    let (mut text, mut before) = (String::new(), String::new());
    // A prime, so that each day of each month comes.
    for day in (first..=last).step_by(13) {
        std::mem::swap(&mut text, &mut before);
        text.clear();
        calendar::write_date(day, &mut text);
        assert_eq!(calendar::parse_date(&text), Ok(day));
        assert!(before < text, "{before} {text}");
    }
    for wrong in ["0000-01-01", "1900-02-29", "2020-13-01", "2020-00-01", "2020-04-31", "2020-1-01"]
    {
        assert!(calendar::parse_date(wrong).is_err(), "{wrong}");
    }
    for wrong in
        ["2020-01-01 24:00:00", "2020-01-01 00:60:00", "2020-01-01 1:00:00", "2020-01-01 ", "é"]
    {
        assert!(calendar::parse_timestamp(wrong).is_err(), "{wrong}");
    }
}

/// The numbers of a random expression.
fn draw_numbers(text: &str, count: usize) -> Vec<i64> {
    let values = evaluate_often(text, count);
    values.iter().map(|value| value["int ".len()..].parse().unwrap()).collect()
}

fn share_of(values: &[i64], wanted: impl Fn(i64) -> bool) -> f64 {
    values.iter().filter(|value| wanted(**value)).count() as f64 / values.len() as f64
}

#[test]
fn draws_are_distributed_as_they_say_and_repeat() {
    const COUNT: usize = 20_000;
    let near = |share: f64, wanted: f64| (share - wanted).abs() < 0.02;
    let uniform = draw_numbers("random(1, :five * 2)", COUNT);
    assert!(near(share_of(&uniform, |value| value == 10), 0.1));
    assert_eq!(uniform, draw_numbers("random(1, :five * 2)", COUNT));
    // The short way to a number draws the same.
    assert_eq!(draw_numbers("random(1, :five)", 99), draw_numbers("random(1, :five + 0)", 99));
    // Within a half of the range lie erf(2.5 / 2 / sqrt 2) of a bell of 2.5 deviations.
    let bell = draw_numbers("random_gaussian(1, 1000, 2.5)", COUNT);
    assert!(near(share_of(&bell, |value| (251..=750).contains(&value)), 0.799));
    // The first half has (1 - e^(-p/2)) / (1 - e^-p).
    let falling = draw_numbers("random_exponential(1, 1000, 3)", COUNT);
    assert!(near(share_of(&falling, |value| value <= 500), 0.8176));
    // 1 / (1 + 1/4 + 1/9 + ...) over 100 terms.
    let zipf = draw_numbers("random_zipfian(1, 100, 2)", COUNT);
    assert!(near(share_of(&zipf, |value| value == 1), 0.6116));
    for values in [&uniform, &bell, &falling, &zipf] {
        assert!(values.iter().all(|value| (1..=1000).contains(value)));
    }
    let pick = draw_numbers("pick(1, 100, zipf:1)", COUNT);
    assert!(near(share_of(&pick, |value| value == 1), 0.1928));
    let of = |text: &str, wanted: &str| {
        let values = evaluate_often(text, COUNT);
        values.iter().filter(|value| *value == wanted).count() as f64 / COUNT as f64
    };
    assert!(near(of("choose('a':1, 'b':3)", "text b"), 0.75));
    assert!(near(of("choose('a', 'b', 'c', 'd')", "text c"), 0.25));
    assert!(near(of("null(0.3, 1)", "null"), 0.3));
    assert!(near(of("ref(customers)", "text k7"), 0.01));
    assert!(of("ref(customers, zipf:2)", "text k0") > 0.5);
}

#[test]
fn draws_reach_the_ends_of_64_bits() {
    let (low, high) = ("-9223372036854775808", "9223372036854775807");
    for range in [format!("{low}, -2"), format!("1, {high}"), format!("{high}, {high}")] {
        for call in [
            "random(?)",
            "random_gaussian(?, 2)",
            "random_exponential(?, 0.0001)",
            "random_zipfian(?, 1.5)",
            "pick(?, uniform)",
            "pick(?, gaussian)",
            "pick(?, special)",
            "pick(?, pareto)",
            "pick(?, zipf:0.5)",
            "pick(?, zipf:2)",
        ] {
            draw_numbers(&call.replace('?', &range), 200);
        }
    }
}

#[test]
fn made_texts_have_their_form() {
    for value in evaluate_often("digits('###-###')", 200) {
        let text = &value["text ".len()..];
        assert!(text.len() == 7 && text.as_bytes()[3] == b'-', "{text}");
        assert!(text.bytes().filter(u8::is_ascii_digit).count() == 6, "{text}");
    }
    let mut lengths = Vec::new();
    for value in evaluate_often("words(8, 60)", 2_000) {
        let text = &value["text ".len()..];
        assert!((8..=60).contains(&text.chars().count()), "{text}");
        assert!(!text.ends_with(' '), "`{text}`");
        lengths.push(text.len());
    }
    assert!(lengths.iter().any(|length| *length < 15) && lengths.iter().any(|length| *length > 50));
    for (text, length) in
        [("words(5, 5)", 5), ("words(0, 0)", 0), ("words(300000, 300000)", 300_000)]
    {
        assert!(evaluate_often(text, 3).iter().all(|value| value.len() == 5 + length), "{text}");
    }
    let mut identifiers = evaluate_often("uuid()", 1_000);
    assert!(identifiers.iter().all(|value| value.len() == 41 && &value[19..20] == "4"));
    identifiers.sort();
    identifiers.dedup();
    assert_eq!(identifiers.len(), 1_000);
}

#[test]
fn a_permutation_has_each_value_once() {
    for size in (1..70).chain([100, 127, 128, 129, 1_000, 4_095, 4_096, 10_007]) {
        for seed in [0, 1, -1, 5432] {
            let mut values: Vec<i64> =
                (0..size).map(|value| hashes::permute_value(value, size, seed)).collect();
            let moved = values.iter().enumerate().filter(|(at, value)| *at as i64 != **value);
            assert!(size < 100 || moved.count() as i64 > size * 9 / 10, "{size}");
            values.sort_unstable();
            assert!(values.into_iter().eq(0..size), "{size} {seed}");
        }
    }
}

/// What expressions are made of.
const PARTS: [&str; 34] = [
    "1",
    "0",
    "-",
    "+",
    "*",
    "/",
    "%",
    "(",
    ")",
    ",",
    ":five",
    ":word",
    "'a'",
    "'",
    "abs(",
    "random(",
    "CASE",
    "WHEN",
    "THEN",
    "ELSE",
    "END",
    "NOT",
    "IS",
    "NULL",
    "AND",
    "~",
    "<<",
    "=",
    "ref(customers",
    "pick(1, 9, ",
    "zipf:1",
    "choose(",
    "9223372036854775808",
    "date('2020-01-01')",
];

proptest! {
    #[test]
    fn no_text_is_too_much(text in any::<String>()) {
        evaluate_once(&text);
    }

    #[test]
    fn no_row_of_words_is_too_much(parts in prop::collection::vec(0..PARTS.len(), 0..14)) {
        let words: Vec<&str> = parts.into_iter().map(|part| PARTS[part]).collect();
        evaluate_once(&words.join(" "));
    }
}

#[test]
fn no_prefix_is_too_much() {
    let lines = include_str!("tests/pgbench-15.18.txt").lines();
    let own = "text('é', choose('a':5, 'b''':1.5), ref(customers, zipf:0.8), CASE WHEN :five IS NOT \
               NULL THEN null(0.1, words(1, 9)) ELSE date('2020-01-01') + 1 END) ";
    for text in lines.chain([own]) {
        for (at, _) in text.char_indices() {
            evaluate_once(&text[..at]);
        }
    }
}
