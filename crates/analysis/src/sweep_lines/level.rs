/// Two levels show a difference, but no line.
const FEWEST: usize = 3;

#[derive(Clone, Debug, PartialEq)]
enum LevelUnit<'a> {
    /// Things, shares of one of them (`25%`), or multiples of it (`x2`).
    Count,
    Bytes,
    /// With the name of the arrival process.
    PerSecond(&'a str),
}

/// The numbers of a factor's levels, in their order: numbers (`4`), sizes (`512M`), shares (`33%`),
/// rates (`100/s`) or multiples (`x2`). `None` where a level is a word, where units differ, where
/// two numbers are equal, and where there are fewer than three.
pub(super) fn parse_numbers(levels: &[String]) -> Option<Vec<f64>> {
    let read: Vec<(f64, LevelUnit)> =
        levels.iter().map(|level| parse_level(level)).collect::<Option<_>>()?;
    // Zero fits every unit.
    let mut units = read.iter().filter(|(value, _)| *value > 0.0).map(|(_, unit)| unit);
    let first = units.next()?;
    let values: Vec<f64> = read.iter().map(|(value, _)| *value).collect();
    let mut sorted = values.clone();
    sorted.sort_by(f64::total_cmp);
    let distinct = sorted.windows(2).all(|pair| pair[0] < pair[1]);
    (units.all(|unit| unit == first) && distinct && levels.len() >= FEWEST).then_some(values)
}

fn parse_level(level: &str) -> Option<(f64, LevelUnit<'_>)> {
    let level = level.trim();
    if let Some(share) = level.strip_suffix('%') {
        return Some((parse_number(share)? / 100.0, LevelUnit::Count));
    }
    if let Some(rate) = level.strip_suffix("/s") {
        let (arrivals, rate) = rate.split_once(':').unwrap_or(("", rate));
        return Some((parse_number(rate)?, LevelUnit::PerSecond(arrivals)));
    }
    if let Some(multiple) = level.strip_prefix('x').or_else(|| level.strip_suffix('x')) {
        return Some((parse_number(multiple)?, LevelUnit::Count));
    }
    if let Some(value) = parse_number(level) {
        return Some((value, LevelUnit::Count));
    }
    parse_size(level).map(|bytes| (bytes, LevelUnit::Bytes))
}

fn parse_number(text: &str) -> Option<f64> {
    let text = text.trim();
    let plain = text.starts_with(|c: char| c.is_ascii_digit())
        && text.chars().all(|c| c.is_ascii_digit() || c == '.');
    plain.then(|| text.parse().ok()).flatten().filter(|value: &f64| value.is_finite())
}

/// Bytes: `16k`, `512M`, `512MB`, `2GiB`. A k is 1024, as in levels.
fn parse_size(text: &str) -> Option<f64> {
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
    Some(parse_number(count)? * 1024_f64.powi(power))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers_of(levels: &[&str]) -> Option<Vec<f64>> {
        parse_numbers(&levels.iter().map(|level| (*level).to_owned()).collect::<Vec<_>>())
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
