//! The network between clients and the application, as a time: a client gets an answer, and asks
//! again, one round trip after the engine has answered.

use std::time::Duration;

use crate::Declared;

const LONGEST: Duration = Duration::from_secs(10);

/// The factor of the round trip.
pub static RTT: Declared = Declared {
    name: "rtt",
    summary: "time of a round trip between those who ask and the server, kept by the clients: an answer counts as \
              received so much after it came; where a web server answers on a new connection, after twice that",
    syntax: "0, or a time up to 10s, as 500us, 1ms or 32ms",
    default: "0",
    canonical: &|text| match parse(text) {
        Some(time) => Ok(format_time(time)),
        None => Err(format!("`{text}` is no time of a round trip\nvalid: {}", RTT.syntax)),
    },
};

/// The time of a level.
pub fn parse(text: &str) -> Option<Duration> {
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let each: u64 = match unit {
        "us" | "µs" => 1,
        "ms" => 1_000,
        "s" => 1_000_000,
        _ => return None,
    };
    let microseconds = number.parse::<u64>().ok()?.checked_mul(each)?;
    Some(Duration::from_micros(microseconds)).filter(|time| *time <= LONGEST)
}

fn format_time(time: Duration) -> String {
    let microseconds = time.as_micros();
    match microseconds {
        0 => "0".to_owned(),
        _ if microseconds.is_multiple_of(1_000_000) => format!("{}s", microseconds / 1_000_000),
        _ if microseconds.is_multiple_of(1_000) => format!("{}ms", microseconds / 1_000),
        _ => format!("{microseconds}us"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_one_form() {
        for (text, form) in [
            ("0", "0"),
            ("0ms", "0"),
            ("1ms", "1ms"),
            ("1000us", "1ms"),
            ("1500µs", "1500us"),
            ("32ms", "32ms"),
            ("2000ms", "2s"),
            ("10s", "10s"),
        ] {
            assert_eq!((RTT.canonical)(text).as_deref(), Ok(form), "{text}");
            assert_eq!((RTT.canonical)(form).as_deref(), Ok(form), "{form} once more");
        }
    }

    #[test]
    fn what_is_no_time_is_refused_with_what_is_valid() {
        let huge = format!("{}s", u64::MAX);
        for text in ["", "32", "ms", "-1ms", "1.5ms", "1 ms", "1m", "11s", "1MS", huge.as_str()] {
            let error = (RTT.canonical)(text).unwrap_err();
            assert!(error.contains("no time of a round trip\nvalid: 0, or"), "{text}: {error}");
        }
    }
}
