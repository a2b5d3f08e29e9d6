//! The contract of engines, held against this lab's own.

use own_lab::log_store::LOG_STORE;

bakeoff_testkit::suite!(&[&LOG_STORE]);
