//! The formats that reports are written in.

use bakeoff_analysis::Document;

use crate::block::ReportBlock;
use crate::html::PageContent;
use crate::section::SectionPart;
use crate::{Error, Options, Result, csv, html, json, markdown, term};

pub struct ReportFormat {
    pub name: &'static str,
    pub about: &'static str,
    /// Without the dot.
    pub endings: &'static [&'static str],
    /// The text ends in a line break.
    write: fn(&Document, &Options) -> Result<String>,
}

pub static FORMATS: [ReportFormat; 7] = [
    ReportFormat {
        name: "html",
        about: "One file for a browser",
        endings: &["html"],
        write: html::write,
    },
    ReportFormat {
        name: "json",
        about: "The documented JSON",
        endings: &["json"],
        write: json::write,
    },
    ReportFormat {
        name: "csv",
        about: "A row for each trial and operation, for each power cut and rule, or for each second of each trial",
        endings: &["csv"],
        write: csv::write,
    },
    ReportFormat {
        name: "md",
        about: "Tables for a text",
        endings: &["md"],
        write: markdown::write,
    },
    ReportFormat {
        name: "brief",
        about: "The answer in 25 lines at most",
        endings: &[],
        write: term::write_brief,
    },
    ReportFormat {
        name: "term",
        about: "All tables for the terminal",
        endings: &["term"],
        write: term::write,
    },
    ReportFormat {
        name: "text",
        about: "All that the terminal shows, without colours and at most 80 columns wide",
        endings: &["txt", "text"],
        write: term::write_text,
    },
];

/// The ending may be in upper or lower case.
pub fn format_of_ending(ending: &str) -> Option<&'static str> {
    let has = |known: &&str| known.eq_ignore_ascii_case(ending);
    FORMATS.iter().find(|format| format.endings.iter().any(has)).map(|format| format.name)
}

/// Whether somebody reads a format where it is printed, and no program does.
pub fn is_for_terminal(format: &str) -> bool {
    ["brief", "term", "text"].contains(&format)
}

pub fn render(document: &Document, format: &str, options: &Options) -> Result<String> {
    match FORMATS.iter().find(|known| known.name == format) {
        Some(format) => (format.write)(document, options),
        None => Err(Error::unknown_format(format, &FORMATS.each_ref().map(|known| known.name))),
    }
}

pub fn render_blocks(
    title: &str,
    blocks: Vec<ReportBlock>,
    format: &str,
    options: &Options,
) -> Result<String> {
    match format {
        "term" => Ok(term::of_blocks(title, blocks, options)),
        "text" => Ok(term::of_blocks(title, blocks, &term::plain_options(options))),
        "md" => Ok(markdown::of_blocks(title, &blocks)),
        "html" => PageContent {
            title,
            name: title,
            version: env!("CARGO_PKG_VERSION"),
            first: Vec::new(),
            parts: vec![SectionPart { blocks, ..SectionPart::default() }],
            folded: Vec::new(),
        }
        .write(),
        _ => Err(Error::unknown_format(format, &["html", "md", "term", "text"])),
    }
}
