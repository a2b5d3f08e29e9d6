//! Every text of a run folder through every format, and into the errors: what a terminal, a spreadsheet,
//! a browser or a wiki would obey is seen, and obeyed by none.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use bakeoff_results::{DATABASE, escape_unseen};
use rusqlite::Connection;
use serde_json::Value;

use super::samples;

/// What does harm somewhere: in a terminal, in Markdown, in HTML, in a spreadsheet.
const EVIL: &str = "=1+1\u{1b}]0;owned\u{7}\u{9b}2J\u{202e}\u{200b}\r\u{8}|`<img src=x \
                    onerror='alert(1)'>![x](http://127.0.0.1/x) http://127.0.0.1 www.evil.example \
                    &#x202e; javascript:alert(1) \"'</title>";

fn bakeoff(arguments: &[&str], dir: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_bakeoff")).args(arguments).arg(dir).output().unwrap()
}

/// Everything that can be read of `text` and is no text of somebody else's harm.
#[track_caller]
fn harmless(text: &[u8]) -> String {
    let text = String::from_utf8(text.to_vec()).expect("UTF-8").replace("\r\n", "\n");
    assert_eq!(escape_unseen(&text), text, "nothing is unseen");
    text
}

/// A copy of a folder with every text in it made evil, those in JSON among them.
fn evil(sample: &Path, to: PathBuf) -> PathBuf {
    fs::create_dir(&to).unwrap();
    fs::copy(sample.join(DATABASE), to.join(DATABASE)).unwrap();
    let database = Connection::open(to.join(DATABASE)).unwrap();
    for (table, column) in [
        ("trial", "reason"),
        ("canary", "off"),
        ("disturbed", "what"),
        ("operation", "name"),
        ("owed", "name"),
        ("payment", "name"),
    ] {
        let set =
            format!("UPDATE {table} SET {column} = ?1 || {column} WHERE {column} IS NOT NULL");
        // Earlier forms have no table of disturbed blocks, or of debts.
        let _ = database.execute(&set, [EVIL]);
    }
    for (table, column) in [
        ("run", "description"),
        ("trial", "levels"),
        ("trial", "measures"),
        ("trial", "facts"),
        ("trial", "warnings"),
        ("cut", "facts"),
    ] {
        let rows = format!("SELECT rowid, {column} FROM {table} WHERE {column} IS NOT NULL");
        let Ok(mut statement) = database.prepare(&rows) else { continue };
        let rows: Vec<(i64, String)> = statement
            .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))
            .and_then(Iterator::collect)
            .unwrap();
        for (id, json) in rows {
            let mut value: Value = serde_json::from_str(&json).unwrap();
            poison(&mut value, column == "levels");
            let set = format!("UPDATE {table} SET {column} = ?1 WHERE rowid = ?2");
            database.execute(&set, (value.to_string(), id)).unwrap();
        }
    }
    to
}

/// The words that have to be what they are.
const WORDS: &[&str] = &["ext4", "posix", "nothing", "whole", "everything"];

/// Puts evil before every string; `keys`: in the place of names, too.
fn poison(value: &mut Value, keys: bool) {
    match value {
        Value::String(text) if !WORDS.contains(&text.as_str()) => text.insert_str(0, EVIL),
        Value::Array(all) => all.iter_mut().for_each(|it| poison(it, keys)),
        Value::Object(all) => {
            for (name, it) in all.iter_mut() {
                // Units, scopes and those who count are words of bakeoff's own.
                if !["unit", "scope", "counted_by", "syncs"].contains(&name.as_str()) {
                    poison(it, keys);
                }
            }
            if keys {
                *all = std::mem::take(all)
                    .into_iter()
                    .map(|(name, it)| (format!("{EVIL}{name}"), it))
                    .collect();
            }
        }
        _ => {}
    }
}

#[test]
fn no_format_obeys_a_text() {
    let below = tempfile::tempdir().unwrap();
    for (number, sample) in samples::folders(below.path()).iter().enumerate() {
        let dir = evil(sample, below.path().join(format!("evil{number}")));
        for format in ["term", "md", "csv", "json", "html"] {
            let report = bakeoff(&["report", "--format", format], &dir);
            let said = String::from_utf8_lossy(&report.stderr);
            assert!(report.status.success(), "{format}: {said}");
            let text = harmless(&report.stdout);
            assert!(
                text.contains("\\u{1b}]0;owned")
                    || text.contains("\\\\u{1b}]0;owned")
                    || text.contains("\\\\u{1b}\\]0;owned"),
                "{format}: it is shown\n{text}"
            );
            match format {
                "md" => markdown(&text),
                "csv" => sheet(&text),
                "html" => page(&text),
                "json" => drop(serde_json::from_str::<Value>(&text).unwrap()),
                _ => {}
            }
        }
        let cuts = bakeoff(&["report", "--format", "csv", "--rows", "cuts"], &dir);
        sheet(&harmless(&cuts.stdout));
        let series = bakeoff(&["report", "--format", "csv", "--rows", "series"], &dir);
        let series = harmless(&series.stdout);
        sheet(&series);
        for kind in ["operation", "owed", "payment"] {
            assert!(series.contains(&format!(",{kind},")), "no {kind} is in the series");
        }
    }
}

/// No image, no link, no HTML, no entity, outside of code.
fn markdown(text: &str) {
    let mut code = false;
    for line in text.lines() {
        if line.starts_with("```") {
            code = !code;
        } else if !code {
            for bad in ["![", "](", "http://", "www.evil"] {
                assert!(
                    !line.replace("\\!", "").replace("\\[", "").replace("\\]", "").contains(bad),
                    "{bad}: {line}"
                );
            }
            let bytes = line.as_bytes();
            for (at, byte) in bytes.iter().enumerate() {
                if b"<&`![".contains(byte) {
                    let before = bytes[..at].iter().rev().take_while(|it| **it == b'\\').count();
                    assert!(before % 2 == 1, "{line}");
                }
            }
        }
    }
}

/// No field is a formula.
fn sheet(text: &str) {
    let mut fields = vec![String::new()];
    let mut quoted = false;
    for character in text.chars() {
        match character {
            '"' => quoted = !quoted,
            ',' | '\n' if !quoted => fields.push(String::new()),
            it => fields.last_mut().unwrap().push(it),
        }
    }
    let formula = |field: &&String| {
        field.starts_with(['=', '+', '-', '@', '\t', '\r']) && field.parse::<f64>().is_err()
    };
    assert_eq!(fields.iter().find(formula), None);
    assert!(fields.iter().any(|field| field.starts_with("'=1+1")), "{text}");
}

/// One script, its own; no image, no address that anything is fetched from or that is a script.
fn page(text: &str) {
    assert_eq!(text.matches("<script>").count(), 1);
    assert_eq!(text.matches("</title>").count(), text.matches("<title").count());
    for bad in ["<img", "onerror='", "href=\"javascript", "src=\"", "=\"=1+1\" "] {
        assert!(!text.contains(bad), "{bad}");
    }
    for link in text.split("href=\"").skip(1) {
        assert!(link.starts_with('#'), "{}", &link[..20]);
    }
    assert!(text.contains("base-uri 'none'; form-action 'none'"));
}

/// The name of a folder, and what is wrong in it, on standard error.
#[test]
fn no_error_obeys_a_text() {
    let below = tempfile::tempdir().unwrap();
    let sample = &samples::folders(below.path())[0];
    let named = below.path().join("\u{1b}[2J\u{202e}\u{9b}1m");
    let missing = bakeoff(&["report"], &named);
    assert!(harmless(&missing.stderr).contains("\\u{1b}[2J\\u{202e}"));
    for (number, sql) in [
        "UPDATE run SET description = json_set(description, '$.repetitions', char(27) || '[2J')",
        "UPDATE trial SET levels = char(27) || '[2J'",
        "ALTER TABLE canary RENAME TO \"\u{1b}[2J\"",
        "CREATE VIEW \"\u{9b}2J\u{202e}\" AS SELECT 1",
        "UPDATE cut SET facts = json_set(facts, '$.promised', char(27) || char(0x202e))",
    ]
    .iter()
    .enumerate()
    {
        let dir = below.path().join(format!("{number}"));
        fs::create_dir(&dir).unwrap();
        fs::copy(sample.join(DATABASE), dir.join(DATABASE)).unwrap();
        Connection::open(dir.join(DATABASE)).unwrap().execute_batch(sql).unwrap();
        let report = bakeoff(&["report"], &dir);
        assert_eq!(report.status.code(), Some(3), "{sql}");
        let said = harmless(&report.stderr);
        assert!(said.contains(DATABASE), "{said}");
    }
}

/// What a dry run says of an experiment, and what is wrong with one.
#[test]
fn no_plan_obeys_a_text() {
    let below = tempfile::tempdir().unwrap();
    let odd = below.path().join("odd\u{1b}[2J.toml");
    for (toml, code) in [
        ("title = \"\\u202eowned\"\nworkload = \"point\"\nengine = \"sqlite\"\n", 0),
        ("title = \"\\u001b]0;owned\\u0007\"\nworkload = \"point\"\nengine = \"sqlite\"\n", 2),
        ("workload = \"\\u001b[2J\\u202e\"\nengine = \"sqlite\"\n", 2),
        ("# \u{202e}\u{2066}\nworkload = \"point\" # \u{202e}\nengine = \"sqlit\" # \u{2066}\n", 2),
    ] {
        fs::write(&odd, toml).unwrap();
        let run = bakeoff(&["run", "--dry-run"], &odd);
        let (out, said) = (harmless(&run.stdout), harmless(&run.stderr));
        assert_eq!(run.status.code(), Some(code), "{out}{said}");
    }
}
