/// The upper end of the 95 % interval of a share if none was seen: 1 − 0.05^(1 / tries).
///
/// Source: Hanley & Lippman-Hand, "If nothing goes wrong, is everything all right?" (JAMA 1983).
pub fn most_of_none(tries: u64) -> f64 {
    if tries == 0 { 1.0 } else { 1.0 - 0.05_f64.powf(1.0 / tries as f64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_about_three_over_the_number_of_tries() {
        assert_eq!(most_of_none(0), 1.0);
        assert!((most_of_none(1) - 0.95).abs() < 1e-12);
        assert!((most_of_none(15) - 0.181).abs() < 0.0005);
        assert!((most_of_none(300) - 0.00994).abs() < 0.0001);
    }
}
