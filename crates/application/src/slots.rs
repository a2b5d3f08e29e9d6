//! Numbered variables of a client. Once their texts have grown, nothing is allocated.

use std::ops::Range;

use crate::Datum;

/// The number of a variable.
pub type Slot = usize;

#[derive(Debug, Default)]
struct SlotCell {
    kind: SlotKind,
    text: String,
    bytes: Vec<u8>,
}

#[derive(Clone, Copy, Debug, Default)]
enum SlotKind {
    #[default]
    Null,
    Bool(bool),
    Int(i64),
    Real(f64),
    Text,
    Bytes,
}

/// The variables of a client, by number. All begin as null.
#[derive(Debug, Default)]
pub struct Slots(Vec<SlotCell>);

impl Slots {
    /// So many variables.
    pub fn new(count: usize) -> Self {
        Self((0..count).map(|_| SlotCell::default()).collect())
    }

    /// The value of a variable.
    #[inline]
    pub fn get(&self, slot: Slot) -> Datum<'_> {
        let cell = &self.0[slot];
        match cell.kind {
            SlotKind::Null => Datum::Null,
            SlotKind::Bool(bool) => Datum::Bool(bool),
            SlotKind::Int(int) => Datum::Int(int),
            SlotKind::Real(real) => Datum::Real(real),
            SlotKind::Text => Datum::Text(&cell.text),
            SlotKind::Bytes => Datum::Bytes(&cell.bytes),
        }
    }

    /// Gives a variable a value.
    #[inline]
    pub fn set(&mut self, slot: Slot, value: Datum<'_>) {
        let cell = &mut self.0[slot];
        cell.kind = match value {
            Datum::Null => SlotKind::Null,
            Datum::Bool(bool) => SlotKind::Bool(bool),
            Datum::Int(int) => SlotKind::Int(int),
            Datum::Real(real) => SlotKind::Real(real),
            Datum::Text(text) => {
                cell.text.clear();
                cell.text.push_str(text);
                SlotKind::Text
            }
            Datum::Bytes(bytes) => {
                cell.bytes.clear();
                cell.bytes.extend_from_slice(bytes);
                SlotKind::Bytes
            }
        };
    }

    /// Gives a variable a text that the caller writes: an empty one.
    pub fn begin_text(&mut self, slot: Slot) -> &mut String {
        let cell = &mut self.0[slot];
        cell.kind = SlotKind::Text;
        cell.text.clear();
        &mut cell.text
    }

    /// Gives a variable bytes that the caller writes: none.
    pub fn begin_bytes(&mut self, slot: Slot) -> &mut Vec<u8> {
        let cell = &mut self.0[slot];
        cell.kind = SlotKind::Bytes;
        cell.bytes.clear();
        &mut cell.bytes
    }

    /// Gives a variable the bytes of another.
    pub fn copy_bytes(&mut self, from: Slot, to: Slot) {
        if let Ok([from, to]) = self.0.get_disjoint_mut([from, to]) {
            to.kind = from.kind;
            to.bytes.clone_from(&from.bytes);
        }
    }

    /// Gives a variable a text without copying it; what it had before is in `text` then.
    pub fn swap_text(&mut self, slot: Slot, text: &mut String) {
        let cell = &mut self.0[slot];
        cell.kind = SlotKind::Text;
        std::mem::swap(&mut cell.text, text);
    }

    /// Makes some variables null.
    #[inline]
    pub fn clear(&mut self, which: Range<Slot>) {
        self.0[which].iter_mut().for_each(|cell| cell.kind = SlotKind::Null);
    }

    /// Adds variables until there are so many.
    pub fn grow(&mut self, count: usize) {
        if self.0.len() < count {
            self.0.resize_with(count, SlotCell::default);
        }
    }

    /// Takes the values of some variables from another set.
    pub fn copy_from(&mut self, other: &Self, which: Range<Slot>) {
        for (cell, from) in self.0[which.clone()].iter_mut().zip(&other.0[which]) {
            cell.kind = from.kind;
            if matches!(from.kind, SlotKind::Text) {
                cell.text.clone_from(&from.text);
            }
            if matches!(from.kind, SlotKind::Bytes) {
                cell.bytes.clone_from(&from.bytes);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_has_each_value_and_no_old_text() {
        let values = [Datum::Null, Datum::Bool(true), Datum::Int(-7), Datum::Real(0.5)];
        let mut slots = Slots::new(5);
        values.iter().enumerate().for_each(|(slot, value)| slots.set(slot, *value));
        slots.set(4, Datum::Text("long before"));
        slots.set(4, Datum::Text("été"));
        let mut copy = Slots::new(5);
        copy.set(0, Datum::Text("old"));
        copy.copy_from(&slots, 0..5);
        for (slot, value) in values.iter().chain([&Datum::Text("été")]).enumerate() {
            assert_eq!(copy.get(slot), *value);
        }
        slots.clear(1..5);
        copy.copy_from(&slots, 2..4);
        let all = (0..5).map(|slot| copy.get(slot));
        let [none, truth, ..] = values;
        assert!(all.eq([none, truth, Datum::Null, Datum::Null, Datum::Text("été")]));
    }

    #[test]
    fn a_copy_of_bytes_has_them() {
        let mut slots = Slots::new(3);
        slots.begin_bytes(0).extend_from_slice(&[0, 255]);
        slots.copy_bytes(0, 1);
        slots.copy_bytes(1, 1);
        slots.set(2, Datum::Bytes(b"old"));
        let mut copy = Slots::new(3);
        copy.copy_from(&slots, 0..3);
        for slots in [&slots, &copy] {
            let wanted = [&[0, 255], &[0, 255], b"old".as_slice()].map(Datum::Bytes);
            assert_eq!([0, 1, 2].map(|slot| slots.get(slot)), wanted);
        }
    }

    #[test]
    fn a_text_that_was_swapped_or_written_is_the_value() {
        let (mut slots, mut text) = (Slots::new(2), "new".to_owned());
        slots.set(0, Datum::Text("old"));
        slots.swap_text(0, &mut text);
        assert_eq!((slots.get(0), &*text), (Datum::Text("new"), "old"));
        slots.begin_text(0).push('n');
        slots.swap_text(1, &mut text);
        assert_eq!([0, 1].map(|slot| slots.get(slot)), [Datum::Text("n"), Datum::Text("old")]);
    }
}
