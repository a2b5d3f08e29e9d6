//! A disk without power, and a rule for what it may hold.

use std::path::Path;

use bakeoff_devices::plug::{Keep, Metadata};
use bakeoff_disk::control::DiskControl;

use crate::TrialError;

/// The disk that an image is made of: one without power.
pub(super) struct ImageSource<'a> {
    pub control: &'a DiskControl,
    pub keep: Keep,
    pub seed: u64,
    /// Which of the disk's moments, and how names become durable; that at which the power went, as
    /// the disk has it, if none is said.
    pub of: Option<(usize, Metadata)>,
}

impl ImageSource<'_> {
    /// Makes the image in a new folder.
    pub fn image(&self, folder: &Path) -> Result<(), TrialError> {
        let made = match self.of {
            None => self.control.image(self.keep, self.seed, folder),
            Some((moment, metadata)) => {
                self.control.image_of(moment, metadata, self.keep, self.seed, folder)
            }
        };
        made.map_err(|error| TrialError::place("its crash image can't be made", error))
    }
}
