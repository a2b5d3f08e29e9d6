use std::io::{Cursor, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use super::records::OmissionReason;
use super::*;

type Row = (String, String);

/// Titles and texts.
type Titled = &'static [(&'static str, &'static str)];

fn read(
    source: impl Read,
    format: Format,
) -> std::result::Result<(Vec<Row>, OmissionCounts), String> {
    let mut all = Vec::new();
    let source = unpack(source).map_err(|error| error.to_string())?;
    let skipped = read_records(source, format, &mut |title, text| {
        all.push((title.to_owned(), text.to_owned()));
        Ok(true)
    });
    skipped.map(|skipped| (all, skipped)).map_err(|error| error.to_string())
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    compress_to_vec(bytes, CompressionLevel::Fastest)
}

/// The rows that a survey gives.
fn rows_of(file: &RowsFile, count: u64, seed: u64) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut take = |title: &str, text: &str| {
        rows.push((title.to_owned(), text.to_owned()));
        Ok(())
    };
    file.give_rows(count, seed, &mut take).expect("there is text enough");
    rows
}

const TWO: &[u8] = b"Ape\tAn ape.\nBee\tA bee,\ta small one.\n";

/// Files that are right, and what they hold.
const RIGHT: &[(Format, &[u8], Titled)] = &[
    (Format::Tabs, TWO, &[("Ape", "An ape."), ("Bee", "A bee,\ta small one.")]),
    (
        Format::Tabs,
        b"\xef\xbb\xbfApe\tAn ape.\r\nBee\tA bee",
        &[("Ape", "An ape."), ("Bee", "A bee")],
    ),
    (
        Format::Csv,
        b"Ape,\"An \"\"ape\"\",\nor two\"\r\nBee,A bee\r\n",
        &[("Ape", "An \"ape\",\nor two"), ("Bee", "A bee")],
    ),
    (Format::Csv, b"id,Text,title\n1,An ape,Ape\n", &[("Ape", "An ape")]),
    (Format::Csv, b"title, text\nApe,An ape\n", &[("Ape", "An ape")]),
    (Format::Csv, b"headline,body\n", &[("headline", "body")]),
    (Format::Tabs, b"\n title\tText \r\ntitle\ttext\n", &[("title", "text")]),
    (
        Format::JsonLines,
        b"{\"title\": \"Ape\", \"id\": 1, \"text\": \"An\\nape\"}\n",
        &[("Ape", "An\nape")],
    ),
];

#[test]
fn rows_are_read_plain_and_packed_in_several_pieces() {
    for (format, bytes, rows) in RIGHT {
        let rows: Vec<Row> =
            rows.iter().map(|(title, text)| ((*title).into(), (*text).into())).collect();
        let (one, other) = bytes.split_at(bytes.len() / 2);
        let skippable = [0x50, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 7, 7, 7];
        let packed = [
            bytes.to_vec(),
            [gzip(one), gzip(other)].concat(),
            [gzip(bytes), vec![0; 70_000]].concat(),
            [&zstd(one)[..], &skippable, &zstd(other)].concat(),
        ];
        for bytes in packed {
            assert_eq!(read(&bytes[..], *format).expect("it is right").0, rows);
        }
    }
}

/// Files that are wrong, and what is said of them.
const WRONG: &[(Format, &[u8], &[&str])] = &[
    (Format::Csv, b"a,b\na,b,c\n", &["line 2: 3 columns"]),
    (Format::Csv, b"a,b,c\n", &["line 1: 3 columns"]),
    (Format::Csv, b"a,b\nc,\"d\ne,f\ng,h\n", &["line 2: a quote is opened here"]),
    // The line after a record of two lines.
    (Format::Csv, b"a,\"b\nc\"\nd,\"e\"f\n", &["line 3: something follows a closing quote"]),
    (Format::Csv, b"a,b\"c\"\n", &["line 1: a quote inside a field"]),
    (Format::JsonLines, b"{\"title\": \"Ape\"}\n", &["line 1: no JSON object", "`text`"]),
    (Format::Csv, b"title,text,Text\na,b,c\n", &["line 1: the line of names has `text` twice"]),
    (Format::Csv, b"title;text\n", &["line 1: 1 column, where two are needed: a title, a comma"]),
    (Format::JsonLines, b"[\"Ape\", \"An ape\"]\n", &["line 1: no JSON object", "an array"]),
    (
        Format::JsonLines,
        b"{\"title\": \"A\\u0000\", \"text\": \"b\"}\n",
        &["line 1: its title or text holds `\\u0000`"],
    ),
    (Format::Tabs, b"Ape\tAn ape.\nB\0ee\tx\n", &["line 2: a NUL byte", "take it out"]),
    (
        Format::Tabs,
        b"BZh91AY&SY\x9a",
        &["it is bzip2 data; unpack it: `bzip2 -d`, or pack it with gzip"],
    ),
    (Format::Tabs, b"\xff\xfeA\0\t\0b\0", &["it is text in UTF-16; convert it: `iconv -f UTF-16"]),
    (
        Format::Tabs,
        b"Ape\tAn ape.\nBee\n",
        &["line 2: no TAB", "a .csv or .jsonl file has an ending that says so"],
    ),
    (
        Format::Tabs,
        b"{\"title\": \"Ape\", \"text\": \"An ape.\"}\n",
        &["JSON has a name that ends in .jsonl"],
    ),
    (Format::Tabs, b"[\n", &["JSON has a name that ends in .jsonl"]),
    (
        Format::Tabs,
        b"Ape\tAn ape.\nBee\tcaf\xc3",
        &["line 2: the file ends in the middle of a character"],
    ),
];

#[test]
fn what_is_wrong_is_told_with_its_line() {
    for (format, bytes, parts) in WRONG {
        let said = read(*bytes, *format).expect_err("it is wrong");
        assert!(said.starts_with(parts[0]) || !parts[0].starts_with("line"), "{said}");
        assert!(parts.iter().all(|part| said.contains(part)), "{parts:?}: {said}");
    }
    let many: String = (0..50_000).map(|n| format!("Title {n}\tText {}\n", n * 7919)).collect();
    let (gzip, zstd) = (gzip(many.as_bytes()), zstd(many.as_bytes()));
    let mut bad = gzip.clone();
    let last = bad.len() - 6;
    bad[last] ^= 1;
    // A magic number, then a window of 256 MiB, which no frame of so few bytes needs.
    let long = b"\x28\xb5\x2f\xfd\x00\x90\x01\x00\x00";
    let mut tar = vec![b'x'; 512];
    tar[257..262].copy_from_slice(b"ustar");
    for (bytes, said) in [
        (&gzip[..gzip.len() / 2], ["line ", "its gzip data are broken"]),
        (&gzip[..30], ["line 1: it can't be read on", "its gzip data are broken"]),
        (&bad, ["", "its gzip data are broken"]),
        (&zstd[..zstd.len() / 2], ["", "its zstd data are broken"]),
        (
            &[&gzip[..], b"\0\0more"].concat(),
            ["", "its gzip data are followed by bytes of another"],
        ),
        (&[&zstd[..], b"more"].concat(), ["", "its zstd data are followed by bytes of another"]),
        (long, ["its zstd data have a window of 256 MiB", "128 MiB at most"]),
        (&self::gzip(&tar), ["what is packed in it is a tar archive", "tar -xf"]),
        (&self::gzip(&gzip), ["what is packed in it is gzip data", "unpack it: `gzip -d`"]),
    ] {
        let broken = read(bytes, Format::Tabs).expect_err("it is broken");
        assert!(said.iter().all(|part| broken.contains(part)), "{broken}");
    }
}

#[test]
fn a_name_tells_the_format() {
    let of = |name: &str| Format::from_path(name.as_ref());
    assert_eq!([of("a.tsv"), of("a"), of("a.csv.txt"), of("a.gz")], [Format::Tabs; 4]);
    assert_eq!([of("a.csv"), of("x/a.CSV.gz")], [Format::Csv; 2]);
    assert_eq!([of("a.jsonl"), of("a.jsonl.zst")], [Format::JsonLines; 2]);
    assert_eq!(of("rows.ndjson"), Format::Tabs);
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
    // In the midst of the file that is a line that is not UTF-8; at its end it is an error.
    bytes.extend(b"Bee\tcaf\xc3\nApe\tAn ape.\n");
    let (all, skipped) = read(&bytes[..], Format::Tabs).expect("it is right");
    assert_eq!(all.len(), 4);
    assert_eq!(
        skipped,
        OmissionCounts {
            empty: 4,
            too_long: 1,
            not_utf8: 2,
            first: Some((3, OmissionReason::Empty)),
            header: false,
        }
    );
    assert_eq!(skipped.in_words("line"), ", 7 lines skipped (4 empty, 1 too long, 2 not UTF-8)");
}

#[test]
fn a_line_of_two_gigabytes_is_never_held() {
    let line = std::io::repeat(b'x').take(2 << 30);
    let source = Cursor::new(b"Big\t").chain(line).chain(Cursor::new(b"\nApe\tAn ape.\n"));
    let before = peak_memory_kb();
    let (all, skipped) = read(source, Format::Tabs).expect("it is right");
    assert_eq!((all, skipped.too_long), (vec![("Ape".into(), "An ape.".into())], 1));
    assert!(peak_memory_kb() - before < 1 << 20, "a gigabyte was held");
}

#[test]
fn a_small_file_of_endless_lines_is_refused() {
    let count = |packed: &[u8], any_ratio| {
        let mut source = super::unpack::unpack_within(packed, any_ratio)?;
        std::io::copy(&mut source, &mut std::io::sink())
    };
    for (name, pack) in [("gzip", gzip as fn(&[u8]) -> Vec<u8>), ("zstd", zstd)] {
        for byte in [b'\n', b'a'] {
            let bomb = pack(&vec![byte; 4 << 20]);
            let error = count(&bomb, 1 << 20).unwrap_err().to_string();
            let said = "data are over 200 times as long as packed, 1 MiB so far";
            assert!(error.contains(&format!("its {name} {said}")), "{error}");
            assert_eq!(count(&bomb, 4 << 20).unwrap(), 4 << 20);
        }
        let text = made_up(5_000);
        assert_eq!(count(&pack(text.as_bytes()), 0).unwrap(), text.len() as u64);
    }
}

/// The most memory that the process ever had.
fn peak_memory_kb() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("a process");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
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
    let told = survey.describe(&[("small", 1), ("large", 3)]);
    let end =
        "2 rows, 1 line skipped (1 empty), 16 bytes each on average; small: the first 1 of them";
    assert!(told.ends_with(end), "{told}");
    let few = |fewest: u64| survey.check_holds(3, fewest).expect_err("too few").to_string();
    let told = few(2);
    assert!(told.contains("it holds 2 rows") && told.contains("3 are needed"), "{told}");
    assert!(told.contains("; name a smaller scale, or a longer file"), "{told}");
    let told = few(3);
    assert!(told.contains("; name a longer file") && !told.contains("a smaller scale"), "{told}");
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
fn a_table_without_names_of_columns_says_so() {
    let (folder, _) = file(b"");
    let path = folder.path().join("rows.csv");
    for (lines, rows, told) in [("title , text", 1, false), ("headline,body", 2, true)] {
        fs::write(&path, format!("{lines}\nApe,An ape.\n")).expect("a file");
        let said = RowsFile::survey(&path).expect("it is right").describe(&[]);
        let words = ", the first line among them (it does not name `title` and `text`)";
        assert!(said.contains(&format!("{rows} rows")) && said.contains(words) == told, "{said}");
    }
}

#[test]
fn a_file_that_changes_is_no_source() {
    let (_folder, path) = file(TWO);
    let survey = RowsFile::survey(&path).expect("it is right");
    let mut given = 0;
    let changed = survey.give_rows(2, 1, &mut |_, _| {
        given += 1;
        if given == 1 {
            let mut file = fs::OpenOptions::new().append(true).open(&path).expect("the file");
            file.write_all(b"more").expect("room");
        }
        Ok(())
    });
    let told = changed.expect_err("it changed").to_string();
    assert!(told.contains("changed while it was read: it had 36 bytes, and has 40 now"), "{told}");
    let told = survey.give_rows(2, 1, &mut |_, _| Ok(())).expect_err("it changed").to_string();
    assert!(told.contains("changed after the run was planned"), "{told}");
    // Another file of the same size in its place.
    let (other, path) = file(TWO);
    let survey = RowsFile::survey(&path).expect("it is right");
    let anew = other.path().join("anew");
    fs::write(&anew, TWO.to_ascii_uppercase()).expect("a file");
    fs::rename(&anew, &path).expect("it is replaced");
    let told = survey.give_rows(2, 1, &mut |_, _| Ok(())).expect_err("it changed").to_string();
    assert!(told.contains("it was written anew, with 36 bytes as before"), "{told}");
}

#[test]
fn a_file_that_has_to_be_whole_names_the_first_line_that_is_no_row() {
    let (_folder, path) = file(b"Ape\tAn ape.\nB\xff\tx\n\nBee\tA bee.\n");
    let survey = RowsFile::survey(&path).expect("it is right");
    let told = survey.check_whole().expect_err("two lines are none").to_string();
    assert!(told.contains("rows.tsv, line 2: it is not UTF-8"), "{told}");
    assert!(told.contains("2 lines skipped (1 empty, 1 not UTF-8)"), "{told}");
    let (_folder, path) = file(TWO);
    assert_eq!(RowsFile::survey(&path).expect("it is right").check_whole(), Ok(()));
}

/// Rows of made-up text, as a user's file may have them.
fn made_up(rows: usize) -> String {
    let text = crate::TextSource::generate(1);
    let mut random = seed_stream(1, 0);
    let row = |number| {
        let length = crate::articles::draw_length(&mut random);
        format!("Title {number}\t{}\n", text.cut(&mut random, length).replace('\n', " "))
    };
    (0..rows).map(row).collect()
}

#[test]
fn a_file_with_too_few_rows_is_followed_by_others_of_its_words() {
    let own = made_up(600);
    let (_folder, path) = file(own.as_bytes());
    let survey = RowsFile::survey(&path).expect("it is right");
    assert_eq!([survey.count_generated(600), survey.count_generated(2000)], [0, 1400]);
    let rows = |seed| rows_of(&survey, 2000, seed);
    let once = rows(1);
    let lines: Vec<String> =
        once[..600].iter().map(|(title, text)| format!("{title}\t{text}\n")).collect();
    assert_eq!(lines.concat(), own, "the file's own come first, as they are");
    let texts: std::collections::HashSet<&str> = once.iter().map(|(_, text)| &**text).collect();
    assert_eq!(texts.len(), 2000, "none comes twice");
    // One has the title and the length of the row that it is made like.
    for (number, (title, text)) in once.iter().enumerate().skip(600) {
        let (like, other) = &once[number % 600];
        assert_eq!(title, like);
        assert!(text.len() > other.len() / 2 && text.len() < other.len() + 100, "{text}");
    }
    assert_eq!(once, rows(1), "a seed gives the same");
    let other = rows(2);
    assert_eq!(once[..600], other[..600]);
    assert_eq!(rows_of(&survey, 7, 1), once[..7]);
    let same = (600..2000).filter(|row| once[*row] == other[*row]).count();
    assert!(same < 20, "{same} rows are the same with another seed");
    let told = survey.describe(&[("small", 10), ("large", 2000)]);
    assert!(
        told.contains("small: the first 10 of them; large: all 600 of them and 1400 generated")
    );
}

/// What compresses bytes.
type Pack<'a> = &'a dyn Fn(&[u8]) -> Vec<u8>;

#[test]
fn what_is_generated_compresses_like_the_file() {
    let made_up = made_up(1500);
    let rows = made_up.lines().filter_map(|line| line.split_once('\t'));
    compresses_alike(rows.map(|(title, text)| (title.to_owned(), text.to_owned())).collect(), 1);
    if let Some(rows) = of_gcide() {
        compresses_alike(rows, 1);
    }
}

/// After so many rounds the words go on at other places than in the first.
#[test]
#[ignore = "slow: make test-slow"]
fn the_last_of_many_rounds_compresses_like_the_file() {
    if let Some(rows) = of_gcide() {
        compresses_alike(rows, 30);
    }
}

/// Rows of the dictionary, where it is installed.
fn of_gcide() -> Option<Vec<Row>> {
    let gcide = &COLLECTIONS[0];
    let there = gcide.is_installed().then_some(()).ok_or_else(|| gcide.install_command());
    bakeoff_testkit::needs(there)?;
    let file = RowsFile::survey(Path::new(gcide.path)).expect("a dictionary");
    Some(rows_of(&file, 2500, 1))
}

/// Holds the ratios of rows and of rows generated from them, the last of so many rounds, against each other, in
/// pieces as engines compress them and in those of their largest windows.
fn compresses_alike(rows: Vec<Row>, rounds: u64) {
    let bytes = rows.iter().map(|(title, text)| title.len() + text.len()).sum::<usize>();
    let mut sample = TextSample::new(bytes as u64);
    rows.iter().for_each(|(title, text)| sample.add_row(title, text));
    let own: String = rows.into_iter().map(|(_, text)| text).collect();
    let count = sample.count_rows();
    let (mut made, mut given) = (String::new(), 0);
    let mut take = |_: &str, text: &str| {
        given += 1;
        if given > count * (rounds - 1) {
            made.push_str(text);
        }
        Ok(())
    };
    sample
        .give_rows(count * rounds, &mut seed_stream(1, 0), &mut take)
        .expect("there is text enough");
    let length = made.len() as f64 / own.len() as f64;
    assert!((0.98..=1.01).contains(&length), "{length} as long");
    assert_ne!(own, made);
    let packings: [(&str, Pack<'_>); 2] = [("gzip", &gzip), ("zstd", &zstd)];
    for (name, pack) in packings {
        for piece in [1 << 16, 1 << 20] {
            let ratio = |text: &str| {
                let packed = text.as_bytes().chunks_exact(piece).map(|piece| pack(piece).len());
                (text.len() / piece * piece) as f64 / packed.sum::<usize>() as f64
            };
            let (own, made) = (ratio(&own), ratio(&made));
            let told = format!("{name}, {piece} bytes: {own:.3} of the file, {made:.3} generated");
            eprintln!("{told}");
            assert!((0.9..=1.1).contains(&(made / own)), "{told}");
        }
    }
}

#[test]
fn words_that_are_too_few_are_told() {
    let mut sample = TextSample::new(1000);
    sample.add_row("Ape", "ape");
    let mut given = 0;
    let mut take = |_: &str, _: &str| {
        given += 1;
        Ok(())
    };
    let told = sample
        .give_rows(1000, &mut seed_stream(1, 0), &mut take)
        .expect_err("one word")
        .to_string();
    assert!(told.contains("words are too few"), "{told}");
    assert!(given < 1000);
}

#[test]
fn a_long_file_is_sampled_evenly() {
    let mut sample = TextSample::new(400_000_000);
    let text = "x".repeat(1000);
    (0..10_000).for_each(|number| sample.add_row(&number.to_string(), &text));
    assert_eq!(sample.count_rows(), 1000);
}

/// Writes a dictionary of these headwords and articles; one that begins with `=` leads to the article before.
fn dictionary(entries: &[(&str, &[u8])]) -> (tempfile::TempDir, PathBuf) {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let number = |value: usize| -> String {
        [value / 4096, value / 64, value].iter().map(|it| DIGITS[it % 64] as char).collect()
    };
    let (mut index, mut articles, mut last) = (String::new(), Vec::new(), (0, 0));
    for (headword, article) in entries {
        if !headword.starts_with('=') {
            last = (articles.len(), article.len());
            articles.extend(*article);
        }
        let headword = headword.trim_start_matches('=');
        index += &format!("{headword}\t{}\t{}\n", number(last.0), number(last.1));
    }
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("it.index"), index).expect("a file");
    let path = folder.path().join("it.dict.dz");
    fs::write(&path, gzip(&articles)).expect("a file");
    (folder, path)
}

#[test]
fn a_dictionary_gives_whole_articles() {
    let long = format!("Bee\n   {}\n", "A small one. ".repeat(400));
    let short = format!("Cow\n   {}\n", "Gives milk. ".repeat(8));
    let mut entries: Vec<(&str, &[u8])> =
        vec![("00-database-info", b"about it"), ("Bee", long.as_bytes()), ("=Bees", b"")];
    entries.extend([("Bad", &b"caf\xe9"[..]), ("Blank", b"  \n")]);
    entries.extend(std::iter::repeat_n(("Cow", short.as_bytes()), 300));
    let (folder, path) = dictionary(&entries);
    let file = RowsFile::survey(&path).expect("a dictionary");
    let rows = rows_of(&file, file.rows, 1);
    let all: String = rows.iter().map(|(_, text)| &**text).collect();
    assert_eq!(all, long.clone() + &short.repeat(300), "each article once, in order");
    assert_eq!(rows[0].0, "Bee");
    let whole = |(title, text): &Row| title == "Cow" && text.len() % short.len() == 0;
    assert!(rows[1..].iter().all(whole), "articles are not cut");
    let lengths: std::collections::HashSet<usize> = rows.iter().map(|it| it.1.len()).collect();
    assert!(rows.len() > 5 && lengths.len() > 4, "{lengths:?}");
    let told = file.describe(&[]);
    let skipped = "rows of whole articles, 2 articles skipped (1 empty, 1 not UTF-8)";
    assert!(told.contains(skipped), "{told}");
    let told = file.check_whole().expect_err("two articles are none").to_string();
    assert!(told.contains("its article 3 is not UTF-8, and no article may be skipped"), "{told}");

    // Its index is a part of it.
    let index = folder.path().join("it.index");
    let mut longer = fs::read(&index).expect("the index");
    longer.extend(b"Dog\tB\tC\n");
    fs::write(&index, longer).expect("the index");
    let told = file.give_rows(1, 1, &mut |_, _| Ok(())).expect_err("it changed").to_string();
    assert!(told.contains("it.index") && told.contains("changed after"), "{told}");
    assert_ne!(RowsFile::survey(&path).expect("right").fingerprint(), file.fingerprint());

    let wrong = || RowsFile::survey(&path).expect_err("it is wrong").to_string();
    fs::write(&index, "Bee\tA\t///\n").expect("the index");
    fs::write(&path, gzip(b"Bee")).expect("the articles");
    assert!(wrong().contains("ends before the end of the article `Bee`"), "{}", wrong());
    fs::write(&index, "Bee\tA\n").expect("the index");
    assert!(wrong().contains("it.index, line 1: no headword, place and length"), "{}", wrong());
    fs::remove_file(&index).expect("the index");
    assert!(wrong().contains("it.index"), "{}", wrong());
}
