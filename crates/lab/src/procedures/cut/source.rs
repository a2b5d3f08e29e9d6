use std::path::Path;

use bakeoff_devices::plug::{Keep, Metadata};
use bakeoff_disk::control::DiskControl;

use crate::TrialError;

pub(super) struct ImageSource<'a> {
    pub control: &'a DiskControl,
    pub keep: Keep,
    pub seed: u64,
    /// The moment and how names become durable; the moment of the power's end if none is given.
    pub of: Option<(usize, Metadata)>,
}

impl ImageSource<'_> {
    pub fn image(&self, folder: &Path) -> Result<(), TrialError> {
        let made = match self.of {
            None => self.control.image(self.keep, self.seed, folder),
            Some((moment, metadata)) => {
                self.control.image_of(moment, metadata, self.keep, self.seed, folder)
            }
        };
        made.map_err(|error| TrialError::place_error("its crash image can't be made", error))
    }
}
