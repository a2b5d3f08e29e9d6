//! Whether everybody can read the page: the contrast of its text and marks by WCAG 2.1, level AA, worked
//! out from the stylesheet itself, in light, in dark and on paper.
//!
//! Source: Web Content Accessibility Guidelines 2.1, success criteria 1.4.3 (text: 4.5 to 1) and 1.4.11
//! (graphical objects: 3 to 1), and its definitions of contrast ratio and relative luminance,
//! <https://www.w3.org/TR/WCAG21/#dfn-contrast-ratio>.

use std::collections::BTreeMap;

const STYLE: &str = include_str!("../../templates/report.css");
const TEXT: f64 = 4.5;
const MARKS: f64 = 3.0;

/// Text that takes its colour from one rule and its background from another one.
const WITHIN: [(&str, &str); 9] = [
    // The badge of an answer of low confidence.
    ("ink", "open-paper"),
    ("bad", "open-paper"),
    // Commands.
    ("ink", "faint"),
    // A map's cells.
    ("ink", "q0"),
    ("ink", "q1"),
    ("ink", "q2"),
    ("ink", "q3"),
    ("ink", "q4"),
    ("link", "faint"),
];

/// What stands behind the marks that say the same: a reader who doesn't see it misses no figure.
const BEHIND: [&str; 2] = ["svg .range", "svg .course.pale"];

/// A colour: red, green and blue from 0 to 1.
type Colour = [f64; 3];

/// The colours of a theme, by the names of their variables.
type Theme = BTreeMap<String, Colour>;

struct Rule {
    /// What it is within: a medium, or nothing.
    within: String,
    selector: String,
    said: BTreeMap<String, String>,
}

impl Rule {
    fn number(&self, property: &str) -> f64 {
        self.said.get(property).map_or(1.0, |value| value.parse().expect("a number"))
    }

    /// The name of the variable that a property is set to.
    fn variable(&self, property: &str) -> Option<&str> {
        self.said.get(property)?.strip_prefix("var(--")?.strip_suffix(')')
    }
}

/// The rules of a stylesheet, those within a medium among them.
fn rules(style: &str) -> Vec<Rule> {
    let mut text = String::new();
    for (number, part) in style.split("/*").enumerate() {
        let shown = if number == 0 { Some(part) } else { part.split_once("*/").map(|it| it.1) };
        text += shown.expect("a comment ends");
    }
    let (mut rules, mut open, mut read) = (Vec::new(), Vec::<String>::new(), String::new());
    for sign in text.chars() {
        match sign {
            '{' => open.push(std::mem::take(&mut read).trim().to_owned()),
            '}' => {
                let selector = open.pop().expect("what is closed was opened");
                let said = std::mem::take(&mut read);
                let said = said.split(';').filter_map(|it| it.split_once(':'));
                let said: BTreeMap<String, String> = said
                    .map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()))
                    .collect();
                rules.push(Rule { within: open.join(" "), selector, said });
            }
            other => read.push(other),
        }
    }
    assert!(open.is_empty() && rules.len() > 100, "{} rules", rules.len());
    rules
}

/// `#fff` or `#16191d`.
fn colour(value: &str) -> Option<Colour> {
    let digits: Vec<u32> =
        value.strip_prefix('#')?.chars().map_while(|it| it.to_digit(16)).collect();
    let part = |at: usize| match digits.len() {
        3 => f64::from(digits[at] * 17) / 255.0,
        6 => f64::from(digits[2 * at] * 16 + digits[2 * at + 1]) / 255.0,
        other => panic!("{value} has {other} digits"),
    };
    Some([part(0), part(1), part(2)])
}

/// The colours of each theme: what dark and paper don't set is as in light.
fn themes(rules: &[Rule]) -> Vec<(&'static str, Theme)> {
    let of = |within: &str| -> Theme {
        let roots = rules.iter().filter(|it| it.selector == ":root");
        let here = roots.filter(|it| match within {
            "" => it.within.is_empty(),
            within => it.within.contains(within),
        });
        let variables = here.flat_map(|it| &it.said);
        let set = |(name, value): (&String, &String)| {
            Some((name.strip_prefix("--")?.to_owned(), colour(value)?))
        };
        variables.filter_map(set).collect()
    };
    let light = of("");
    let over = |own: Theme| -> Theme { light.clone().into_iter().chain(own).collect() };
    let (dark, print) = (of("prefers-color-scheme: dark"), of("@media print"));
    assert!(light.len() > 20 && dark.len() > 20 && print.len() > 3, "the themes were found");
    vec![("light", light.clone()), ("dark", over(dark)), ("print", over(print))]
}

fn luminance(colour: Colour) -> f64 {
    let linear = |part: f64| match part <= 0.03928 {
        true => part / 12.92,
        false => ((part + 0.055) / 1.055).powf(2.4),
    };
    let [red, green, blue] = colour.map(linear);
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

fn contrast(one: Colour, other: Colour) -> f64 {
    let [one, other] = [luminance(one), luminance(other)];
    (one.max(other) + 0.05) / (one.min(other) + 0.05)
}

/// A colour that lets so much of the background through.
fn over(colour: Colour, background: Colour, opacity: f64) -> Colour {
    std::array::from_fn(|at| colour[at] * opacity + background[at] * (1.0 - opacity))
}

/// What is below what it should be, in words.
fn short(theme: &str, what: &str, found: f64, least: f64) -> Option<String> {
    (found < least).then(|| format!("{theme}: {what}: {found:.2}, and not {least}\n"))
}

#[test]
fn the_formula_is_that_of_the_guidelines() {
    let of = |one: &str, other: &str| contrast(colour(one).unwrap(), colour(other).unwrap());
    assert!((of("#000", "#fff") - 21.0).abs() < 1e-9);
    assert!((of("#123456", "#123456") - 1.0).abs() < 1e-9);
    // The lightest grey that passes on white, and the next one.
    assert!(of("#767676", "#ffffff") >= TEXT && of("#777777", "#ffffff") < TEXT);
}

#[test]
fn every_colour_is_one_of_a_theme() {
    for rule in rules(STYLE).iter().filter(|rule| rule.selector != ":root") {
        for (property, value) in &rule.said {
            assert!(!value.contains('#'), "{} {{ {property}: {value} }}", rule.selector);
        }
    }
}

#[test]
fn text_stands_out_from_what_it_stands_on() {
    let rules = rules(STYLE);
    let mut pairs: Vec<(String, String)> =
        WITHIN.iter().map(|(text, on)| ((*text).to_owned(), (*on).to_owned())).collect();
    for rule in &rules {
        let on = rule.variable("background").unwrap_or("paper");
        match rule.variable("color") {
            // Dark cells have the paper's colour as their text's.
            Some("paper") => {
                let cells = rule.selector.split(", ").map(|it| it.trim_start_matches('.'));
                pairs.extend(cells.map(|cell| ("paper".to_owned(), cell.to_owned())));
            }
            Some(text) => pairs.push((text.to_owned(), on.to_owned())),
            None => {}
        }
        let is_text =
            rule.selector.split(", ").any(|it| it.starts_with("svg text") || it.contains(" text"));
        pairs.extend(
            rule.variable("fill").filter(|_| is_text).map(|it| (it.to_owned(), "paper".to_owned())),
        );
    }
    assert!(pairs.len() > 30, "{pairs:?}");
    let mut bad = String::new();
    for (theme, colours) in themes(&rules) {
        for (text, on) in &pairs {
            let found = contrast(colours[text], colours[on]);
            bad.extend(short(theme, &format!("{text} on {on}"), found, TEXT));
        }
    }
    assert!(bad.is_empty(), "{bad}");
}

/// The parts of a mark that a rule paints: each a variable and how much of it is seen.
fn painted(rule: &Rule) -> Vec<(&str, f64)> {
    let is_mark = |name: &&str| matches!(*name, "c" | "c0" | "bad" | "ink");
    let part = |property: &str| {
        let seen = rule.number("opacity") * rule.number(&format!("{property}-opacity"));
        rule.variable(property).filter(is_mark).map(|name| (name, seen))
    };
    let parts: Vec<(&str, f64)> = ["fill", "stroke"].into_iter().filter_map(part).collect();
    let dimmed =
        ["opacity", "fill-opacity", "stroke-opacity"].iter().any(|it| rule.said.contains_key(*it));
    let own = ["fill", "stroke"].iter().any(|it| rule.said.contains_key(*it));
    if rule.selector == "svg .aside" {
        // What is set aside is crossed in ink.
        return vec![("ink", rule.number("opacity"))];
    }
    // A rule that only makes marks paler, whatever their colour.
    if dimmed && !own && rule.selector.starts_with("svg ") {
        let seen = |it| rule.number(it);
        return vec![("c", seen("opacity") * seen("fill-opacity").min(seen("stroke-opacity")))];
    }
    parts
}

/// Each mark has a part, its inside or its outline, that stands out from the page.
#[test]
fn marks_stand_out_from_the_page() {
    let rules = rules(STYLE);
    let marks: Vec<(&Rule, Vec<(&str, f64)>)> = rules
        .iter()
        .filter(|rule| !BEHIND.contains(&rule.selector.as_str()))
        .map(|rule| (rule, painted(rule)))
        .filter(|(_, parts)| !parts.is_empty())
        .collect();
    assert!(marks.len() > 15, "{} kinds of marks", marks.len());
    let mut bad = String::new();
    for (theme, colours) in themes(&rules) {
        let paper = colours["paper"];
        let series = colours.keys().filter(|name| name.len() == 2 && name.starts_with('c'));
        assert_eq!(series.clone().count(), 8, "colours of series");
        for own in series {
            for (rule, parts) in &marks {
                let seen = parts.iter().map(|(name, opacity)| {
                    let name = if *name == "c" { own.as_str() } else { *name };
                    contrast(over(colours[name], paper, *opacity), paper)
                });
                let best = seen.fold(0.0, f64::max);
                bad.extend(short(theme, &format!("{} {own}", rule.selector), best, MARKS));
            }
        }
    }
    assert!(bad.is_empty(), "{bad}");
}
