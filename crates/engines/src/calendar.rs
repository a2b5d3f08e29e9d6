//! Dates and times of day as the texts in which they travel, by the proleptic Gregorian calendar.

/// Characters of a date, and of a time stamp.
const DATE: usize = "YYYY-MM-DD".len();
const TIMESTAMP: usize = "YYYY-MM-DD HH:MM:SS.ffffff".len();

const MICROS_OF_DAY: i64 = 86_400_000_000;

/// Days from 1970-01-01 to 2000-01-01, with which PostgreSQL's time begins.
pub(crate) const DAYS_TO_2000: i64 = 10_957;

/// Days since 1970 of a date of the years 1 to 9999; `None` for any other text.
pub fn parse_date(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    if bytes.len() != DATE || bytes[4] != b'-' || bytes[7] != b'-' {
        return None;
    }
    let (year, month, day) =
        (parse_digits(&bytes[..4])?, parse_digits(&bytes[5..7])?, parse_digits(&bytes[8..])?);
    let exists = year >= 1 && (1..=12).contains(&month) && day >= 1;
    (exists && day <= days_of_month(year, month)).then(|| count_days(year, month, day))
}

/// Microseconds since 1970 of a time stamp of the years 1 to 9999; `None` for any other text.
pub fn parse_timestamp(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    let marks = [(10, b' '), (13, b':'), (16, b':'), (19, b'.')];
    if bytes.len() != TIMESTAMP || marks.iter().any(|(at, mark)| bytes[*at] != *mark) {
        return None;
    }
    let days = parse_date(text.get(..DATE)?)?;
    let part = |from: usize, to: usize, below: i64| {
        parse_digits(&bytes[from..to]).filter(|number| *number < below)
    };
    let seconds = 3600 * part(11, 13, 24)? + 60 * part(14, 16, 60)? + part(17, 19, 60)?;
    Some(days * MICROS_OF_DAY + 1_000_000 * seconds + part(20, 26, 1_000_000)?)
}

fn parse_digits(bytes: &[u8]) -> Option<i64> {
    bytes.iter().try_fold(0, |number, byte| {
        byte.is_ascii_digit().then(|| 10 * number + i64::from(byte - b'0'))
    })
}

fn days_of_month(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// By years that begin in March: then the day that may be missing is the last.
fn count_days(year: i64, month: i64, day: i64) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + day_of_year - 719_468
}

/// The reverse of `count_days`.
fn find_date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let day_of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let (year, month) = if month < 10 { (year, month + 3) } else { (year + 1, month - 9) };
    (era * 400 + year, month, day)
}

/// A text that needs no memory of its own.
#[derive(Clone, Copy, Debug)]
pub struct TimeText {
    bytes: [u8; TIMESTAMP],
    length: usize,
}

impl TimeText {
    /// The date so many days after 1970-01-01; `None` outside of the years 1 to 9999.
    pub fn from_days(days: i64) -> Option<Self> {
        let mut text = Self { bytes: *b"YYYY-MM-DD HH:MM:SS.ffffff", length: DATE };
        text.put_date(days)?;
        Some(text)
    }

    /// The time stamp so many microseconds after 1970-01-01; `None` outside of the years 1 to 9999.
    pub fn from_micros(micros: i64) -> Option<Self> {
        let mut text = Self::from_days(micros.div_euclid(MICROS_OF_DAY))?;
        let of_day = micros.rem_euclid(MICROS_OF_DAY);
        let seconds = of_day / 1_000_000;
        text.put_digits(11, 2, seconds / 3600);
        text.put_digits(14, 2, seconds / 60 % 60);
        text.put_digits(17, 2, seconds % 60);
        text.put_digits(20, 6, of_day % 1_000_000);
        text.length = TIMESTAMP;
        Some(text)
    }

    /// From the parts that MySQL's protocol has; a day that doesn't exist is written as it is.
    pub(crate) fn from_parts(date: (u16, u8, u8), time: Option<(u8, u8, u8, u32)>) -> Self {
        let mut text = Self { bytes: *b"YYYY-MM-DD HH:MM:SS.ffffff", length: DATE };
        let (year, month, day) = date;
        text.put_digits(0, 4, year.into());
        text.put_digits(5, 2, month.into());
        text.put_digits(8, 2, day.into());
        if let Some((hour, minute, second, micros)) = time {
            text.put_digits(11, 2, hour.into());
            text.put_digits(14, 2, minute.into());
            text.put_digits(17, 2, second.into());
            text.put_digits(20, 6, micros.into());
            text.length = TIMESTAMP;
        }
        text
    }

    /// From the text of a server, which may leave out the time or the end of its fraction; `None` if
    /// it is too short or too long.
    pub(crate) fn from_text(text: &str) -> Option<Self> {
        let mut bytes = *b"YYYY-MM-DD 00:00:00.000000";
        let length = if text.len() == DATE { DATE } else { TIMESTAMP };
        if !text.is_ascii() || !(DATE..=TIMESTAMP).contains(&text.len()) {
            return None;
        }
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        Some(Self { bytes, length })
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.length]).expect("digits and marks")
    }

    fn put_date(&mut self, days: i64) -> Option<()> {
        let (year, month, day) = find_date(days);
        if !(1..=9999).contains(&year) {
            return None;
        }
        self.put_digits(0, 4, year);
        self.put_digits(5, 2, month);
        self.put_digits(8, 2, day);
        Some(())
    }

    fn put_digits(&mut self, at: usize, count: usize, mut number: i64) {
        for digit in self.bytes[at..at + count].iter_mut().rev() {
            *digit = b'0' + (number % 10) as u8;
            number /= 10;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_has_its_own_text() {
        let first = parse_date("0001-01-01").expect("the first day");
        let last = parse_date("9999-12-31").expect("the last day");
        assert_eq!(last - first, 3_652_058);
        for days in first..=last {
            let text = TimeText::from_days(days).expect("a date");
            assert_eq!(parse_date(text.as_str()), Some(days), "{text:?}");
        }
        for outside in [first - 1, last + 1, i64::from(i32::MIN), i64::from(i32::MAX)] {
            assert!(TimeText::from_days(outside).is_none(), "{outside}");
        }
        assert_eq!(parse_date("1970-01-01"), Some(0));
        assert_eq!(parse_date("2000-01-01"), Some(DAYS_TO_2000));
    }

    #[test]
    fn a_time_stamp_is_read_and_written_to_the_microsecond() {
        for (text, micros) in [
            ("1970-01-01 00:00:00.000000", 0),
            ("1969-12-31 23:59:59.999999", -1),
            ("2000-02-29 12:34:56.000789", 951_827_696_000_789),
            ("0001-01-01 00:00:00.000000", -62_135_596_800_000_000),
            ("9999-12-31 23:59:59.999999", 253_402_300_799_999_999),
        ] {
            assert_eq!(parse_timestamp(text), Some(micros), "{text}");
            assert_eq!(TimeText::from_micros(micros).expect("a time").as_str(), text);
        }
        assert!(TimeText::from_micros(i64::MAX).is_none());
        let parts = TimeText::from_parts((2024, 3, 9), Some((1, 2, 3, 45)));
        assert_eq!(parts.as_str(), "2024-03-09 01:02:03.000045");
        assert_eq!(TimeText::from_parts((2024, 3, 9), None).as_str(), "2024-03-09");
    }

    #[test]
    fn what_is_no_date_or_time_is_refused() {
        for text in [
            "",
            "2023-02-29",
            "1900-02-29",
            "2024-13-01",
            "2024-00-01",
            "2024-01-32",
            "2024-04-31",
            "2024-01-00",
            "0000-01-01",
            "2024-1-01",
            "2024-01-1",
            "2024/01/01",
            "+024-01-01",
            "2024-01-01 ",
            "二月-01",
            "10000-01-01",
        ] {
            assert_eq!(parse_date(text), None, "{text}");
        }
        for text in [
            "2024-01-01",
            "2024-01-01 00:00:00",
            "2024-01-01T00:00:00.000000",
            "2024-01-01 24:00:00.000000",
            "2024-01-01 00:60:00.000000",
            "2024-01-01 00:00:60.000000",
            "2024-01-01 00:00:00,000000",
            "2023-02-29 00:00:00.000000",
            "2024-01-01 00:00:00.00000x",
            "2024-01-0日00:00:00.000000",
        ] {
            assert_eq!(parse_timestamp(text), None, "{text}");
        }
    }
}
