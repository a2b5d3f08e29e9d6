//! Levels that are numbers.

/// The fewest levels of a numeric factor: between two there is a difference and no line.
const FEWEST: usize = 3;

/// What a number counts.
#[derive(Clone, Debug, PartialEq)]
enum LevelUnit<'a> {
    /// Things, shares of one of them (`25%`), or multiples of it (`x2`).
    Count,
    /// Bytes.
    Bytes,
    /// Things a second, which start by an arrival process of such a name.
    PerSecond(&'a str),
}

/// The numbers of a factor's levels, in their order: numbers (`4`), sizes (`512M`), shares (`33%`),
/// rates (`100/s`) or multiples (`x2`). `None` where some level is a word, where they don't count the
/// same, where two are the same number, and where there are fewer than three.
pub(super) fn numbers(levels: &[String]) -> Option<Vec<f64>> {
    let read: Vec<(f64, LevelUnit)> =
        levels.iter().map(|level| read(level)).collect::<Option<_>>()?;
    // Nothing is nothing, whatever it counts.
    let mut units = read.iter().filter(|(value, _)| *value > 0.0).map(|(_, unit)| unit);
    let first = units.next()?;
    let values: Vec<f64> = read.iter().map(|(value, _)| *value).collect();
    let mut sorted = values.clone();
    sorted.sort_by(f64::total_cmp);
    let distinct = sorted.windows(2).all(|pair| pair[0] < pair[1]);
    (units.all(|unit| unit == first) && distinct && levels.len() >= FEWEST).then_some(values)
}

/// A level's number, and what it counts.
fn read(level: &str) -> Option<(f64, LevelUnit<'_>)> {
    let level = level.trim();
    if let Some(share) = level.strip_suffix('%') {
        return Some((number(share)? / 100.0, LevelUnit::Count));
    }
    if let Some(rate) = level.strip_suffix("/s") {
        let (arrivals, rate) = rate.split_once(':').unwrap_or(("", rate));
        return Some((number(rate)?, LevelUnit::PerSecond(arrivals)));
    }
    if let Some(multiple) = level.strip_prefix('x').or_else(|| level.strip_suffix('x')) {
        return Some((number(multiple)?, LevelUnit::Count));
    }
    if let Some(value) = number(level) {
        return Some((value, LevelUnit::Count));
    }
    size(level).map(|bytes| (bytes, LevelUnit::Bytes))
}

/// A number that is not negative: digits, with a point among them or none.
fn number(text: &str) -> Option<f64> {
    let text = text.trim();
    let plain = text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_digit() || c == '.');
    plain.then(|| text.parse().ok()).flatten().filter(|value: &f64| value.is_finite())
}

/// Bytes: `16k`, `512M`, `512MB`, `2GiB`. As levels are read, a k is 1024.
fn size(text: &str) -> Option<f64> {
    let unit = text.find(|c: char| c.is_ascii_alphabetic())?;
    let (count, unit) = text.split_at(unit);
    let power = match unit.to_ascii_uppercase().as_str() {
        "B" => 0,
        "K" | "KB" | "KIB" => 1,
        "M" | "MB" | "MIB" => 2,
        "G" | "GB" | "GIB" => 3,
        "T" | "TB" | "TIB" => 4,
        _ => return None,
    };
    Some(number(count)? * 1024_f64.powi(power))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers_of(levels: &[&str]) -> Option<Vec<f64>> {
        numbers(&levels.iter().map(|level| (*level).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn numbers_sizes_shares_rates_and_multiples_are_numeric() {
        for (levels, expected) in [
            (["1", "2", "4"], [1.0, 2.0, 4.0]),
            (["0", "25%", "x4"], [0.0, 0.25, 4.0]),
            (["8%", "25 %", "33.5%"], [0.08, 0.25, 0.335]),
            (["512M", "1G", "2GiB"], [536_870_912.0, 1_073_741_824.0, 2_147_483_648.0]),
            (["4k", "16K", "1MB"], [4096.0, 16_384.0, 1_048_576.0]),
            (["100/s", "0.5/s", "1000/s"], [100.0, 0.5, 1000.0]),
            (["poisson:1/s", "poisson:2/s", "poisson:4/s"], [1.0, 2.0, 4.0]),
            (["0", "64M", "1G"], [0.0, 67_108_864.0, 1_073_741_824.0]),
        ] {
            assert_eq!(numbers_of(&levels).as_deref(), Some(&expected[..]), "{levels:?}");
        }
    }

    #[test]
    fn words_mixtures_and_two_levels_are_not() {
        for levels in [
            &["1", "2"][..],
            &["1", "2", "closed"],
            &["unlimited", "512M", "256M", "128M"],
            &["1", "512M", "4"],
            &["100/s", "poisson:200/s", "400/s"],
            &["1", "2", "2.0"],
            &["50%", "0.5", "1"],
            &["-1", "0", "1"],
            &["1e3", "1e4", "1e5"],
            &["inf", "nan", "1"],
            &["x", "2", "3"],
            &["7200rpm", "5400rpm", "10000rpm"],
            &["", "1", "2"],
            &["1.2.3", "1", "2"],
            &[],
        ] {
            assert_eq!(numbers_of(levels), None, "{levels:?}");
        }
    }
}
