//! One page of several articles: what each published, beside what its run measured here.

use bakeoff_analysis::Document;

use crate::block::{Block, Column, Kind, Link, Row, Sweeps, Table};
use crate::figures::NONE;
use crate::html::Page;
use crate::layout::Layout;
use crate::section::{Part, Section};
use crate::sections::{COUNTED, Published, tally};
use crate::{Result, words};

/// An article, and what came of its run.
#[derive(Clone, Copy, Debug)]
pub struct Article<'a> {
    /// The name of its experiment.
    pub name: &'a str,
    /// What was measured here; or why nothing was, as one sentence.
    pub found: std::result::Result<&'a Document, &'a str>,
    /// The path of its run's whole report from the folder of the page, with `/` between folders.
    pub report: Option<&'a str>,
}

const TITLE: &str = "What articles measured, beside the same work here";
/// What is said of a run whose experiment has no figures of anybody else.
const NONE_PUBLISHED: &str = "This experiment has no published figures.";

/// The articles as one page that needs nothing but itself: first how many statements of each are of which
/// shape, then each with its question, its sentence, its charts and its table.
///
/// # Errors
/// [`Error::Template`](crate::Error::Template).
pub fn articles(articles: &[Article<'_>]) -> Result<String> {
    let first = vec![Block::Table(summary(articles))];
    let parts = articles.iter().enumerate().map(|(number, article)| part(number, article));
    Page {
        title: TITLE,
        name: "articles",
        version: env!("CARGO_PKG_VERSION"),
        first: vec![Part { name: None, link: "", title: String::new(), blocks: first }],
        parts: parts.collect(),
    }
    .write()
}

/// A row an article: how many statements there are of each shape.
fn summary(articles: &[Article<'_>]) -> Table {
    let mut columns = vec![Column::new(Kind::Name, "article")];
    columns.extend(COUNTED.map(|told| Column::new(Kind::Number, told)));
    let row = |article: &Article<'_>| {
        let published = article.found.ok().and_then(|document| document.published.as_ref());
        let counts = match published {
            Some(view) => tally(&view.statements).map(|count| count.to_string()),
            None => COUNTED.map(|_| NONE.to_owned()),
        };
        Row::of([article.name].into_iter().chain(counts.iter().map(String::as_str)))
    };
    Table {
        caption: "Statements of each article, by shape".into(),
        columns,
        rows: articles.iter().map(row).collect(),
        ..Table::default()
    }
}

/// What a page says of the article of that number.
fn part<'a>(number: usize, article: &Article<'a>) -> Part<'a> {
    let mut blocks = match article.found {
        Ok(document) => found(number, document),
        Err(why) => vec![Block::Note(why.into())],
    };
    blocks.extend(article.report.map(|path| {
        Block::Link(Link { text: "The whole report of this run".into(), path: path.into() })
    }));
    let (name, link) = (Some(article.name), article.name);
    Part { name, link, title: article.name.to_owned(), blocks }
}

fn found(number: usize, document: &Document) -> Vec<Block> {
    let mut blocks = Published.blocks(&Layout::new(document));
    if blocks.is_empty() {
        blocks.push(Block::Note(NONE_PUBLISHED.into()));
    }
    let warnings = document.warnings.len();
    if warnings > 0 {
        let note = format!("{}: in the whole report.", words::many(warnings, "warning"));
        blocks.push(Block::Note(note.into()));
    }
    blocks.into_iter().map(|block| own(number, block)).collect()
}

/// A block whose charts have other names than those of the other articles on the page.
fn own(number: usize, block: Block) -> Block {
    let Block::Sweeps(of) = block else { return block };
    let mut panels: Vec<_> = of.charts.into_iter().map(|drawn| drawn.panel).collect();
    panels.iter_mut().for_each(|panel| panel.id = format!("article{number}{}", panel.id));
    Block::Sweeps(Sweeps::of(of.explained, panels, of.standing))
}
