//! Writing: the atomic replacement of a file, and the private files of our own state folder.

use crate::apply::ApplyError;
use crate::refusal::Refusal;

/// Why a file was not swapped.
#[derive(Debug)]
pub(crate) enum SwapError {
    /// It is not what it was expected to be.
    Changed,
    /// It can no longer be reached or read as a config.
    Refused(Refusal),
    /// It could not be written.
    Io(std::io::Error),
}

impl From<std::io::Error> for SwapError {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<Refusal> for SwapError {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

#[cfg(unix)]
pub(crate) use unix::*;

#[cfg(unix)]
mod unix {
    use std::fs::{self, DirBuilder, File, OpenOptions, Permissions};
    use std::io::{ErrorKind, Write};
    use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
    use std::path::{Path, PathBuf};

    use rustix::fs::FlockOperation;
    use tempfile::NamedTempFile;

    use super::{ApplyError, SwapError};
    use crate::disk::{self, Real};

    /// How often the lock's folder is made again when an uninstall removes it at the same moment.
    const MAX_TRIES: usize = 100;

    /// Temporary files carry it, so that a left-over of a killed run can be told.
    const TEMP_PREFIX: &str = ".sessionpipe-";

    /// The random characters behind it.
    const TEMP_RANDOM: usize = 6;

    /// Replaces a text by another, if it is still the first; `None` is no file. New files are 0600, new folders 0700;
    /// a file that is there keeps its mode and group, links to it stay links, and one with several names stays one.
    pub(crate) fn swap(path: &Path, before: Option<&str>, after: Option<&str>) -> Result<(), SwapError> {
        let real = disk::locate(path)?;
        still(&real, before)?;
        match (before, after) {
            (_, None) => {
                if real.exists {
                    fs::remove_file(&real.target)?;
                    sync_folder(&real.target);
                }
                Ok(())
            }
            (None, Some(after)) => {
                for dir in &real.new_dirs {
                    match DirBuilder::new().mode(0o700).create(dir) {
                        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error.into()),
                        _ => {}
                    }
                }
                let temp = written(&real.target, after.as_bytes(), |_| Ok(()))?;
                match temp.persist_noclobber(&real.target) {
                    Ok(_) => {}
                    Err(error) if error.error.kind() == ErrorKind::AlreadyExists => return Err(SwapError::Changed),
                    Err(error) => return Err(error.error.into()),
                }
                sync_folder(&real.target);
                Ok(())
            }
            (Some(before), Some(after)) => {
                let meta = fs::metadata(&real.target)?;
                if meta.nlink() > 1 {
                    return Ok(overwrite(&real.target, after.as_bytes())?);
                }
                let temp = written(&real.target, after.as_bytes(), |file| {
                    if file.metadata()?.gid() != meta.gid() {
                        std::os::unix::fs::fchown(file, None, Some(meta.gid()))?;
                    }
                    file.set_permissions(Permissions::from_mode(meta.mode() & 0o7777))
                });
                let temp = match temp {
                    // A group that we may not give: then the file itself must stay.
                    Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                        still(&real, Some(before))?;
                        return Ok(overwrite(&real.target, after.as_bytes())?);
                    }
                    temp => temp?,
                };
                still(&real, Some(before))?;
                temp.persist(&real.target).map_err(|error| error.error)?;
                sync_folder(&real.target);
                Ok(())
            }
        }
    }

    fn still(real: &Real, before: Option<&str>) -> Result<(), SwapError> {
        let now = if real.exists && !real.target.exists() { None } else { disk::read(real)? };
        if now.as_deref() == before { Ok(()) } else { Err(SwapError::Changed) }
    }

    /// A synced temporary file beside the target. It is 0600 until `finish` widens it.
    fn written(
        target: &Path,
        bytes: &[u8],
        finish: impl FnOnce(&File) -> std::io::Result<()>,
    ) -> std::io::Result<NamedTempFile> {
        let folder = target.parent().unwrap_or(Path::new("/"));
        let mut temp = tempfile::Builder::new().prefix(TEMP_PREFIX).rand_bytes(TEMP_RANDOM).tempfile_in(folder)?;
        temp.write_all(bytes)?;
        finish(temp.as_file())?;
        temp.as_file().sync_all()?;
        Ok(temp)
    }

    fn overwrite(target: &Path, bytes: &[u8]) -> std::io::Result<()> {
        let mut file = OpenOptions::new().write(true).open(target)?;
        file.write_all(bytes)?;
        file.set_len(bytes.len() as u64)?;
        file.sync_all()
    }

    /// Makes a rename last. Some file systems cannot sync a folder; the rename stands all the same.
    fn sync_folder(target: &Path) {
        if let Some(folder) = target.parent().and_then(|folder| File::open(folder).ok()) {
            let _ = folder.sync_all();
        }
    }

    /// Makes a folder of ours, 0700, also where it was there before.
    pub(crate) fn ensure_private_dir(dir: &Path) -> Result<(), ApplyError> {
        DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(ApplyError::io(dir))?;
        fs::set_permissions(dir, Permissions::from_mode(0o700)).map_err(ApplyError::io(dir))
    }

    /// Writes a file of ours, atomically.
    pub(crate) fn write_private(path: &Path, bytes: &[u8], mode: u32) -> Result<(), ApplyError> {
        let temp = written(path, bytes, |file| file.set_permissions(Permissions::from_mode(mode)));
        let temp = temp.map_err(ApplyError::io(path))?;
        temp.persist(path).map_err(|error| ApplyError::Io { path: path.to_owned(), source: error.error })?;
        sync_folder(path);
        Ok(())
    }

    /// Removes a file, if it is there.
    pub(crate) fn remove_file(path: &Path) -> Result<(), ApplyError> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(ApplyError::io(path)(error)),
            _ => Ok(()),
        }
    }

    /// Removes folders that we made, the innermost first, as far as they are empty.
    pub(crate) fn remove_dirs(dirs: &[PathBuf]) {
        for dir in dirs.iter().rev() {
            if fs::remove_dir(dir).is_err() {
                return;
            }
        }
    }

    /// Removes what a killed run left in a folder. Only under the lock: then nobody is writing such a file.
    pub(crate) fn remove_leftovers(folder: &Path) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let random = name.to_str().and_then(|name| name.strip_prefix(TEMP_PREFIX)).unwrap_or_default();
            if random.len() == TEMP_RANDOM && random.bytes().all(|b| b.is_ascii_alphanumeric()) {
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// The lock of `install` and `uninstall`, held as long as it lives.
    pub(crate) struct Lock {
        path: PathBuf,
        file: File,
    }

    impl Lock {
        /// Makes the folder of the lock, and waits for its turn.
        pub(crate) fn take(path: &Path) -> Result<Self, ApplyError> {
            let mut tries = 0;
            loop {
                tries += 1;
                let mut options = OpenOptions::new();
                std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
                options.create(true).truncate(false).write(true);
                let folder = ensure_private_dir(path.parent().unwrap_or(Path::new("/")));
                let file = match folder.and_then(|()| options.open(path).map_err(ApplyError::io(path))) {
                    Err(ApplyError::Io { source, .. }) if source.kind() == ErrorKind::NotFound && tries < MAX_TRIES => {
                        continue;
                    }
                    opened => opened?,
                };
                rustix::fs::flock(&file, FlockOperation::LockExclusive)
                    .map_err(|error| ApplyError::io(path)(error.into()))?;
                let held = file.metadata().map_err(ApplyError::io(path))?;
                // The one before may have removed it while we waited.
                if fs::metadata(path).is_ok_and(|there| there.ino() == held.ino() && there.dev() == held.dev()) {
                    return Ok(Self { path: path.to_owned(), file });
                }
            }
        }

        /// Removes the file, and lets go.
        pub(crate) fn remove(self) {
            let _ = fs::remove_file(&self.path);
            drop(self.file);
        }
    }
}

#[cfg(not(unix))]
pub(crate) use unsupported::*;

/// Planning works everywhere; what writes does not yet.
#[cfg(not(unix))]
mod unsupported {
    use std::path::{Path, PathBuf};

    use super::{ApplyError, SwapError};

    pub(crate) struct Lock;

    impl Lock {
        pub(crate) fn take(_path: &Path) -> Result<Self, ApplyError> {
            Err(ApplyError::Unsupported)
        }

        pub(crate) fn remove(self) {}
    }

    pub(crate) fn swap(_path: &Path, _before: Option<&str>, _after: Option<&str>) -> Result<(), SwapError> {
        Err(SwapError::Io(std::io::ErrorKind::Unsupported.into()))
    }

    pub(crate) fn ensure_private_dir(_dir: &Path) -> Result<(), ApplyError> {
        Err(ApplyError::Unsupported)
    }

    pub(crate) fn write_private(_path: &Path, _bytes: &[u8], _mode: u32) -> Result<(), ApplyError> {
        Err(ApplyError::Unsupported)
    }

    pub(crate) fn remove_file(_path: &Path) -> Result<(), ApplyError> {
        Err(ApplyError::Unsupported)
    }

    pub(crate) fn remove_dirs(_dirs: &[PathBuf]) {}

    pub(crate) fn remove_leftovers(_folder: &Path) {}
}
