//! What recorded runs of fixed repetitions would have needed until they were decided:
//! `cargo run --release -p bakeoff-analysis --example replay -- RUN ...`

use std::path::PathBuf;
use std::process::ExitCode;

use bakeoff_analysis::replay;
use bakeoff_results::RunFolder;

fn main() -> ExitCode {
    let folders: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    if folders.is_empty() {
        eprintln!("give the folders of runs: replay RUN ...");
        return ExitCode::from(2);
    }
    for folder in folders {
        match RunFolder::open(&folder).and_then(|it| Ok((it.run()?, replay(&it)?))) {
            Ok((run, conditions)) => show(&folder.to_string_lossy(), &run.name, &conditions),
            Err(error) => {
                eprintln!("{}: {error}", folder.display());
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

fn show(folder: &str, name: &str, conditions: &[bakeoff_analysis::ConditionReplay]) {
    println!("\n{folder} ({name})");
    let (mut used, mut of, mut words, mut same, mut opposed) = (0, 0, 0, 0, 0);
    for it in conditions {
        let levels: Vec<&str> = it.levels.values().map(String::as_str).collect();
        let (needed, all) = it.blocks;
        println!("  {}: {needed} of {all} blocks, {:?}", levels.join(", "), it.state);
        for word in &it.words {
            let (now, then) = (word.at_last_look.word(), word.of_all.word());
            let (baseline, level) = &word.levels;
            let mark = if now == then { "" } else { "  <- differs" };
            println!("    {} {level}/{baseline}: {now} ({then} of all){mark}", word.operation);
            words += 1;
            same += usize::from(now == then);
            let pair = [now, then];
            opposed += usize::from(pair.contains(&"faster") && pair.contains(&"slower"));
        }
        (used, of) = (used + needed, of + all);
    }
    println!(
        "  {used} of {of} blocks, {:.0} %; {same} of {words} words the same, {opposed} the opposite",
        100.0 * f64::from(used) / f64::from(of.max(1))
    );
}
