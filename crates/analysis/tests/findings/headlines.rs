//! README.md and docs/findings/README.md: the claims in short.

use std::fs;

use bakeoff_report::{Options, render};

use crate::kept;
use crate::page::{Named, check_page, path};

/// What a terminal shows of the demo.
fn demo() -> Named {
    let answer = render(&kept::read("demo"), "brief", &Options::default()).expect("an answer");
    ("demo", format!("```\n{}\n```", answer.trim_end()))
}

#[test]
fn readme_shows_the_demo() {
    check_page("README.md", &[demo()]);
}

/// What a page of a finding has between its marks.
fn generated(page: &str) -> String {
    let page = fs::read_to_string(path("docs/findings").join(page)).expect(page);
    let parts = page.split("<!-- generated: ").skip(1);
    parts.filter_map(|part| part.split_once("<!-- end -->")).map(|(part, _)| part).collect()
}

/// Whoever writes a page anew sees which claim in short no longer has its figures.
#[test]
fn intervals_of_claims_in_short_stand_in_generated_parts_of_pages() {
    let pages = ["redmine-mariadb.md", "text-oltp.md", "vote.md", "fileio.md", "flush.md"];
    let pages = pages.map(generated);
    let all = pages.concat().replace('–', " to ");
    let mut number = 0;
    for name in ["README.md", "docs/findings/README.md"] {
        let page = fs::read_to_string(path(name)).expect(name);
        for part in page.split('(').skip(1) {
            let end = part.find([',', ')']).unwrap_or(part.len());
            let interval = &part[..end];
            let is_interval = interval
                .split_once(" to ")
                .is_some_and(|(low, high)| [low, high].iter().all(|it| it.parse::<f64>().is_ok()));
            if is_interval {
                number += 1;
                assert!(all.contains(interval), "{name}: no page has {interval}");
            }
        }
    }
    assert!(number > 15, "{number} intervals");
}
