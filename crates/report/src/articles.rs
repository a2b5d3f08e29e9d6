//! One page of several articles: what each published, beside what its run measured here.

use bakeoff_analysis::Document;

use crate::block::{ColumnKind, Link, ReportBlock, ReportColumn, ReportRow, ReportTable, Sweeps};
use crate::figures::NONE;
use crate::html::PageContent;
use crate::layout::DocumentLayout;
use crate::section::{Section, SectionPart};
use crate::sections::{COUNTED, PublishedSection, tally};
use crate::{Result, words};

/// An article, and what came of its run.
#[derive(Clone, Copy, Debug)]
pub struct ArticleRun<'a> {
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
pub fn articles(articles: &[ArticleRun<'_>]) -> Result<String> {
    let first = vec![ReportBlock::Table(summary(articles))];
    let parts = articles.iter().enumerate().map(|(number, article)| part(number, article));
    PageContent {
        title: TITLE,
        name: "articles",
        version: env!("CARGO_PKG_VERSION"),
        first: vec![SectionPart { name: None, link: "", title: String::new(), blocks: first }],
        parts: parts.collect(),
    }
    .write()
}

/// A row an article: how many statements there are of each shape.
fn summary(articles: &[ArticleRun<'_>]) -> ReportTable {
    let mut columns = vec![ReportColumn::new(ColumnKind::Name, "article")];
    columns.extend(COUNTED.map(|told| ReportColumn::new(ColumnKind::Number, told)));
    let row = |article: &ArticleRun<'_>| {
        let published = article.found.ok().and_then(|document| document.published.as_ref());
        let counts = match published {
            Some(view) => tally(&view.statements).map(|count| count.to_string()),
            None => COUNTED.map(|_| NONE.to_owned()),
        };
        ReportRow::from_cells([article.name].into_iter().chain(counts.iter().map(String::as_str)))
    };
    ReportTable {
        caption: "Statements of each article, by shape".into(),
        columns,
        rows: articles.iter().map(row).collect(),
        ..ReportTable::default()
    }
}

/// What a page says of the article of that number.
fn part<'a>(number: usize, article: &ArticleRun<'a>) -> SectionPart<'a> {
    let mut blocks = match article.found {
        Ok(document) => found(number, document),
        Err(why) => vec![ReportBlock::Note(why.into())],
    };
    blocks.extend(article.report.map(|path| {
        ReportBlock::Link(Link { text: "The whole report of this run".into(), path: path.into() })
    }));
    let (name, link) = (Some(article.name), article.name);
    SectionPart { name, link, title: article.name.to_owned(), blocks }
}

fn found(number: usize, document: &Document) -> Vec<ReportBlock> {
    let mut blocks = PublishedSection.blocks(&DocumentLayout::new(document));
    if blocks.is_empty() {
        blocks.push(ReportBlock::Note(NONE_PUBLISHED.into()));
    }
    let warnings = document.warnings.len();
    if warnings > 0 {
        let note = format!("{}: in the whole report.", words::many(warnings, "warning"));
        blocks.push(ReportBlock::Note(note.into()));
    }
    blocks.into_iter().map(|block| own(number, block)).collect()
}

/// A block whose charts have other names than those of the other articles on the page.
fn own(number: usize, block: ReportBlock) -> ReportBlock {
    let ReportBlock::Sweeps(of) = block else { return block };
    let mut panels: Vec<_> = of.charts.into_iter().map(|drawn| drawn.panel).collect();
    panels.iter_mut().for_each(|panel| panel.id = format!("article{number}{}", panel.id));
    ReportBlock::Sweeps(Sweeps::from_panels(of.explained, panels, of.standing))
}
