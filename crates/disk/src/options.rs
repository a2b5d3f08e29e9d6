use std::path::{Path, PathBuf};

use bakeoff_devices::models::Models;
use bakeoff_devices::neighbour::NeighbourLevel;
use bakeoff_devices::plug::Metadata;
use bakeoff_devices::spec::Spec;
use serde::{Deserialize, Serialize};

use crate::error::Error;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MountOptions {
    pub backing: PathBuf,
    pub mountpoint: PathBuf,
    /// The name of a model that the daemon knows.
    pub model: String,
    pub neighbours: NeighbourLevel,
    pub seed: u64,
    /// The part of a hard disk's stroke in use, above 0 and at most 1; by default all of it.
    pub used_fraction: Option<f64>,
    pub metadata: Metadata,
    pub timing: bool,
    /// Whether the backing files are kept out of the page cache: see
    /// [`crate::volume::Volume::keep_out_of_page_cache`].
    pub uncached: bool,
    /// Whether the kernel gathers buffered writes and hands them over in large ones: on a sync, on
    /// a close, and every second. Calls are then as cheap as on a real file system, but faults and
    /// power cuts miss what the kernel still holds.
    pub write_back: bool,
}

impl MountOptions {
    pub fn new(backing: &Path, mountpoint: &Path, model: &str) -> Self {
        Self {
            backing: backing.to_owned(),
            mountpoint: mountpoint.to_owned(),
            model: model.to_owned(),
            neighbours: NeighbourLevel::None,
            seed: 1,
            used_fraction: None,
            metadata: Metadata::default(),
            timing: true,
            uncached: false,
            write_back: false,
        }
    }

    pub(crate) fn resolve_device(&self, models: &Models) -> Result<Spec, Error> {
        if self.model == "host" {
            let why = "host is this machine's own disk: use a folder on it as it is, or name a \
                       model (bakeoff list disks)";
            return Err(Error::Usage(why.into()));
        }
        let mut spec = models.parse(&self.model).map_err(Error::usage)?;
        if let Some(fraction) = self.used_fraction {
            spec = spec.with_used_fraction(fraction).map_err(Error::usage)?;
        }
        check_neighbours(spec.is_null(), self.neighbours)?;
        Ok(spec)
    }
}

pub(crate) fn check_neighbours(null: bool, level: NeighbourLevel) -> Result<(), Error> {
    if null && level != NeighbourLevel::None {
        let why = "the model `null` has no queue, so it can't have neighbours: give it 0 of them, \
                   or take another model (bakeoff list disks)";
        return Err(Error::Usage(why.into()));
    }
    Ok(())
}
