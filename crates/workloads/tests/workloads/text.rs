//! What text is like, and which files can't serve as text.

use std::io::Write;

use bakeoff_engines::Value;
use bakeoff_workloads::text::SHORTEST_FILE;
use bakeoff_workloads::{TextError, TextSource};
use flate2::Compression;
use flate2::write::GzEncoder;
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;

use crate::{prepare, text};

/// How many times smaller `gzip -6` makes it.
fn gzip_ratio(bytes: &[u8]) -> f64 {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(6));
    encoder.write_all(bytes).unwrap();
    bytes.len() as f64 / encoder.finish().unwrap().len() as f64
}

#[test]
fn text_compresses_like_english() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let text = text();
    let stream = text.cut(&mut random, 1 << 20);
    assert!(stream.len() > 1_000_000);
    let ratio = gzip_ratio(stream.as_bytes());
    println!("a stream of 1 MB: {ratio:.2}");
    assert!((2.2..=3.2).contains(&ratio), "{ratio}");
}

#[test]
fn the_texts_that_tables_store_compress_like_english() {
    let redmine = prepare("redmine", "small");
    for table in ["issues", "journals"] {
        let mut texts = String::new();
        redmine
            .rows(redmine.schema().table_number(table), &mut |row| {
                let all = row.iter().filter_map(|value| match value {
                    Value::Text(text) => Some(*text),
                    _ => None,
                });
                texts.extend(all);
                Ok(())
            })
            .unwrap();
        let ratio = gzip_ratio(texts.as_bytes());
        println!("texts of {table}, {} bytes: {ratio:.2}", texts.len());
        assert!((2.2..=3.2).contains(&ratio), "{table}: {ratio}");
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
fn words_are_cut_where_the_text_has_blanks() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("text");
    let words: Vec<String> = (0..30_000).map(|number| format!("<{number}>")).collect();
    std::fs::write(&path, words.join(" ")).unwrap();
    let text = TextSource::from_file(&path).unwrap();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
    for _ in 0..1000 {
        let cut = text.cut(&mut random, 50);
        assert!(cut.starts_with('<') && cut.ends_with('>'), "{cut:?}");
    }
}

#[test]
fn text_without_blanks_is_cut_between_characters() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("text");
    std::fs::write(&path, "本のない家は窓のない家のようだ。".repeat(3000)).unwrap();
    let text = TextSource::from_file(&path).unwrap();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
    for _ in 0..1000 {
        let cut = text.cut(&mut random, 100);
        assert!((90..=100).contains(&cut.len()), "{cut:?}");
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
