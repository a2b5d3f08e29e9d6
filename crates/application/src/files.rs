//! The files of an application, read once. Nothing outside the folder is read, through no link.

use std::collections::BTreeMap;
use std::io::{self, Read as _};
use std::path::Path;

use bakeoff_folders::{Dir, EntryKind};
use bakeoff_workloads::{APPLICATION, FileKind, fingerprint_parts};
use serde::{Deserialize, Serialize};
use toml::Table;

use crate::{CopiedRows, Mistake, Mistakes, ProgramFolder, SourcePlace};

/// The tables: `CREATE TABLE` and `CREATE INDEX`.
pub const SCHEMA: &str = "schema.sql";
/// Rows, mixes, scales and factors.
pub const CONFIGURATION: &str = "workload.toml";
/// Queries that must answer 0, or nothing.
pub const INVARIANTS: &str = "invariants.sql";

/// A file of more bytes is not a script that somebody wrote.
const MOST_BYTES: u64 = 1 << 20;
const MOST_FILES: usize = 1_000;

/// An application's files as they were read: a trial gets these, whatever becomes of the folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApplicationFiles {
    /// The application's name: its folder's.
    pub name: String,
    /// The texts by their names in the folder.
    pub texts: BTreeMap<String, String>,
    /// The weights of operations that the command line gave.
    pub weights: BTreeMap<String, u32>,
    /// The folder as the user names it; empty for scripts.
    #[serde(default)]
    pub shown: String,
    /// The rows file, if rows are copied from elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copied: Option<CopiedRows>,
    /// The folder of its own program, if its configuration names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<ProgramFolder>,
}

/// A script on the command line: `buy.sql@9`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptArgument {
    /// The file's path.
    pub path: String,
    /// How often it is chosen, in proportion to the others.
    pub weight: u32,
}

impl ScriptArgument {
    /// Reads `FILE.sql` or `FILE.sql@WEIGHT`; `None` if it is something else. The error says what is
    /// wrong with the weight.
    pub fn from_argument(argument: &str) -> Option<Result<Self, String>> {
        let (path, weight) = argument.rsplit_once('@').unwrap_or((argument, "1"));
        if !path.ends_with(".sql") {
            return None;
        }
        let wrong =
            || format!("`{argument}`: the weight of a script is a whole number above 0: {path}@9");
        let weight = weight.parse().ok().filter(|weight| *weight > 0).ok_or_else(wrong);
        Some(weight.map(|weight| Self { path: path.to_owned(), weight }))
    }

    fn file_name(&self) -> String {
        let name = Path::new(&self.path).file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }
}

impl ApplicationFiles {
    /// Reads a folder. `shown` is how messages name it.
    pub fn read_folder(folder: &Path, shown: &str) -> Result<Self, Mistakes> {
        let mut mistakes = Mistakes::default();
        let whole = SourcePlace::from_file(shown);
        let (mut texts, mut unread) = (BTreeMap::new(), Vec::new());
        match list_texts(folder) {
            Err(error) => mistakes.add(whole.clone(), explain_unreadable(&error)),
            Ok((_, names)) if names.len() > MOST_FILES => {
                mistakes.add(whole.clone(), format!("has more than {MOST_FILES} files"));
            }
            Ok((dir, names)) => {
                for name in names {
                    let place = SourcePlace::from_file(&format!("{shown}/{name}"));
                    match read_text(dir.open_for_read(&name), &place) {
                        Ok(text) => drop(texts.insert(name, text)),
                        Err(mistake) => {
                            mistakes.add(mistake.place, mistake.what);
                            unread.push(name);
                        }
                    }
                }
            }
        }
        let has_program = texts.get(CONFIGURATION).is_some_and(|text| names_program(text));
        let program = has_program.then(|| ProgramFolder::read(folder)).transpose();
        let program = program.unwrap_or_else(|error| {
            mistakes.add(whole.clone(), format!("can't be read: {error}"));
            None
        });
        if mistakes.is_empty() && !has_program && !texts.keys().any(|name| is_operation(name)) {
            mistakes.add(
                whole,
                "has no operation: write one, such as `buy.sql`, or take the example of `bakeoff new`",
            );
        }
        let name = to_name(folder);
        let (shown, weights) = (shown.to_owned(), BTreeMap::new());
        let files = Self { name, texts, weights, shown, copied: None, program };
        if mistakes.is_empty() {
            return Ok(files);
        }
        files.add_others(unread, &mut mistakes);
        Err(mistakes)
    }

    /// Mistakes of the files that could be read, if they mean something without the others.
    fn add_others(mut self, unread: Vec<String>, mistakes: &mut Mistakes) {
        if unread.is_empty() || !unread.iter().all(|name| is_operation(name)) {
            return;
        }
        // Mixes name them.
        self.texts.extend(unread.into_iter().map(|name| (name, "SELECT 1;".into())));
        if let Err(others) = crate::Application::new(self) {
            others.iter().for_each(|it| mistakes.add(it.place.clone(), it.what.clone()));
        }
    }

    /// Reads scripts of the command line. A schema that lies beside the first is theirs.
    pub fn read_scripts(scripts: &[ScriptArgument]) -> Result<Self, Mistakes> {
        let mut mistakes = Mistakes::default();
        let (mut texts, mut weights) = (BTreeMap::new(), BTreeMap::new());
        for script in scripts {
            let (name, place) = (script.file_name(), SourcePlace::from_file(&script.path));
            if !is_operation(&name) {
                mistakes.add(place.clone(), "is no operation: its name is taken");
            }
            match read_text(std::fs::File::open(&script.path), &place) {
                Ok(text) => {
                    if texts.insert(name.clone(), text).is_some() {
                        mistakes.add(place, "is named twice: rename one of the two files");
                    }
                }
                Err(mistake) => mistakes.add(mistake.place, mistake.what),
            }
            weights.insert(to_operation(&name).to_owned(), script.weight);
        }
        let beside = |name: &str| {
            let first = scripts.first().map_or("", |it| &it.path);
            Path::new(first).with_file_name(name)
        };
        for name in [SCHEMA, INVARIANTS, CONFIGURATION] {
            if let Ok(file) = std::fs::File::open(beside(name)) {
                match read_text(Ok(file), &SourcePlace::from_file(name)) {
                    Ok(text) => drop(texts.insert(name.into(), text)),
                    Err(mistake) => mistakes.add(mistake.place, mistake.what),
                }
            }
        }
        let names: Vec<&str> = weights.keys().map(String::as_str).collect();
        let files = Self {
            name: names.join("-"),
            texts,
            weights,
            shown: String::new(),
            copied: None,
            program: None,
        };
        if mistakes.is_empty() { Ok(files) } else { Err(mistakes) }
    }

    /// An experiment of the application on these engines, and on this disk or the machine's own,
    /// with its files in it.
    pub fn to_experiment(&self, engines: &[&str], disk: Option<&str>) -> String {
        let mut experiment = Table::new();
        experiment.insert("name".into(), self.name.as_str().into());
        experiment.insert("workload".into(), self.name.as_str().into());
        experiment.insert("engine".into(), engines.to_vec().into());
        experiment.insert("seconds".into(), 5.into());
        if let Some(disk) = disk {
            experiment.insert("disk".into(), disk.into());
        }
        let files = Table::try_from(self).expect("texts and numbers");
        experiment.insert(APPLICATION.into(), files.into());
        experiment.to_string()
    }

    /// The folder that an experiment names as its workload: `./shop`.
    pub fn find_folder(experiment: &str) -> Option<String> {
        let table = experiment.parse::<Table>().ok()?;
        let workload = table.get("workload")?.as_str()?;
        workload.contains('/').then(|| workload.to_owned())
    }

    /// An experiment that names the folder, with the application's name and files instead. Its lines
    /// stay where they are.
    pub fn fill_experiment(&self, experiment: &str, folder: &str) -> String {
        let named = |line: &str| line.trim_start().starts_with("workload") && line.contains(folder);
        let lines = experiment.lines().map(|line| match named(line) {
            true => line.replace(folder, &self.name) + "\n",
            false => format!("{line}\n"),
        });
        let mut filled: String = lines.collect();
        let files = Table::try_from(self).expect("texts and numbers");
        filled.push_str(&Table::from_iter([(APPLICATION.to_owned(), files.into())]).to_string());
        filled
    }

    /// The files in an experiment; `None` if it has none, or can't be read.
    ///
    /// # Errors
    ///
    /// What is there is no application.
    pub fn from_experiment(text: &str) -> Result<Option<Self>, String> {
        let table = text.parse::<Table>().ok();
        let Some(files) = table.and_then(|mut table| table.remove(APPLICATION)) else {
            return Ok(None);
        };
        let files = files.try_into();
        files.map(Some).map_err(|error| format!("[{APPLICATION}] is no application: {error}"))
    }

    /// Tells applications of one name apart.
    pub fn fingerprint(&self) -> u64 {
        let weights = self.weights.iter().map(|(name, weight)| format!("{name}@{weight}"));
        let weights: Vec<String> = weights.collect();
        let texts = self.texts.iter().flat_map(|(name, text)| [name.as_bytes(), text.as_bytes()]);
        let copied = self.copied.iter().map(|rows| rows.fingerprint.as_bytes());
        let program = self.program.iter().map(|folder| folder.fingerprint.as_bytes());
        let others = weights.iter().map(String::as_bytes).chain(copied).chain(program);
        fingerprint_parts(texts.chain(others))
    }

    /// The operations' names and texts, in the order of their names.
    pub fn operations(&self) -> impl Iterator<Item = (&str, &str)> {
        let scripts = self.texts.iter().filter(|(name, _)| is_operation(name));
        scripts.map(|(name, text)| (to_operation(name), &**text))
    }

    /// The place of a file's beginning, as messages show it.
    pub fn place_of(&self, file: &str) -> SourcePlace {
        match &*self.shown {
            "" => SourcePlace::from_file(file),
            folder => {
                let folder = folder.strip_prefix("./").unwrap_or(folder).trim_end_matches('/');
                SourcePlace::from_file(&format!("{folder}/{file}"))
            }
        }
    }
}

/// Whether a folder's file of this name means something.
pub fn is_read(file: &str) -> bool {
    file.ends_with(".sql") || file == CONFIGURATION
}

/// Whether a configuration has `[program]`.
fn names_program(configuration: &str) -> bool {
    configuration.parse::<Table>().is_ok_and(|table| table.contains_key("program"))
}

fn is_operation(file: &str) -> bool {
    let special = [SCHEMA, INVARIANTS].contains(&file) || file.starts_with("schema.");
    file.ends_with(".sql") && !special
}

fn to_operation(file: &str) -> &str {
    file.strip_suffix(".sql").unwrap_or(file)
}

/// Letters, digits, `-` and `_` of the folder's name.
fn to_name(folder: &Path) -> String {
    let full = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let name = full.file_name().unwrap_or_default().to_string_lossy();
    let keep = |letter: char| {
        if letter.is_ascii_alphanumeric() || "-_".contains(letter) { letter } else { '-' }
    };
    let name: String = name.chars().map(keep).take(60).collect();
    if name.is_empty() { "application".into() } else { name }
}

fn list_texts(folder: &Path) -> io::Result<(Dir, Vec<String>)> {
    let dir = Dir::open(folder)?;
    let mut names = Vec::new();
    for entry in dir.list_entries()? {
        let name = entry.name.to_string_lossy().into_owned();
        if is_read(&name) && entry.kind != EntryKind::Folder {
            names.push(name);
        }
    }
    names.sort();
    Ok((dir, names))
}

fn explain_unreadable(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such folder: `bakeoff new` makes one".into(),
        _ => format!("can't be read: {error}"),
    }
}

fn read_text(file: io::Result<std::fs::File>, place: &SourcePlace) -> Result<String, Mistake> {
    let wrong = |what: String| Mistake { place: place.clone(), what };
    let mut bytes = Vec::new();
    let read = file.and_then(|file| file.take(MOST_BYTES + 1).read_to_end(&mut bytes));
    read.map_err(|error| wrong(format!("can't be read: {error}")))?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(wrong(format!("is over {MOST_BYTES} bytes long: it can't be a script")));
    }
    if bytes.is_empty() {
        return Err(wrong("is empty".into()));
    }
    if let Some(kind) = FileKind::from_head(&bytes) {
        return Err(wrong(format!("is {}", kind.in_words(""))));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let good = String::from_utf8_lossy(&error.as_bytes()[..at]);
        let what = "this byte is not of UTF-8 text: convert the file from its own encoding, as by `iconv -f latin1 -t utf-8`";
        Mistake { place: place.advance(&good, at), what: what.into() }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder_with(files: &[(&str, &[u8])]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        files.iter().for_each(|(name, text)| {
            std::fs::write(folder.path().join(name), text).unwrap();
        });
        folder
    }

    #[test]
    fn a_folder_is_its_texts_and_nothing_else() {
        let folder = folder_with(&[
            ("buy.sql", b"SELECT 1;"),
            ("schema.sql", b"CREATE"),
            ("notes.txt", b"mine"),
            ("workload.toml", b"x = 1"),
        ]);
        let files = ApplicationFiles::read_folder(folder.path(), "shop").unwrap();
        let names: Vec<&str> = files.texts.keys().map(String::as_str).collect();
        assert_eq!(names, ["buy.sql", "schema.sql", "workload.toml"]);
        assert_eq!(files.operations().collect::<Vec<_>>(), [("buy", "SELECT 1;")]);
    }

    #[test]
    fn what_can_not_be_read_is_told_all_at_once() {
        let folder = folder_with(&[
            ("a.sql", b"a\n\xff"),
            ("b.sql", b""),
            ("c.sql", b"SELECT id FROM u;"),
            ("schema.sql", b"CREATE TABLE t (id INTEGER PRIMARY KEY);"),
        ]);
        std::os::unix::fs::symlink("/etc/passwd", folder.path().join("d.sql")).unwrap();
        let long = vec![b'x'; MOST_BYTES as usize + 1];
        std::fs::write(folder.path().join("e.sql"), long).unwrap();
        let mistakes = ApplicationFiles::read_folder(folder.path(), "shop").unwrap_err();
        let said = mistakes.to_string();
        let lines: Vec<&str> = said.lines().collect();
        assert!(lines[0].starts_with("shop/a.sql:2:1: this byte is not of UTF-8 text"), "{said}");
        assert_eq!(lines[1], "shop/b.sql: is empty");
        assert!(lines[2].starts_with("shop/c.sql:1:16: schema.sql has no table u"), "{said}");
        assert!(lines[3].starts_with("shop/d.sql: can't be read"), "{said}");
        assert!(lines[4].starts_with("shop/e.sql: is over"), "{said}");
        assert_eq!(lines.len(), 5);
        let none = ApplicationFiles::read_folder(&folder.path().join("none"), "none").unwrap_err();
        assert!(none.to_string().contains("bakeoff new"));
    }

    #[test]
    fn an_experiment_names_a_folder_and_gets_its_files() {
        let folder = folder_with(&[("buy.sql", b"SELECT 'a\n''b';")]);
        let files = ApplicationFiles::read_folder(folder.path(), "./shop").unwrap();
        let experiment = "# mine\nworkload = \"./shop\" # here\nseconds = 3\n[settings]\n";
        assert_eq!(ApplicationFiles::find_folder(experiment).as_deref(), Some("./shop"));
        assert_eq!(ApplicationFiles::find_folder("workload = \"shop\""), None);
        let filled = files.fill_experiment(experiment, "./shop");
        let line = filled.lines().nth(1).unwrap();
        assert_eq!(line, format!("workload = \"{}\" # here", files.name));
        assert_eq!(ApplicationFiles::from_experiment(&filled), Ok(Some(files.clone())));
        let made = files.to_experiment(&["sqlite"], Some("ssd-sata"));
        assert_eq!(ApplicationFiles::from_experiment(&made), Ok(Some(files)));
        assert!(ApplicationFiles::from_experiment("application = 3").is_err());
    }

    #[test]
    fn scripts_have_weights_as_pgbench_writes_them() {
        let read = |argument: &str| ScriptArgument::from_argument(argument);
        assert_eq!(read("shop"), None);
        assert_eq!(read("shop.toml"), None);
        let script = |path: &str, weight| Some(Ok(ScriptArgument { path: path.into(), weight }));
        assert_eq!(read("buy.sql"), script("buy.sql", 1));
        assert_eq!(read("a@b/buy.sql@9"), script("a@b/buy.sql", 9));
        for wrong in ["buy.sql@0", "buy.sql@-1", "buy.sql@x", "buy.sql@"] {
            assert!(read(wrong).unwrap().unwrap_err().contains("above 0"), "{wrong}");
        }
    }
}
