//! Applications as engines run them: mistakes in their files, what an operation sends, and what a
//! power cut leaves.

mod answers;
mod audit;
mod built_in;
mod bytes;
mod copied;
mod draws;
mod found;
mod fuzz;
mod mistakes;
mod pgbench;
mod preparation;
mod redmine_rails;
mod servers;
mod stage;
