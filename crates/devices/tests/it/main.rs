//! Device models, and the file system over them.

mod drum;
mod ext4;
mod models;
mod price;
mod properties;
mod specs;
