//! What text is like, and which files can't serve as text.

use std::io::Write;

use bakeoff_engines::Value;
use bakeoff_workloads::text::SHORTEST_FILE;
use bakeoff_workloads::{TextError, TextSource};
use flate2::Compression;
use flate2::write::GzEncoder;
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;

use crate::{each_row, prepare, text};

/// How many times smaller `gzip -6` makes it.
fn gzip_ratio(bytes: &[u8]) -> f64 {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(6));
    encoder.write_all(bytes).unwrap();
    bytes.len() as f64 / encoder.finish().unwrap().len() as f64
}

#[test]
fn a_stream_and_what_tables_store_compress_like_english() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let stream = text().cut(&mut random, 1 << 20).to_owned();
    assert!(stream.len() > 1_000_000);
    let redmine = prepare("redmine", "small");
    let of_table = |table| {
        let mut texts = String::new();
        each_row(&*redmine, redmine.schema().table_number(table), |row| {
            texts.extend(row.iter().filter_map(|value| match value {
                Value::Text(text) => Some(*text),
                _ => None,
            }));
        });
        texts
    };
    for (name, texts) in
        [("a stream", stream), ("issues", of_table("issues")), ("journals", of_table("journals"))]
    {
        let ratio = gzip_ratio(texts.as_bytes());
        println!("{name}, {} bytes: {ratio:.2}", texts.len());
        assert!((2.2..=3.2).contains(&ratio), "{name}: {ratio}");
    }
}

#[test]
fn cuts_are_whole_words_and_never_too_long() {
    let text = text();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
    for longest in [10, 20, 80, 255, 2000].into_iter().cycle().take(2000) {
        let cut = text.cut(&mut random, longest);
        assert!(cut.len() <= longest && cut.len() + 20 > longest, "{longest}: {cut:?}");
        assert_eq!(cut.trim(), cut);
        let line = text.cut_line(&mut random, longest);
        assert!((1..=longest).contains(&line.len()) && !line.contains('\n'), "{longest}: {line:?}");
    }
}

#[test]
fn a_file_is_cut_at_its_blanks_or_between_characters() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("text");
    let words: Vec<String> = (0..30_000).map(|number| format!("<{number}>")).collect();
    for (content, longest) in
        [(words.join(" "), 50), ("本のない家は窓のない家のようだ。".repeat(3000), 100)]
    {
        std::fs::write(&path, &content).unwrap();
        let text = TextSource::from_file(&path).unwrap();
        let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
        for _ in 0..1000 {
            let cut = text.cut(&mut random, longest);
            assert!((longest - 12..=longest).contains(&cut.len()), "{cut:?}");
            let whole = cut.starts_with('<') && cut.ends_with('>');
            assert!(whole || !content.starts_with('<'), "{cut:?}");
        }
    }
}

#[test]
fn files_that_cannot_serve_are_refused_with_what_to_do() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("text");
    let refused = |content: &[u8]| {
        std::fs::write(&path, content).unwrap();
        TextSource::from_file(&path).unwrap_err()
    };
    assert!(matches!(refused(b""), TextError::Empty(_)));
    assert!(matches!(refused(b" \n\t \n"), TextError::Empty(_)));
    let packed = refused(b"\x1f\x8b\x08\0").to_string();
    assert!(packed.ends_with("is gzip data; unpack it: `gzip -d`"), "{packed}");
    let mut latin = "na\u{ef}ve ".repeat(20_000).into_bytes();
    latin[9000] = 0xef;
    assert!(matches!(refused(&latin), TextError::NotUtf8 { at: 9000, .. }));
    let short = "word ".repeat(SHORTEST_FILE / 5 - 1);
    let error = refused(short.as_bytes());
    assert!(matches!(error, TextError::TooShort { bytes, .. } if bytes == short.len() - 1));
    assert!(error.to_string().contains("100000"), "{error}");
    let missing = TextSource::from_file(&directory.path().join("missing")).unwrap_err();
    assert!(matches!(missing, TextError::Unreadable { .. }));
    let folder = TextSource::from_file(directory.path()).unwrap_err();
    assert!(matches!(folder, TextError::Unreadable { .. }));
}

#[test]
fn a_report_can_say_where_text_came_from() {
    assert_eq!(text().describe(), "generated, seed 1");
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("book.txt");
    std::fs::write(&path, "a book ".repeat(20_000)).unwrap();
    let described = TextSource::from_file(&path).unwrap().describe();
    assert!(described.contains("book.txt (139999 bytes, fingerprint "), "{described}");
    std::fs::write(&path, "a bool ".repeat(20_000)).unwrap();
    let other = TextSource::from_file(&path).unwrap().describe();
    assert_ne!(other, described, "another text of the same length");
}
