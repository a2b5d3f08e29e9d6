//! One page of several articles: the published figures of each, beside our own.

use bakeoff_analysis::Document;
use bakeoff_analysis::layout::DocumentLayout;

use crate::block::{ColumnKind, Link, ReportBlock, ReportColumn, ReportRow, ReportTable, Sweeps};
use crate::figures::NONE;
use crate::html::PageContent;
use crate::section::SectionPart;
use crate::sections::published::{self, COUNTED, count_shapes};
use crate::{Result, words};

#[derive(Clone, Copy, Debug)]
pub struct ArticleRun<'a> {
    pub name: &'a str,
    /// The document, or why nothing was measured, as one sentence.
    pub found: std::result::Result<&'a Document, &'a str>,
    /// Path of the run's report from the page's folder, with `/` between folders.
    pub report: Option<&'a str>,
}

const TITLE: &str = "What articles measured, beside the same work here";
const NONE_PUBLISHED: &str = "This experiment has no published figures.";

pub fn write_articles(articles: &[ArticleRun<'_>]) -> Result<String> {
    let first = vec![ReportBlock::Table(build_summary(articles))];
    let parts = articles.iter().enumerate().map(|(number, article)| build_part(number, article));
    PageContent {
        title: TITLE,
        name: "articles",
        version: env!("CARGO_PKG_VERSION"),
        first: vec![SectionPart { name: None, link: "", title: String::new(), blocks: first }],
        parts: parts.collect(),
        folded: Vec::new(),
    }
    .write()
}

fn build_summary(articles: &[ArticleRun<'_>]) -> ReportTable {
    let mut columns = vec![ReportColumn::new(ColumnKind::Name, "article")];
    columns.extend(COUNTED.map(|told| ReportColumn::new(ColumnKind::Number, told)));
    let row = |article: &ArticleRun<'_>| {
        let published = article.found.ok().and_then(|document| document.published.as_ref());
        let counts = match published {
            Some(view) => count_shapes(&view.statements).map(|count| count.to_string()),
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

fn build_part<'a>(number: usize, article: &ArticleRun<'a>) -> SectionPart<'a> {
    let mut blocks = match article.found {
        Ok(document) => build_found(number, document),
        Err(why) => vec![ReportBlock::Note(why.into())],
    };
    blocks.extend(article.report.map(|path| {
        ReportBlock::Link(Link { text: "The whole report of this run".into(), path: path.into() })
    }));
    let (name, link) = (Some(article.name), article.name);
    SectionPart { name, link, title: article.name.to_owned(), blocks }
}

fn build_found(number: usize, document: &Document) -> Vec<ReportBlock> {
    let mut blocks = published::build_blocks(&DocumentLayout::new(document));
    if blocks.is_empty() {
        blocks.push(ReportBlock::Note(NONE_PUBLISHED.into()));
    }
    let warnings = document.warnings.len();
    if warnings > 0 {
        let note = format!("{}: in the whole report.", words::count_nouns(warnings, "warning"));
        blocks.push(ReportBlock::Note(note.into()));
    }
    blocks.into_iter().map(|block| make_ids_unique(number, block)).collect()
}

/// Gives charts ids that are unique on a page of several articles.
fn make_ids_unique(number: usize, block: ReportBlock) -> ReportBlock {
    let ReportBlock::Sweeps(of) = block else { return block };
    let mut panels: Vec<_> = of.charts.into_iter().map(|drawn| drawn.panel).collect();
    panels.iter_mut().for_each(|panel| panel.id = format!("article{number}{}", panel.id));
    ReportBlock::Sweeps(Sweeps::from_panels(of.explained, panels, of.standing))
}
