use super::MountedDisk;
use crate::control::TraceRequest;
use crate::error::Error;

impl MountedDisk {
    pub(super) fn set_trace(&self, to: Option<TraceRequest>) -> Result<(), Error> {
        let at = self.note.mountpoint.display();
        let Some(TraceRequest { file, hold }) = to else {
            let failed = |error| Error::Failed(format!("the trace of {at}: {error}"));
            return self.volume.end_trace().map(drop).map_err(failed);
        };
        self.check_power()?;
        let shown = file.display();
        let wrong = |why: String| Error::Folder(format!("{shown}: {why}"));
        // With links resolved, as the folders of the disk are.
        let folder = file.parent().unwrap_or(&file).canonicalize();
        let folder = folder.map_err(|error| wrong(error.to_string()))?;
        if [&self.note.mountpoint, &self.note.backing].iter().any(|own| folder.starts_with(own)) {
            let why = "a trace can't be on the disk whose requests it has; take a file elsewhere";
            return Err(wrong(why.into()));
        }
        self.volume.begin_trace(&file, hold).map_err(|error| wrong(error.to_string()))
    }
}
