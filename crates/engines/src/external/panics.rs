//! Calls of libraries that panic on what a server asks for.

use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    static CATCHES: Cell<bool> = const { Cell::new(false) };
}

/// The answer of a call, or the words of its panic, which prints nothing.
pub(crate) fn catch_panic<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    static HOOKED: Once = Once::new();
    HOOKED.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if !CATCHES.get() {
                usual(panic);
            }
        }));
    });
    let before = CATCHES.replace(true);
    let answer = panic::catch_unwind(AssertUnwindSafe(call));
    CATCHES.set(before);
    answer.map_err(|panic| read_words(&*panic))
}

fn read_words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_answer() {
        assert_eq!(catch_panic(|| 7), Ok(7));
        let (none, inner): (Vec<u8>, _) = (Vec::new(), || panic!("{} of it", "all"));
        assert_eq!(catch_panic::<()>(inner), Err("all of it".into()));
        let words = catch_panic(|| none[0]).expect_err("it is empty");
        assert!(words.contains("out of bounds"), "{words}");
        let nested = catch_panic(|| catch_panic::<()>(|| panic!("inner")));
        assert_eq!(nested, Ok(Err("inner".into())));
    }
}
