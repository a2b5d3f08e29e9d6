//! Run folders, experiments and files of other tools from somebody else: what they say reaches nothing but eyes, and no
//! change of them makes a report or a plan panic, or go on without end.

mod experiments;
mod folders;
mod foreign_files;
mod fuzz;
mod samples;
mod texts;
