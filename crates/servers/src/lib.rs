//! Private database servers: initialises, starts, waits for, stops and kills them.
//!
//! A server's data, socket, log and configuration are in folders that its caller names; it never
//! touches the system's own instance. This crate must never know what is stored in a server, who
//! connects to it, or why.
