//! The person's settings: `config.toml`.

use std::io::{self, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::{DeserializeOwned, IntoDeserializer as _};
use sessionpipe_core::event::{MAX_TIER, Tier};
use sessionpipe_core::file;
use sessionpipe_core::host::Host;
use sessionpipe_installer::Place;
use sessionpipe_pipeline::settings::{Folder, Keep, Policy, Settings};
use sessionpipe_pipeline::sink::Sink;
use toml_edit::{Document, DocumentMut, InlineTable, Item};

use crate::error::CommandError;

/// The version of the settings' format. A file without one is of the first.
const VERSION: i64 = 1;

/// The settings. Keys that this version does not know are for others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// How events name this machine; without it, by its host name.
    pub machine: Option<String>,
    /// What is kept, and where it goes.
    pub settings: Settings,
}

/// What is wrong with a text, and at which byte.
type Fault = (String, usize);

/// `[[folder]]`
#[derive(Deserialize)]
struct FolderTable {
    path: String,
    keep: KeepValue,
}

/// `keep = "off"`, or a tier.
#[derive(Deserialize)]
#[serde(try_from = "serde_json::Value")]
struct KeepValue(Keep);

impl TryFrom<serde_json::Value> for KeepValue {
    type Error = &'static str;

    fn try_from(value: serde_json::Value) -> Result<Self, Self::Error> {
        let tier = value.as_i64().and_then(|tier| Tier::try_from(tier).ok()).filter(|tier| *tier <= MAX_TIER);
        match (value.as_str(), tier) {
            (Some("off"), _) => Ok(Self(Keep::Off)),
            (_, Some(tier)) => Ok(Self(Keep::Tier(tier))),
            _ => Err("`keep` must be \"off\" or a tier from 0 to 3"),
        }
    }
}

impl Config {
    /// The settings of this person; the defaults where there is no file.
    ///
    /// # Errors
    /// When the file cannot be read, is no TOML, or a key has another type than it must.
    pub fn read(host: &Host) -> Result<Self, CommandError> {
        let Some(text) = text(host)? else { return Ok(Self::default()) };
        Self::parse(&text, &host.home).map_err(|fault| placed(&text, fault, host))
    }

    /// What the pipeline goes by: a fault elsewhere in the file does not matter to it, and with one in the sinks nothing
    /// leaves. `None` when it cannot be told what may be kept.
    #[must_use]
    pub fn settings(host: &Host) -> Option<Settings> {
        let Some(text) = text(host).ok()? else { return Some(Settings::default()) };
        let document = document(&text).ok()?;
        let policy = policy(&document, &host.home).ok()?;
        Some(Settings { policy, sinks: sinks(&document).unwrap_or_default() })
    }

    /// The settings in a text.
    fn parse(text: &str, home: &Path) -> Result<Self, Fault> {
        let document = document(text)?;
        let machine = match document.get("machine") {
            None => None,
            Some(item) => match item.as_str() {
                Some(name) => Some(name.to_owned()).filter(|name| !name.is_empty()),
                None => {
                    return Err(fault(item, format!("`machine` must be a string, not {}", article(item.type_name()))));
                }
            },
        };
        Ok(Self { machine, settings: Settings { policy: policy(&document, home)?, sinks: sinks(&document)? } })
    }
}

/// The file's text; `None` where there is none.
fn text(host: &Host) -> Result<Option<String>, CommandError> {
    let path = host.dirs.config_file();
    let utf8 = |bytes| String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error));
    match file::read(&path).and_then(utf8) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(CommandError::failed(anyhow::Error::from(error).context(host.tilde(&path)))),
    }
}

fn placed(text: &str, (message, at): Fault, host: &Host) -> CommandError {
    let place = Place::of(text, at);
    let context = format!("{}: {place}", host.tilde(&host.dirs.config_file()));
    let error = anyhow::anyhow!("{message}").context(context);
    CommandError { place: Some(place), ..CommandError::usage(error) }
}

fn fault(item: &Item, message: String) -> Fault {
    (message, item.span().map_or(0, |span| span.start))
}

fn document(text: &str) -> Result<Document<&str>, Fault> {
    let document = Document::parse(text).map_err(|error| {
        let message = error.message().lines().next().unwrap_or_default().to_owned();
        (message, error.span().map_or(0, |span| span.start))
    })?;
    match document.get("version").filter(|item| item.as_integer().is_none_or(|v| v > VERSION)) {
        Some(item) => Err(fault(item, format!("`version` must be {VERSION}: a newer sessionpipe may have written it"))),
        None => Ok(document),
    }
}

/// The tables of `[[name]]`, each read as `T`, and where it stands.
fn tables<T: DeserializeOwned>(document: &Document<&str>, name: &str) -> Result<Vec<(T, usize)>, Fault> {
    let Some(item) = document.get(name) else { return Ok(Vec::new()) };
    let tables = item.as_array_of_tables();
    let tables = tables.ok_or_else(|| fault(item, format!("`{name}` must be tables: [[{name}]]")))?;
    let read = |table: &toml_edit::Table| {
        let at = table.span().map_or(0, |span| span.start);
        let whole = Item::Table(table.clone()).into_value().unwrap_or_else(|_| InlineTable::new().into());
        let read = T::deserialize(whole.into_deserializer()).map_err(|error: toml_edit::de::Error| {
            let at = error.span().map_or(at, |span| span.start);
            (error.message().to_owned(), at)
        })?;
        Ok((read, at))
    };
    tables.iter().map(read).collect()
}

fn policy(document: &Document<&str>, home: &Path) -> Result<Policy, Fault> {
    let mut policy = Policy::default();
    if let Some(item) = document.get("keep_tier") {
        let tier = item.as_integer().and_then(|tier| Tier::try_from(tier).ok()).filter(|tier| *tier <= MAX_TIER);
        policy.tier = tier.ok_or_else(|| fault(item, "`keep_tier` must be a tier from 0 to 3".to_owned()))?;
    }
    for (FolderTable { path, keep }, at) in tables(document, "folder")? {
        let path = absolute(&path, home).ok_or_else(|| ("a folder's `path` must be absolute".to_owned(), at))?;
        policy.folders.push(Folder { path, keep: keep.0 });
    }
    Ok(policy)
}

fn sinks(document: &Document<&str>) -> Result<Vec<Sink>, Fault> {
    let mut sinks: Vec<Sink> = Vec::new();
    for (sink, at) in tables::<Sink>(document, "sink")? {
        check(&sink, &sinks).map_err(|message| (message, at))?;
        sinks.push(sink);
    }
    Ok(sinks)
}

/// What a sink must be beside what its types say.
fn check(sink: &Sink, others: &[Sink]) -> Result<(), String> {
    /// A name is a part of a file's name.
    const MAX_NAME: usize = 64;
    let name = sink.name.as_str();
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    if name.is_empty() || name.len() > MAX_NAME || !name.bytes().all(fits) {
        return Err(format!("a sink's name has at most {MAX_NAME} letters, digits, dots, dashes and underscores"));
    }
    if others.iter().any(|other| other.name == name) {
        return Err(format!("there are two sinks called {name:?}"));
    }
    if sink.tier > MAX_TIER {
        return Err(format!("`tier` must be 0 to {MAX_TIER}"));
    }
    if sink.token_env.is_some() && sink.token_file.is_some() {
        return Err("a sink has one token: `token_env` or `token_file`".to_owned());
    }
    Ok(())
}

/// A path as a person writes it: absolute, or below `~`.
#[must_use]
pub fn absolute(path: &str, home: &Path) -> Option<PathBuf> {
    let path = match path.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => home.join(rest.trim_start_matches('/')),
        _ => PathBuf::from(path),
    };
    path.is_absolute().then_some(path)
}

/// Adds a sink to the file, or replaces nothing: the name must be free.
///
/// # Errors
/// When the file cannot be used, or the sink is none.
pub fn add_sink(sink: &Sink, host: &Host) -> Result<(), CommandError> {
    let config = Config::read(host)?;
    if config.settings.sinks.iter().any(|other| other.name == sink.name) {
        let error = CommandError::usage(anyhow::anyhow!("there is a sink called {:?} already", sink.name));
        return Err(error
            .hint("give this one another name: --name NAME")
            .hint(format!("or remove that one first: sessionpipe sink remove {}", sink.name)));
    }
    check(sink, &config.settings.sinks).map_err(|message| CommandError::usage(anyhow::anyhow!(message)))?;
    edit(host, |document| {
        let table = toml_edit::ser::to_document(sink).map_err(CommandError::failed)?.into_table();
        let item = document.entry("sink").or_insert_with(|| Item::ArrayOfTables(toml_edit::ArrayOfTables::new()));
        if let Some(tables) = item.as_array_of_tables_mut() {
            tables.push(table);
        }
        Ok(())
    })
}

/// Takes a sink out of the file.
///
/// # Errors
/// When the file cannot be used.
pub fn remove_sink(name: &str, host: &Host) -> Result<(), CommandError> {
    edit(host, |document| {
        if let Some(tables) = document.get_mut("sink").and_then(Item::as_array_of_tables_mut) {
            tables.retain(|table| table.get("name").and_then(Item::as_str) != Some(name));
            if tables.is_empty() {
                document.remove("sink");
            }
        }
        Ok(())
    })
}

/// Changes the file; comments and all else stay. It is readable by its owner alone.
fn edit(host: &Host, change: impl FnOnce(&mut DocumentMut) -> Result<(), CommandError>) -> Result<(), CommandError> {
    let mut document: DocumentMut = text(host)?.unwrap_or_default().parse().map_err(CommandError::failed)?;
    change(&mut document)?;
    let file = host.dirs.config_file();
    if let Some(folder) = file.parent() {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    // A link stays one.
    let file = file.canonicalize().unwrap_or(file);
    let folder = file.parent().unwrap_or(Path::new("/"));
    let mut draft = tempfile::Builder::new().prefix(".config.").tempfile_in(folder)?;
    draft.write_all(document.to_string().as_bytes())?;
    draft.as_file().sync_all()?;
    draft.persist(&file).map_err(|error| CommandError::failed(error.error))?;
    Ok(())
}

fn article(noun: &str) -> String {
    let an = noun.starts_with(['a', 'e', 'i', 'o', 'u']);
    format!("{} {noun}", if an { "an" } else { "a" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Config, Fault> {
        Config::parse(text, Path::new("/home/dev"))
    }

    #[test]
    fn sinks_and_folders() {
        let text = "keep_tier = 2\n\n[[folder]]\npath = \"~/secret\"\nkeep = \"off\"\n\n[[folder]]\npath = \"/w\"\nkeep = 1\n\n\
                    [[sink]]\nname = \"log\"\ntarget = \"/var/log/agents.jsonl\"\nfuture = 1\n\n[[sink]]\nname = \"team\"\n\
                    target = \"https://pipe.example.com/\"\ntier = 1\ntoken_env = \"T\"\nsession_ids = \"uuid\"\n";
        let settings = parse(text).expect("settings").settings;
        let folder = |path: &str, keep| Folder { path: path.into(), keep };
        assert_eq!(settings.policy.tier, 2);
        assert_eq!(settings.policy.folders, [folder("/home/dev/secret", Keep::Off), folder("/w", Keep::Tier(1))]);
        let log = Sink::new("log", "/var/log/agents.jsonl".parse().expect("a target"));
        let team = Sink {
            tier: 1,
            token_env: Some("T".to_owned()),
            session_ids: sessionpipe_pipeline::sink::SessionIds::Uuid,
            ..Sink::new("team", "https://pipe.example.com/".parse().expect("a target"))
        };
        assert_eq!(settings.sinks, [log, team]);
    }

    #[test]
    fn what_no_sink_can_be() {
        let sink = |more: &str| {
            parse(&format!("[[sink]]\nname = \"a\"\ntarget = \"stdout\"\n{more}")).map_err(|fault| fault.0)
        };
        assert!(sink("").is_ok());
        assert_eq!(sink("tier = 4"), Err("`tier` must be 0 to 3".to_owned()));
        let two = Err("there are two sinks called \"a\"".to_owned());
        assert_eq!(sink("[[sink]]\nname = \"a\"\ntarget = \"stdout\"\n"), two);
        assert!(sink("token_env = \"A\"\ntoken_file = \"/b\"\n").is_err());
        assert!(parse("[[sink]]\nname = \"../a\"\ntarget = \"stdout\"\n").is_err());
        let (message, at) =
            parse("[[sink]]\nname = \"a\"\ntarget = \"http://pipe.example.com\"\n").expect_err("in the clear");
        assert!(message.contains("use https://"), "{message}");
        assert_eq!(at, 29, "where the target stands");
        assert!(parse("sink = 1\n").is_err());
        assert!(parse("[[folder]]\npath = \"x\"\nkeep = \"off\"\n").is_err());
        assert!(parse("[[folder]]\npath = \"/x\"\nkeep = \"on\"\n").is_err());
    }

    #[test]
    fn the_machine_has_a_name_or_not() {
        let named = |name: &str| Config { machine: Some(name.to_owned()), ..Config::default() };
        assert_eq!(parse("machine = \"laptop\"\nfuture = 1\n"), Ok(named("laptop")));
        assert_eq!(parse("machine = \"\"\n"), Ok(Config::default()));
        assert_eq!(parse(""), Ok(Config::default()));
    }

    #[test]
    fn what_is_wrong_has_its_place() {
        assert_eq!(parse("x = 1\nmachine = 7\n"), Err(("`machine` must be a string, not an integer".into(), 16)));
        let newer = "`version` must be 1: a newer sessionpipe may have written it";
        assert_eq!(parse("version = 2\n"), Err((newer.into(), 10)));
        assert_eq!(parse("version = 1\n"), Ok(Config::default()));
        let (_, at) = parse("machine = [\n").expect_err("no TOML");
        assert!(at >= 10, "{at}");
    }
}
