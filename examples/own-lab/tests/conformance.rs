//! The contract of engines, held against this lab's own.

use own_lab::log_store::LogStore;

bakeoff_conformance::suite!(&[&LogStore]);
