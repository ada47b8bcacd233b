//! Files on disk: where a path really leads, what is there, and whether it may be written. Nothing here writes.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use sessionpipe_core::file::MAX_FILE;

use crate::refusal::{Place, Refusal};

/// Links that are followed by hand, to name the end of a dangling chain; the kernel's limit is 40.
const MAX_LINKS: usize = 40;

/// Where a path leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Real {
    /// The file, all links followed.
    pub(crate) target: PathBuf,
    /// Whether it is there.
    pub(crate) exists: bool,
    /// Folders that must be made for it, the outermost first.
    pub(crate) new_dirs: Vec<PathBuf>,
}

/// Follows all links.
pub(crate) fn locate(path: &Path) -> Result<Real, Refusal> {
    match fs::symlink_metadata(path) {
        Ok(_) => {
            let target = fs::canonicalize(path).map_err(|error| broken_link(path, &error))?;
            let meta = fs::metadata(&target).map_err(|error| unreadable(&error))?;
            if meta.is_dir() {
                return Err(Refusal::Folder);
            }
            if !meta.is_file() {
                return Err(Refusal::NotRegular);
            }
            Ok(Real { target, exists: true, new_dirs: Vec::new() })
        }
        Err(error) if error.kind() == ErrorKind::NotFound => missing(path),
        Err(error) => Err(broken_link(path, &error)),
    }
}

/// A file that is not there: the nearest folder that is, and the ones to make below it.
fn missing(path: &Path) -> Result<Real, Refusal> {
    let mut names = Vec::new();
    let mut here = path;
    while let (Some(parent), Some(name)) = (here.parent(), here.file_name()) {
        names.push(name);
        here = parent;
        match fs::symlink_metadata(here) {
            Ok(_) => break,
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(unreadable(&error)),
        }
    }
    let mut target = fs::canonicalize(here).map_err(|error| broken_link(here, &error))?;
    let mut new_dirs = Vec::new();
    while let Some(name) = names.pop() {
        target.push(name);
        if !names.is_empty() {
            new_dirs.push(target.clone());
        }
    }
    Ok(Real { target, exists: false, new_dirs })
}

fn broken_link(path: &Path, error: &std::io::Error) -> Refusal {
    #[cfg(unix)]
    if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) {
        return Refusal::LinkLoop;
    }
    if error.kind() != ErrorKind::NotFound {
        return unreadable(error);
    }
    let mut here = path.to_owned();
    for _ in 0..MAX_LINKS {
        let Ok(next) = fs::read_link(&here) else { break };
        here = here.parent().map_or_else(|| next.clone(), |parent| parent.join(&next));
    }
    Refusal::DanglingLink { target: here.display().to_string() }
}

fn unreadable(error: &std::io::Error) -> Refusal {
    Refusal::Unreadable(error.kind())
}

/// The text of a file that [`locate`] found; `None` where there is none.
pub(crate) fn read(real: &Real) -> Result<Option<String>, Refusal> {
    if !real.exists {
        return Ok(None);
    }
    let size = fs::metadata(&real.target).map_err(|error| unreadable(&error))?.len();
    if size > MAX_FILE {
        return Err(Refusal::TooLarge { size, max: MAX_FILE });
    }
    let bytes = fs::read(&real.target).map_err(|error| unreadable(&error))?;
    String::from_utf8(bytes).map(Some).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let text = String::from_utf8_lossy(error.as_bytes());
        Refusal::NotUtf8 { place: Place::of(&text, good) }
    })
}

/// Whether the file can be replaced, or made. Judged by owner and mode first, since root ignores modes.
#[cfg(unix)]
pub(crate) fn may_write(real: &Real) -> Result<(), Refusal> {
    use std::os::unix::fs::MetadataExt;

    use rustix::fs::{Access, access};

    let me = rustix::process::geteuid().as_raw();
    let no_owner_write = |meta: &fs::Metadata| meta.mode() & 0o200 == 0;
    if real.exists {
        let meta = fs::metadata(&real.target).map_err(|error| unreadable(&error))?;
        if no_owner_write(&meta) {
            return Err(Refusal::ReadOnly);
        }
        if meta.uid() != me {
            return Err(Refusal::ForeignOwner { owner: meta.uid(), you: me });
        }
        access(&real.target, Access::WRITE_OK).map_err(|_| Refusal::ReadOnly)?;
        if meta.nlink() > 1 {
            // Written in place: the folder does not matter.
            return Ok(());
        }
    }
    let folder = real.new_dirs.first().unwrap_or(&real.target).parent().unwrap_or(Path::new("/"));
    let meta = fs::metadata(folder).map_err(|error| unreadable(&error))?;
    if !meta.is_dir() {
        return Err(Refusal::Unreadable(ErrorKind::NotADirectory));
    }
    if no_owner_write(&meta) {
        return Err(Refusal::ReadOnly);
    }
    // What root makes in another user's folder would be root's: that user's harness could not write it any more.
    if !real.exists && me == 0 && meta.uid() != me {
        return Err(Refusal::ForeignOwner { owner: meta.uid(), you: me });
    }
    access(folder, Access::WRITE_OK | Access::EXEC_OK).map_err(|_| Refusal::ReadOnly)
}

/// Planning works everywhere; applying says that it is not supported.
#[cfg(not(unix))]
pub(crate) fn may_write(_real: &Real) -> Result<(), Refusal> {
    Ok(())
}
