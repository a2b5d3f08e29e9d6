//! Little's law: whether the latencies account for all of the clients' time.

/// The mean number of operations under way, from their latencies, over the number of clients:
/// sum of latencies / (window · clients), both times in one unit. Near 1 for clients that always
/// have one operation under way; well below where the harness itself takes time, or operations
/// went uncounted. `None` when the result is no finite number, as with no clients or no window.
///
/// Source: Little, "A proof for the queuing formula L = λW" (1961).
pub fn littles_law(sum_of_latencies: f64, window: f64, clients: u32) -> Option<f64> {
    let under_way = sum_of_latencies / (window * f64::from(clients));
    (window > 0.0 && sum_of_latencies >= 0.0 && under_way.is_finite()).then_some(under_way)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_clients_that_never_rest_balance() {
        // 4 clients, 10 s, 2,000 operations of 20 ms each.
        assert_eq!(littles_law(2_000.0 * 0.020, 10.0, 4), Some(1.0));
        assert_eq!(littles_law(2_000.0 * 0.015, 10.0, 4), Some(0.75));
    }

    #[test]
    fn nothing_follows_from_nothing() {
        assert_eq!(littles_law(1.0, 0.0, 4), None);
        assert_eq!(littles_law(1.0, 10.0, 0), None);
        assert_eq!(littles_law(f64::NAN, 10.0, 4), None);
        assert_eq!(littles_law(0.0, 10.0, 4), Some(0.0));
    }
}
