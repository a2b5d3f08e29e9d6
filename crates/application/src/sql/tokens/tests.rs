use proptest::prelude::*;

use super::*;

fn read_kinds(text: &str) -> Vec<(TokenKind, &str)> {
    let tokens = split_tokens(text).into_iter().filter(|token| token.kind != TokenKind::Space);
    tokens.map(|token| (token.kind, &text[token.span])).collect()
}

fn find_parameters(text: &str) -> Vec<&str> {
    let parameter = |(kind, text)| {
        matches!(kind, TokenKind::Parameter | TokenKind::ParameterList).then_some(text)
    };
    read_kinds(text).into_iter().filter_map(parameter).collect()
}

/// pgbench takes some of them for parameters.
#[test]
fn no_parameter_stands_in_quotes_comments_or_casts() {
    for text in [
        "'12:30:x:foo'",
        "a::int",
        "-- :no",
        "/* :no */",
        "/* /* */ :no */",
        "\"co:l\"",
        "`co:l`",
        "$$:x$$",
        "$t$ $$ :x $t$",
        "E'\\':x'",
        "'it''s :x'",
        "a[1:2]",
        "x := 5",
        "'open :x",
        "a: b",
    ] {
        assert_eq!(find_parameters(text), Vec::<&str>::new(), "{text}");
    }
}

#[test]
fn a_parameter_ends_where_its_name_does() {
    for (text, found) in [
        ("a=:b", vec![":b"]),
        (":é_1+:x::int", vec![":é_1", ":x"]),
        ("(:a,:a)", vec![":a", ":a"]),
        ("IN (:ids[8])", vec![":ids[8]"]),
        (":a[b]", vec![":a"]),
        ("'a':b", vec![":b"]),
        ("$1:x", vec![":x"]),
        ("'\\':y", vec![":y"]),
    ] {
        assert_eq!(find_parameters(text), found, "{text}");
    }
}

#[test]
fn each_token_is_told_by_its_kind() {
    use TokenKind::*;
    for (text, kind) in [
        ("a$1", Word),
        ("\"a\"\"b\"", QuotedName),
        ("`x`", QuotedName),
        ("N'x'", Text),
        ("$tag$ $x$ $tag$", Text),
        ("1.5e-3", Number),
        (".5", Number),
        ("0x1F", Number),
        ("->>", Operator),
        ("::", Operator),
        ("$", Operator),
        ("é", Word),
        ("€", Operator),
        ("/* a", Unclosed),
        ("'a", Unclosed),
        ("$$a$", Unclosed),
        ("e'a\\'", Unclosed),
        ("/* /* */", Unclosed),
        (";", Semicolon),
        ("-- a; b", Comment),
    ] {
        assert_eq!(read_kinds(text), vec![(kind, text)]);
    }
    let kinds: Vec<_> = read_kinds("1e t.a 1..2").into_iter().map(|(_, text)| text).collect();
    assert_eq!(kinds, ["1", "e", "t", ".", "a", "1.", ".2"]);
}

#[test]
fn texts_and_names_are_read() {
    for (token, text) in [
        ("'it''s'", Some("it's")),
        ("E'a\\'b\\n'''", Some("a'b\n'")),
        ("$x$a'b$x$", Some("a'b")),
        ("N'é'", Some("é")),
        ("X'00'", None),
        ("", None),
        ("'", None),
        ("$", None),
    ] {
        assert_eq!(decode_text(token).as_deref(), text, "{token}");
    }
    assert_eq!(decode_name("\"a\"\"b\""), "a\"b");
    assert_eq!(decode_name("`x`"), "x");
    assert_eq!(decode_name("\""), "");
}

proptest! {
    #[test]
    fn tokens_cover_every_text(text in "([:'\"$`;/*\\-a-e0-9é\\\\ \\n.\\[\\]=EX]|\\PC){0,40}") {
        let tokens = split_tokens(&text);
        let mut end = 0;
        for token in &tokens {
            prop_assert!(token.span.start == end && token.span.end > end);
            end = token.span.end;
            decode_text(&text[token.span.clone()]);
            if token.kind == TokenKind::QuotedName {
                decode_name(&text[token.span.clone()]);
            }
        }
        prop_assert_eq!(end, text.len());
    }
}
