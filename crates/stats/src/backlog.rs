const BEHIND: f64 = 0.01;

const A_FEW: f64 = 3.0;

/// At most 1 % may not have started, or three, which were due in the last moment.
pub fn keeps_up(due: f64, not_started: f64) -> bool {
    not_started <= (BEHIND * due).max(A_FEW)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_due_in_the_last_moment_is_no_lag() {
        for (due, not_started, kept_up) in [
            (20.0, 0.0, true),
            (20.0, 3.0, true),
            (20.0, 4.0, false),
            (1000.0, 10.0, true),
            (1000.0, 11.0, false),
            (0.0, 0.0, true),
        ] {
            assert_eq!(keeps_up(due, not_started), kept_up, "{not_started} of {due}");
        }
    }
}
