use std::io::{Cursor, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use super::*;

type Read2 = std::result::Result<(Vec<(String, String)>, Skipped), String>;

fn read(source: impl Read, format: Format) -> Read2 {
    let mut all = Vec::new();
    let source = unpack(source).map_err(|error| error.to_string())?;
    let skipped = records(source, format, &mut |title, text| {
        all.push((title.to_owned(), text.to_owned()));
        Ok(true)
    });
    skipped.map(|skipped| (all, skipped)).map_err(|error| error.to_string())
}

fn articles(bytes: &[u8], format: Format) -> Vec<(String, String)> {
    let (all, skipped) = read(bytes, format).expect("it is right");
    assert_eq!(skipped, Skipped::default());
    all
}

fn wrong(bytes: &[u8], format: Format) -> String {
    read(bytes, format).expect_err("it is wrong")
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

fn pairs<const N: usize>(all: [(&str, &str); N]) -> Vec<(String, String)> {
    all.map(|(title, text)| (title.into(), text.into())).into()
}

const TWO: &[u8] = b"Ape\tAn ape.\nBee\tA bee,\ta small one.\n";

fn two() -> Vec<(String, String)> {
    pairs([("Ape", "An ape."), ("Bee", "A bee,\ta small one.")])
}

#[test]
fn lines_are_read_plain_and_packed_in_several_pieces() {
    let more = b"Cow\tA cow.";
    let mut three = two();
    three.extend(pairs([("Cow", "A cow.")]));
    let plain = [TWO, more].concat();
    assert_eq!(articles(&plain, Format::Tabs), three);
    assert_eq!(articles(&[gzip(TWO), gzip(more)].concat(), Format::Tabs), three);
    let zstd = |bytes: &[u8]| compress_to_vec(bytes, CompressionLevel::Fastest);
    let skippable = [0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 7, 7, 7];
    assert_eq!(articles(&[&zstd(TWO)[..], &skippable, &zstd(more)].concat(), Format::Tabs), three);
    let windows = b"\xef\xbb\xbfApe\tAn ape.\r\nBee\tA bee,\ta small one.\r\n";
    assert_eq!(articles(windows, Format::Tabs), two());
}

#[test]
fn csv_has_quotes_and_names() {
    let plain = b"Ape,\"An \"\"ape\"\",\nor two\"\r\nBee,A bee\r\n";
    let read = pairs([("Ape", "An \"ape\",\nor two"), ("Bee", "A bee")]);
    assert_eq!(articles(plain, Format::Csv), read);
    let named = b"id,Text,title\n1,An ape,Ape\n";
    assert_eq!(articles(named, Format::Csv), pairs([("Ape", "An ape")]));
    assert!(wrong(b"a,b\na,b,c\n", Format::Csv).starts_with("line 2: 3 columns"));
    assert!(wrong(b"a,b,c\n", Format::Csv).starts_with("line 1: 3 columns"));
    let open = wrong(b"a,b\nc,\"d\ne,f\ng,h\n", Format::Csv);
    assert!(open.starts_with("line 2: a quote is opened here"), "{open}");
    // The line after a record of two lines.
    let junk = wrong(b"a,\"b\nc\"\nd,\"e\"f\n", Format::Csv);
    assert!(junk.starts_with("line 3: something follows a closing quote"), "{junk}");
    assert!(wrong(b"a,b\"c\"\n", Format::Csv).starts_with("line 1: a quote inside a field"));
}

#[test]
fn json_lines_are_objects() {
    let good = b"{\"title\": \"Ape\", \"id\": 1, \"text\": \"An\\nape\"}\n";
    assert_eq!(articles(good, Format::JsonLines), pairs([("Ape", "An\nape")]));
    let missing = wrong(b"{\"title\": \"Ape\"}\n", Format::JsonLines);
    assert!(
        missing.starts_with("line 1: no JSON object") && missing.contains("`text`"),
        "{missing}"
    );
    let nul = wrong(b"{\"title\": \"A\\u0000\", \"text\": \"b\"}\n", Format::JsonLines);
    assert!(nul.starts_with("line 1: a NUL byte"), "{nul}");
}

#[test]
fn a_name_tells_the_format() {
    let of = |name: &str| Format::of(name.as_ref());
    assert_eq!([of("a.tsv"), of("a"), of("a.csv.txt"), of("a.gz")], [Format::Tabs; 4]);
    assert_eq!([of("a.csv"), of("x/a.CSV.gz")], [Format::Csv; 2]);
    assert_eq!([of("a.jsonl"), of("a.jsonl.zst")], [Format::JsonLines; 2]);
}

#[test]
fn what_is_no_row_is_counted_and_skipped() {
    let mut bytes = TWO.to_vec();
    bytes.extend(b"\n   \n\ttext alone\ntitle alone\t\nB\xc3\tnot UTF-8\n");
    // Characters count, not bytes.
    bytes.extend(format!("{}\tfits\n{}\ttoo long\n", "é".repeat(512), "é".repeat(513)).bytes());
    for (bytes, too_long) in [((1 << 24) - 1, false), (1 << 24, true)] {
        let mut one = b"Long\t".to_vec();
        one.extend(std::iter::repeat_n(b'x', bytes));
        let (all, skipped) = read(&one[..], Format::Tabs).expect("it is right");
        assert_eq!((all.len(), skipped.too_long), (usize::from(!too_long), u64::from(too_long)));
    }
    let (all, skipped) = read(&bytes[..], Format::Tabs).expect("it is right");
    assert_eq!(all.len(), 3);
    assert_eq!(skipped, Skipped { empty: 4, too_long: 1, not_utf8: 1 });
    assert_eq!(skipped.in_words(), ", 6 lines skipped (4 empty, 1 too long, 1 not UTF-8)");
}

#[test]
fn a_line_of_two_gigabytes_is_never_held() {
    let line = std::io::repeat(b'x').take(2 << 30);
    let source = Cursor::new(b"Big\t").chain(line).chain(Cursor::new(b"\nApe\tAn ape.\n"));
    let before = peak_memory_kb();
    let (all, skipped) = read(source, Format::Tabs).expect("it is right");
    assert_eq!((all, skipped.too_long), (pairs([("Ape", "An ape.")]), 1));
    assert!(peak_memory_kb() - before < 1 << 20, "a gigabyte was held");
}

/// The most memory that the process ever had.
fn peak_memory_kb() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("a process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

#[test]
fn what_is_no_text_has_a_place() {
    let binary = wrong(b"Ape\tAn ape.\nB\0ee\tx\n", Format::Tabs);
    assert!(binary.starts_with("line 2: a NUL byte"), "{binary}");
    let no_tab = wrong(b"Ape\tAn ape.\nBee\n", Format::Tabs);
    assert!(no_tab.starts_with("line 2: no TAB"), "{no_tab}");
    let cut = wrong(b"Ape\tAn ape.\nBee\tcaf\xc3", Format::Tabs);
    assert!(cut.starts_with("line 2: the file ends in the middle of a character"), "{cut}");
    // In the midst of the file that is a line that is not UTF-8.
    let (all, skipped) = read(&b"Bee\tcaf\xc3\nApe\tAn ape.\n"[..], Format::Tabs).expect("right");
    assert_eq!((all.len(), skipped.not_utf8), (1, 1));
}

#[test]
fn broken_packings_are_told() {
    let many: String = (0..50_000).map(|n| format!("Title {n}\tText {}\n", n * 7919)).collect();
    let packed = gzip(many.as_bytes());
    let short = wrong(&packed[..packed.len() / 2], Format::Tabs);
    assert!(short.contains("line ") && short.contains("its gzip data are broken"), "{short}");
    let mut bad = packed.clone();
    let last = bad.len() - 6;
    bad[last] ^= 1;
    assert!(wrong(&bad, Format::Tabs).contains("its gzip data are broken"));
    let zstd = compress_to_vec(many.as_bytes(), CompressionLevel::Fastest);
    let short = wrong(&zstd[..zstd.len() / 2], Format::Tabs);
    assert!(short.contains("its zstd data are broken"), "{short}");
}

fn file(bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("rows.tsv");
    fs::write(&path, bytes).expect("a file");
    (folder, path)
}

#[test]
fn a_survey_says_what_there_is() {
    let (folder, path) = file(&gzip(&[TWO, b"\n"].concat()));
    let survey = RowsFile::survey(&path).expect("it is right");
    assert_eq!((survey.rows, survey.bytes), (2, 32));
    assert_eq!(survey.bytes_of(20), 320);
    let told = survey.describe();
    assert!(told.ends_with("2 rows, 1 line skipped (1 empty)"), "{told}");
    let few = survey.holds(3).expect_err("too few").to_string();
    assert!(few.contains("it holds 2 rows") && few.contains("3 are needed"), "{few}");
    let again = RowsFile::survey(&path).expect("it is right");
    assert_eq!(survey.fingerprint(), again.fingerprint());
    fs::write(&path, b"Ape\tAn apE.\n").expect("a file");
    let other = RowsFile::survey(&path).expect("it is right");
    assert_ne!(survey.fingerprint(), other.fingerprint());

    let wrong = |path: &Path| RowsFile::survey(path).expect_err("it is wrong").to_string();
    fs::write(&path, b"").expect("a file");
    assert!(wrong(&path).contains("it is empty"));
    fs::write(&path, b"\n\xff\t\xff\n").expect("a file");
    let none = wrong(&path);
    assert!(none.contains("it holds no row, 2 lines skipped (1 empty, 1 not UTF-8)"), "{none}");
    assert!(wrong(folder.path()).contains("it is not a file"));
    assert!(wrong(&folder.path().join("none")).contains("No such file"));
}

#[test]
fn a_file_that_changes_is_no_source() {
    let (_folder, path) = file(TWO);
    let survey = RowsFile::survey(&path).expect("it is right");
    let mut given = 0;
    let changed = survey.each(2, &mut |_, _| {
        given += 1;
        if given == 1 {
            let mut file = fs::OpenOptions::new().append(true).open(&path).expect("the file");
            file.write_all(b"more").expect("room");
        }
        Ok(())
    });
    let told = changed.expect_err("it changed").to_string();
    assert!(told.contains("changed while it was read: it had 36 bytes, and has 40 now"), "{told}");
    let told = survey.each(2, &mut |_, _| Ok(())).expect_err("it changed").to_string();
    assert!(told.contains("changed after the run was planned"), "{told}");
}

#[test]
fn as_many_rows_are_given_as_are_asked_for() {
    let (_folder, path) = file(TWO);
    let survey = RowsFile::survey(&path).expect("it is right");
    let mut titles = Vec::new();
    let mut take = |title: &str, _: &str| {
        titles.push(title.to_owned());
        Ok(())
    };
    survey.each(1, &mut take).expect("it is right");
    assert_eq!(titles, ["Ape"]);
}
