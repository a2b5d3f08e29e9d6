//! Presets of articles, and `bakeoff run articles`.

use std::path::Path;
use std::process::Output;

use bakeoff::experiment::Preset;

use super::{command, place, said};

/// An article whose table has rows of these clients, and of these times for SQLite and for LMDB.
macro_rules! article {
    ($name:literal, $question:literal, $source:literal, $date:literal, $rows:literal) => {
        Preset {
            name: concat!("articles/", $name),
            toml: concat!(
                "workload = 'oltp'\ntest = 'point_select'\nscale = '10k'\nengine = ['sqlite', 'lmdb']\n\
                 clients = [1, 2, 3]\nseconds = 0.5\nrepetitions = 1\n[published]\nquestion = '",
                $question,
                "'\nsource = '",
                $source,
                "'\ndate = '",
                $date,
                "'\n[[published.table]]\ncsv = \"\"\"\nclients,operation,slow,quick\n",
                $rows,
                "\"\"\"\nbase = { engine = 'sqlite' }\n[published.table.columns]\nclients = 'clients'\n\
                 operation = 'operation'\nslow = { unit = 's', engine = 'sqlite' }\n\
                 quick = { unit = 's', engine = 'lmdb' }\n",
            ),
        }
    };
}

/// Two of a workload that has the scale `10k`, as that of the lab's own article has not.
pub static ALL: [Preset; 2] = [
    article!(
        "b-lines",
        "Is <LMDB> quicker?",
        "A paper of B",
        "2017",
        "1,transaction,2,1\n2,transaction,4,1\n4,transaction,8,1\n"
    ),
    article!(
        "c-lines",
        "And is it so with more clients?",
        "A paper of C",
        "2018",
        "1,transaction,3,1\n2,transaction,3,1\n3,transaction,3,1\n"
    ),
];

/// The folder of articles.
const MADE: &str = "bakeoff-articles-1";

fn run(place: &Path, more: &[&str]) -> (Output, String) {
    let done = command(place, &[&["run", "articles"], more].concat()).output().unwrap();
    let said = said(&done);
    (done, said)
}

/// All others are run though the first can't be; the page has each with its own figures, and every name of a
/// chart once.
pub fn one_page() {
    let place = place();
    let (done, said) = run(place.path(), &["--scale", "10k", "--quiet"]);
    assert_eq!(done.status.code(), Some(2), "{said}");
    let folder = place.path().join(MADE);
    assert!(!folder.join("redmine").exists(), "{said}");
    for name in ["b-lines", "c-lines"] {
        for file in ["run.sqlite", "experiment.toml", "report.html"] {
            assert!(folder.join(name).join(file).is_file(), "{name}/{file}: {said}");
        }
    }
    let page = std::fs::read_to_string(folder.join("articles.html")).unwrap();
    for wanted in [
        "<section id=\"articles&#x2f;b-lines\">",
        "Is &lt;LMDB&gt; quicker?",
        "A paper of B, 2017",
        "2 statements: same shape",
        "1 more published figure is of levels that this run does not have",
        "And is it so with more clients?",
        "A paper of C, 2018",
        "3 statements: same shape",
        "Not run: unknown scale `10k`</p>",
        "href=\"c-lines&#x2f;report.html\"",
        "href=\"b-lines&#x2f;report.html\"",
    ] {
        assert!(page.contains(wanted), "{wanted}\n{page}");
    }
    let mut ids: Vec<&str> =
        page.split(" id=\"").skip(1).filter_map(|it| it.split('"').next()).collect();
    let all = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all, "a name stands twice");
    let mut drawn: Vec<&str> =
        ids.iter().filter_map(|id| Some(id.split_once("published")?.0)).collect();
    drawn.dedup();
    assert_eq!(drawn.len(), 2, "the charts of two articles: {ids:?}");
    assert!(said.contains("The page of all articles: bakeoff-articles-1/articles.html"), "{said}");
    // Each is an ordinary run.
    let report = command(&folder, &["report", "c-lines", "--full"]).output().unwrap();
    assert!(super::said(&report).contains("A paper of C"));
}

/// A plan of each, and nothing is made.
pub fn plans() {
    let place = place();
    let (done, said) = run(place.path(), &["--dry-run", "--scale", "10k"]);
    assert_eq!(done.status.code(), Some(2), "{said}");
    for name in ["redmine", "b-lines", "c-lines"] {
        assert!(said.contains(&format!("articles/{name}\n")), "{said}");
    }
    assert!(said.contains("beside it: 4 of 6 figures of \u{201c}A paper of B\u{201d}"), "{said}");
    assert!(!place.path().join(MADE).exists());
    assert!(!said.contains("is not run"), "{said}");
    let one = ["run", "articles/b-lines", "--dry-run", "--engine", "lmdb,fjall"];
    let said = super::said(&command(place.path(), &one).output().unwrap());
    assert!(said.contains("the base of published figures, engine sqlite, is not run"), "{said}");
}

/// What can't be run leaves nothing behind, and an article that there is none of is told with those that
/// there are.
pub fn refused() {
    let place = place();
    let (done, said) = run(place.path(), &["--engine", "nonsense"]);
    assert_eq!(done.status.code(), Some(2), "{said}");
    for name in ["redmine", "b-lines", "c-lines"] {
        assert!(said.contains(&format!("articles/{name}: error: ")), "{said}");
    }
    assert!(!place.path().join(MADE).exists(), "{said}");

    let unknown = command(place.path(), &["run", "articles/nonsense"]).output().unwrap();
    let said = super::said(&unknown);
    assert_eq!(unknown.status.code(), Some(2), "{said}");
    assert!(said.contains("valid: articles/redmine, "), "{said}");
    assert!(said.contains("articles/b-lines, articles/c-lines\n"), "{said}");
    assert!(!said.contains("power-cut"), "{said}");

    std::fs::create_dir(place.path().join("full")).unwrap();
    std::fs::write(place.path().join("full/mine"), "").unwrap();
    let (done, said) = run(place.path(), &["--out", "full"]);
    assert_eq!(done.status.code(), Some(3), "{said}");
    assert!(said.contains("full exists and is not empty"), "{said}");
    assert_eq!(std::fs::read_dir(place.path().join("full")).unwrap().count(), 1, "{said}");
}
