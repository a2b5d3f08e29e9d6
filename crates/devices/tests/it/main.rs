//! Device models, and the file system over them.

mod drum;
mod ext4;
mod flush;
mod models;
mod price;
mod properties;
mod published;
mod specs;
