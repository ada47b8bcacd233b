//! The person's settings: `config.toml`.

use std::io;

use sessionpipe_core::file;
use sessionpipe_core::host::Host;
use sessionpipe_installer::Place;

use crate::error::CommandError;

/// The version of the settings' format. A file without one is of the first.
const VERSION: i64 = 1;

/// The settings. Keys that this version does not know are for others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// How events name this machine; without it, by its host name.
    pub machine: Option<String>,
}

impl Config {
    /// The settings of this person; the defaults where there is no file.
    ///
    /// # Errors
    /// When the file cannot be read, is no TOML, or a key has another type than it must.
    pub fn read(host: &Host) -> Result<Self, CommandError> {
        let path = host.dirs.config_file();
        let utf8 = |bytes| String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error));
        let text = match file::read(&path).and_then(utf8) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(CommandError::failed(anyhow::Error::from(error).context(host.tilde(&path)))),
        };
        Self::parse(&text).map_err(|(message, at)| {
            let place = Place::of(&text, at);
            let error = anyhow::anyhow!("{message}").context(format!("{}: {place}", host.tilde(&path)));
            CommandError { place: Some(place), ..CommandError::usage(error) }
        })
    }

    /// The settings in a text; else what is wrong, and at which byte.
    fn parse(text: &str) -> Result<Self, (String, usize)> {
        let document = toml_edit::Document::parse(text).map_err(|error| {
            let message = error.message().lines().next().unwrap_or_default().to_owned();
            (message, error.span().map_or(0, |span| span.start))
        })?;
        if let Some(item) = document.get("version").filter(|item| item.as_integer().is_none_or(|v| v > VERSION)) {
            let at = item.span().map_or(0, |span| span.start);
            return Err((format!("`version` must be {VERSION}: a newer sessionpipe may have written it"), at));
        }
        let machine = match document.get("machine") {
            None => None,
            Some(item) => match item.as_str() {
                Some(name) => Some(name.to_owned()).filter(|name| !name.is_empty()),
                None => {
                    let at = item.span().map_or(0, |span| span.start);
                    return Err((format!("`machine` must be a string, not {}", article(item.type_name())), at));
                }
            },
        };
        Ok(Self { machine })
    }
}

fn article(noun: &str) -> String {
    let an = noun.starts_with(['a', 'e', 'i', 'o', 'u']);
    format!("{} {noun}", if an { "an" } else { "a" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_has_a_name_or_not() {
        let named = |name: &str| Config { machine: Some(name.to_owned()) };
        assert_eq!(Config::parse("machine = \"laptop\"\nfuture = 1\n"), Ok(named("laptop")));
        assert_eq!(Config::parse("machine = \"\"\n"), Ok(Config::default()));
        assert_eq!(Config::parse(""), Ok(Config::default()));
    }

    #[test]
    fn what_is_wrong_has_its_place() {
        assert_eq!(
            Config::parse("x = 1\nmachine = 7\n"),
            Err(("`machine` must be a string, not an integer".into(), 16))
        );
        let newer = "`version` must be 1: a newer sessionpipe may have written it";
        assert_eq!(Config::parse("version = 2\n"), Err((newer.into(), 10)));
        assert_eq!(Config::parse("version = 1\n"), Ok(Config::default()));
        let (_, at) = Config::parse("machine = [\n").expect_err("no TOML");
        assert!(at >= 10, "{at}");
    }
}
