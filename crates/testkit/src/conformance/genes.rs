//! Choices taken from a list of numbers: the choices become simpler as the numbers shrink.

/// Choices that are used up one by one; when there are none left, every choice is the first.
pub struct Genes<'a>(std::slice::Iter<'a, u32>);

impl<'a> Genes<'a> {
    pub fn new(numbers: &'a [u32]) -> Self {
        Self(numbers.iter())
    }

    /// A number below `end`; 0 is the simplest.
    pub fn below(&mut self, end: usize) -> usize {
        self.0.next().map_or(0, |number| *number as usize % end)
    }

    /// True once in `times` calls.
    pub fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == times - 1
    }

    pub fn pick<'b, T>(&mut self, choices: &'b [T]) -> &'b T {
        &choices[self.below(choices.len())]
    }
}
