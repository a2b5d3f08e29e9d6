//! The place where two answers first differ, however long they are.

/// Characters of a value that are told before and from the first one that differs.
const BEFORE: usize = 20;
const BEHIND: usize = 40;

/// What two answers have where they first differ, each in words. Rows hold values as text; `None` if
/// there is no difference.
pub fn describe_difference(one: &[Vec<String>], other: &[Vec<String>]) -> Option<[String; 2]> {
    let most = one.len().max(other.len());
    let row = (0..most).find(|row| one.get(*row) != other.get(*row))?;
    let number = row + 1;
    let (Some(left), Some(right)) = (one.get(row), other.get(row)) else {
        let tell = |rows: &[Vec<String>]| match rows.get(row) {
            Some(cells) => {
                let cells: Vec<String> = cells.iter().map(|it| shorten_around(it, 0)).collect();
                format!("in row {number} ({})", cells.join(", "))
            }
            None => format!("no row {number}"),
        };
        return Some([tell(one), tell(other)]);
    };
    let column = (0..left.len().max(right.len())).find(|it| left.get(*it) != right.get(*it))?;
    let cells = [left, right].map(|cells| cells.get(column).map_or("nothing", String::as_str));
    let same = cells[0].chars().zip(cells[1].chars()).take_while(|(one, other)| one == other);
    let at = same.count();
    // Rows may be sorted, so that their numbers say little.
    let begins = match column {
        0 => String::new(),
        _ => format!(", which begins with {},", shorten_around(&left[0], 0)),
    };
    let place = format!("in row {number}{begins} column {}", column + 1);
    Some(cells.map(|cell| format!("{place} is {}", shorten_around(cell, at))))
}

/// A value around one of its characters.
fn shorten_around(value: &str, at: usize) -> String {
    let from = at.saturating_sub(BEFORE);
    let shown: String = value.chars().skip(from).take(at - from + BEHIND).collect();
    let before = if from > 0 { "…" } else { "" };
    let behind = if value.chars().count() > at + BEHIND { "…" } else { "" };
    format!("{before}{}{behind}", shown.replace('\n', " "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_cell_that_differs_is_told_around_its_difference() {
        let long = |end: &str| format!("\"{}{end}{}\"", "a".repeat(200), "z".repeat(100));
        let rows = |cells: &[&[&str]]| -> Vec<Vec<String>> {
            cells.iter().map(|row| row.iter().map(|it| (*it).to_owned()).collect()).collect()
        };
        let one = rows(&[&["1", "x"], &["2", &long("é")]]);
        let other = rows(&[&["1", "x"], &["2", &long("b")]]);
        let (a, z) = ("a".repeat(20), "z".repeat(39));
        assert_eq!(
            describe_difference(&one, &other).unwrap(),
            ["é", "b"].map(|it| format!("in row 2, which begins with 2, column 2 is …{a}{it}{z}…"))
        );
        let told = describe_difference(&one[..1], &one).unwrap();
        assert_eq!(told[0], "no row 2");
        assert!(told[1].starts_with("in row 2 (2, \"aaaa") && told[1].ends_with("…)"), "{told:?}");
        assert_eq!(describe_difference(&one, &one), None);
    }
}
