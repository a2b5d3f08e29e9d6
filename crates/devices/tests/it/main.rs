//! Device models, and the file system over them.

mod ext4;
mod ext4_histories;
mod ext4_rates;
mod models;
mod models_properties;
mod models_registered;
mod models_spec;
mod price;
