//! Reports as tests read them: whole, without their markup, or one section alone.

use bakeoff_analysis::Document;
use bakeoff_report::{Options, render};
use serde_json::Value;

/// What people read.
pub const SHOWN: [&str; 3] = ["html", "md", "term"];

pub fn text(document: &Document, format: &str) -> String {
    render(document, format, &Options::default()).expect("a report")
}

/// The same for a terminal of another width.
pub fn of_width(document: &Document, width: usize) -> String {
    let options = Options { width, ..Options::default() };
    render(document, "term", &options).expect("a report")
}

pub fn read_json(document: &Document) -> Value {
    serde_json::from_str(&text(document, "json")).expect("JSON")
}

/// A report without its markup, line breaks and escapes.
pub fn words(document: &Document, format: &str) -> String {
    let text = text(document, format);
    let text = match format {
        "html" => {
            let parts = text.split('<').map(|part| part.split_once('>').map_or(part, |(_, it)| it));
            let plain: String = parts.collect();
            let plain = plain.replace("&#x2f;", "/").replace("&#x27;", "'").replace("&quot;", "\"");
            plain.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
        }
        _ => text.replace(['\\', '*'], ""),
    };
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// What stands after a text, up to another one.
#[track_caller]
pub fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let (_, rest) = text.split_once(from).unwrap_or_else(|| panic!("{from} is not in {text}"));
    rest.split_once(to).map_or(rest, |(part, _)| part)
}

/// The titles of a page's sections, but for the first screen, which has none.
fn titles(document: &Document) -> Vec<String> {
    let page = text(document, "html");
    let sections = page.split("<section").skip(1);
    let title = |it: &str| Some(it.split_once("<h2>")?.1.split_once("</h2>")?.0.to_owned());
    sections.filter_map(title).map(|title| title.replace("&#x2f;", "/")).collect()
}

/// A section by its title, in a format; the first screen, whose title is empty.
#[track_caller]
pub fn section(document: &Document, format: &str, title: &str, options: &Options) -> String {
    let text = render(document, format, options).expect("a report");
    let found = match (format, title) {
        ("html", "") => between(&text, "</h1>\n", "</header>").to_owned(),
        ("html", title) => {
            let title = format!("<h2>{}</h2>\n", title.replace('/', "&#x2f;"));
            between(&text, &title, "</section>").to_owned()
        }
        (_, title) => {
            let titles = titles(document);
            let is_title = |line: &str| {
                let line = line.trim_start_matches("## ").trim_start_matches("\x1b[1m");
                let line = line.trim_end_matches("\x1b[0m").replace('\\', "");
                titles.iter().find(|title| **title == line).cloned()
            };
            let mut here = format == "md" && title.is_empty();
            let mut lines: Vec<&str> = Vec::new();
            for line in text.lines().skip(1) {
                if let Some(found) = is_title(line) {
                    here = found == title;
                } else if format == "term" && line.starts_with("machine: ") {
                    here = title.is_empty();
                    lines.extend(here.then_some(line));
                } else if here {
                    lines.push(line);
                }
            }
            lines.join("\n")
        }
    };
    let found = found.trim_matches('\n').to_owned();
    assert!(!found.is_empty(), "{title} is not in {format}: {text}");
    found
}

/// The rows of a table in CSV by RFC 4180, with nothing forgiven.
pub fn parse_csv(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut field) = (Vec::new(), Vec::new(), String::new());
    let mut characters = text.chars().peekable();
    let mut quoted = false;
    while let Some(character) = characters.next() {
        match (character, quoted) {
            ('"', true) if characters.peek() == Some(&'"') => field.extend(characters.next()),
            ('"', _) => quoted = !quoted,
            (',', false) => row.push(std::mem::take(&mut field)),
            ('\r', false) => {
                assert_eq!(characters.next(), Some('\n'));
                row.push(std::mem::take(&mut field));
                rows.push(std::mem::take(&mut row));
            }
            ('\n', false) => panic!("a bare line break"),
            (other, _) => field.push(other),
        }
    }
    assert!(field.is_empty() && row.is_empty() && !quoted, "the last line is not ended");
    rows
}
