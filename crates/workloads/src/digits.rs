//! Makes sysbench's texts: groups of eleven random digits, with a dash between two groups.

use rand::RngExt;

use crate::WorkloadRandom;

const GROUP: usize = 11;
/// Groups of a `c`, which is 119 characters long, and of a `pad`, which is 59.
pub const OF_C: usize = 10;
pub const OF_PAD: usize = 5;

/// Replaces `text` by groups of random digits.
pub fn write_digits(random: &mut WorkloadRandom, groups: usize, text: &mut String) {
    text.clear();
    for group in 0..groups {
        if group > 0 {
            text.push('-');
        }
        let mut dice: u64 = random.random_range(0..10u64.pow(GROUP as u32));
        for _ in 0..GROUP {
            text.push(char::from(b'0' + (dice % 10) as u8));
            dice /= 10;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed_stream;

    #[test]
    fn a_text_has_the_length_that_sysbench_gives_it_and_every_digit_as_often() {
        let (mut random, mut text) = (seed_stream(1, 0), "before".to_owned());
        let mut times = [0; 10];
        for _ in 0..1_000 {
            write_digits(&mut random, OF_C, &mut text);
            assert_eq!(text.len(), 119);
            assert!(text.split('-').all(|group| group.len() == GROUP));
            for digit in text.bytes().filter(u8::is_ascii_digit) {
                times[usize::from(digit - b'0')] += 1;
            }
        }
        write_digits(&mut random, OF_PAD, &mut text);
        assert_eq!(text.len(), 59);
        assert!(times.iter().all(|times| (10_500..11_500).contains(times)), "{times:?}");
    }
}
