//! Writes synthetic reports into a folder, to look at: `samples FOLDER`.

#[allow(dead_code, reason = "the tests use the rest of them")]
#[path = "../tests/it"]
mod it {
    pub mod sample;
}

use std::error::Error;
use std::path::PathBuf;
use std::time::Instant;

use bakeoff_analysis::Document;
use bakeoff_report::{FORMATS, Options, render};
use bakeoff_results::FigureOfMerit;
use it::sample::{
    Sample, broken, files, limits, machines, over_time, plausible, promises, rate, sweep,
};

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(std::env::args().nth(1).ok_or("which folder?")?);
    std::fs::create_dir_all(&folder)?;
    let samples = [
        ("plausible", plausible().document()),
        ("promises", promises().document()),
        ("cuts", broken::broken("torn", "client 1: 3 is torn")),
        ("files", files()),
        ("limits", limits::document()),
        ("machines", machines::merged()),
        ("sweep", sweep::crossing()),
        ("sweep-eventful", sweep::eventful()),
        ("rate", rate::rate(plausible().document(), FigureOfMerit::Rows)),
        ("large", build_large()),
        ("nine-minutes", over_time::over_time(270)),
    ];
    for (name, document) in samples {
        for format in FORMATS.iter().map(|format| format.name) {
            let start = Instant::now();
            let options = Options { color: true, width: 80, ..Options::default() };
            let text = render(&document, format, &options)?;
            let file = folder.join(format!("{name}.{format}"));
            std::fs::write(&file, &text)?;
            println!("{:<32} {:>10} bytes {:>8.1?}", file.display(), text.len(), start.elapsed());
        }
    }
    Ok(())
}

/// 10,000 trials.
fn build_large() -> Document {
    let factors = vec![
        ("durability", vec!["relaxed", "strict"]),
        ("clients", vec!["1", "2", "4", "8"]),
        ("neighbours", vec!["0", "25%", "x1", "x2", "x4"]),
    ];
    let engines = vec!["sqlite", "lmdb", "fjall", "null"];
    let mut document = Sample { engines, factors, blocks: 63, ..plausible() }.document();
    document.trials.truncate(10_000);
    document
}
