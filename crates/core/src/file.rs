//! Reading files that others own, without trust in what they are.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Larger files are not read: no config or record is that large.
pub const MAX_FILE: u64 = 64 << 20;

/// The bytes of a regular file of sane size. Whoever opens a FIFO waits for its writer, and a device may never end.
///
/// # Errors
/// When it cannot be read, is no regular file, or is larger than [`MAX_FILE`].
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(ErrorKind::InvalidInput, "it is not a regular file"));
    }
    let mut bytes = Vec::new();
    // One more than allowed, to see that there is more.
    File::open(path)?.take(MAX_FILE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(io::Error::new(ErrorKind::FileTooLarge, format!("it is larger than {MAX_FILE} bytes")));
    }
    Ok(bytes)
}

/// When a regular file was last written, milliseconds since the epoch.
#[must_use]
pub fn modified_ms(path: &Path) -> Option<i64> {
    let metadata = fs::metadata(path).ok().filter(fs::Metadata::is_file)?;
    let since = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    i64::try_from(since.as_millis()).ok()
}

/// What a folder holds; nothing where it cannot be read.
pub fn entries(dir: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path())
}

#[cfg(all(test, unix))]
mod tests {
    #![allow(clippy::disallowed_methods)]

    use super::*;

    #[test]
    fn only_regular_files_of_sane_size() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("a");
        assert_eq!(read(&path).expect_err("nothing there").kind(), ErrorKind::NotFound);
        fs::write(&path, "x").expect("a file");
        assert_eq!(read(&path).expect("a file"), b"x");
        File::options().write(true).open(&path).and_then(|file| file.set_len(MAX_FILE + 1)).expect("a sparse file");
        assert_eq!(read(&path).expect_err("too large").kind(), ErrorKind::FileTooLarge);
        assert_eq!(read(dir.path()).expect_err("a folder").kind(), ErrorKind::InvalidInput);
        // It would never end.
        assert_eq!(read(Path::new("/dev/zero")).expect_err("a device").kind(), ErrorKind::InvalidInput);
    }

    #[test]
    fn what_a_folder_holds_and_when_it_was_written() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("a");
        assert_eq!(entries(&path).count(), 0, "nothing there");
        fs::write(&path, "x").expect("a file");
        let at = UNIX_EPOCH + std::time::Duration::from_millis(1_500);
        File::options().write(true).open(&path).and_then(|file| file.set_modified(at)).expect("a time");
        assert_eq!(entries(dir.path()).collect::<Vec<_>>(), std::slice::from_ref(&path));
        assert_eq!((modified_ms(&path), modified_ms(dir.path())), (Some(1_500), None));
    }
}
