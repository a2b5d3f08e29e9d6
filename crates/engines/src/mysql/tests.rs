//! What the conformance suite can't see from outside.
