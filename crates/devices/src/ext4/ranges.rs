use std::collections::BTreeMap;
use std::ops::Range;

/// A set of numbers as ranges that neither overlap nor touch.
#[derive(Debug, Default)]
pub struct RangeSet {
    ends: BTreeMap<u64, u64>,
    total: u64,
}

impl RangeSet {
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Returns how many numbers were not there.
    pub fn insert(&mut self, range: Range<u64>) -> u64 {
        let Range { mut start, mut end } = range;
        if start >= end {
            return 0;
        }
        let mut there = 0;
        if let Some((&before, &until)) = self.ends.range(..=start).next_back()
            && until >= start
        {
            if until >= end {
                return 0;
            }
            there += until - before;
            start = before;
        }
        while let Some((&next, &until)) = self.ends.range(start + 1..=end).next() {
            self.ends.remove(&next);
            there += until - next;
            end = end.max(until);
        }
        self.ends.insert(start, end);
        let added = end - start - there;
        self.total += added;
        added
    }

    /// Returns how many numbers were there.
    pub fn remove(&mut self, range: Range<u64>) -> u64 {
        let mut removed = 0;
        if let Some((&before, &until)) = self.ends.range(..range.start).next_back()
            && until > range.start
            && range.start < range.end
        {
            self.ends.insert(before, range.start);
            if until > range.end {
                self.ends.insert(range.end, until);
            }
            removed += until.min(range.end) - range.start;
        }
        while let Some((&start, &until)) =
            self.ends.range(range.start..range.end.max(range.start)).next()
        {
            self.ends.remove(&start);
            if until > range.end {
                self.ends.insert(range.end, until);
            }
            removed += until.min(range.end) - start;
        }
        self.total -= removed;
        removed
    }

    pub fn first_run(&self, most: u64) -> Option<Range<u64>> {
        self.ends.first_key_value().map(|(&start, &end)| start..end.min(start.saturating_add(most)))
    }

    /// The parts of `range` that are not in the set, in order.
    pub fn find_gaps(&self, range: Range<u64>) -> Vec<Range<u64>> {
        let mut gaps = Vec::new();
        let mut from = match self.ends.range(..=range.start).next_back() {
            Some((_, &end)) => end.max(range.start),
            None => range.start,
        };
        while from < range.end {
            let next = self.ends.range(from..range.end).next();
            let until = next.map_or(range.end, |(&start, _)| start);
            if from < until {
                gaps.push(from..until);
            }
            from = next.map_or(range.end, |(_, &end)| end);
        }
        gaps
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn behaves_as_a_set_of_numbers(
            steps in prop::collection::vec((any::<bool>(), 0u64..60, 0u64..20), 1..80)
        ) {
            let (mut ranges, mut set) = (RangeSet::default(), BTreeSet::new());
            for (insert, start, length) in steps {
                let range = start..start + length;
                let before = set.len() as u64;
                if insert {
                    set.extend(range.clone());
                    prop_assert_eq!(ranges.insert(range), set.len() as u64 - before);
                } else {
                    set.retain(|number| !range.contains(number));
                    prop_assert_eq!(ranges.remove(range), before - set.len() as u64);
                }
                prop_assert_eq!(ranges.total(), set.len() as u64);
                let gaps: Vec<u64> = ranges.find_gaps(5..70).into_iter().flatten().collect();
                let expected: Vec<u64> = (5..70).filter(|number| !set.contains(number)).collect();
                prop_assert_eq!(gaps, expected);
                // No two touch: that is what lets neighbours become one request.
                let ends: Vec<_> = ranges.ends.iter().collect();
                prop_assert!(ends.windows(2).all(|pair| pair[0].1 < pair[1].0));
            }
        }
    }
}
