//! Where OMP keeps things: its config root, the agent folder of each profile, and their sessions.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use sessionpipe_core::file::entries;
use sessionpipe_core::host::Host;

/// The application's name below `$XDG_DATA_HOME`.
const APP: &str = "omp";

/// The config root: `~/.omp`, or the folder in the home that `PI_CONFIG_DIR` names. (OMP joins the two: an absolute value,
/// too, is taken as one below the home.)
pub(crate) fn root(host: &Host) -> PathBuf {
    let name = host.var("PI_CONFIG_DIR").filter(|name| !name.is_empty()).unwrap_or(OsStr::new(".omp"));
    let below = Path::new(name).components().filter(|part| !matches!(part, Component::RootDir | Component::Prefix(_)));
    host.home.join(below.collect::<PathBuf>())
}

/// The agent folders, the one of this environment first, then those of the other profiles that there are.
pub(crate) fn agent_dirs(host: &Host) -> Vec<PathBuf> {
    let mut dirs = vec![active(host), root(host).join("agent")];
    let mut profiles: Vec<PathBuf> = entries(&root(host).join("profiles")).map(|dir| dir.join("agent")).collect();
    profiles.sort();
    dirs.extend(profiles);
    let mut seen: Vec<PathBuf> = Vec::new();
    for (nth, dir) in dirs.into_iter().enumerate() {
        if !seen.contains(&dir) && (nth == 0 || dir.is_dir()) {
            seen.push(dir);
        }
    }
    seen
}

/// The agent folder of this environment. A named profile has its own, whatever `PI_CODING_AGENT_DIR` says.
fn active(host: &Host) -> PathBuf {
    if let Some(profile) = profile(host) {
        return root(host).join("profiles").join(profile).join("agent");
    }
    host.path_var("PI_CODING_AGENT_DIR").unwrap_or_else(|| root(host).join("agent"))
}

/// `OMP_PROFILE`, else `PI_PROFILE`; an empty value, and `default`, is none. What is no name of a profile keeps OMP from
/// starting.
fn profile(host: &Host) -> Option<String> {
    let named = host.var("OMP_PROFILE").or_else(|| host.var("PI_PROFILE"))?.to_str()?.trim();
    let is_name =
        |name: &str| !name.ends_with('.') && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
    Some(named).filter(|name| !["", "default"].contains(name) && is_name(name)).map(str::to_owned)
}

/// Where sessions lie: below each agent folder, or, where that folder is there, below `$XDG_DATA_HOME/omp`.
pub(crate) fn session_dirs(host: &Host) -> Vec<PathBuf> {
    let xdg = host.var("XDG_DATA_HOME").filter(|dir| !dir.is_empty()).map(|dir| Path::new(dir).join(APP));
    let profiles = xdg.iter().flat_map(|dir| entries(&dir.join("profiles")).collect::<Vec<_>>());
    let moved = xdg.iter().cloned().chain(profiles).map(|dir| dir.join("sessions"));
    agent_dirs(host).into_iter().map(|dir| dir.join("sessions")).chain(moved).collect()
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use sessionpipe_core::testing::{host, write};
    use tempfile::TempDir;

    use super::*;

    fn with(host: &Host, vars: &[(&str, &str)]) -> Host {
        let mut host = host.clone();
        host.env.extend(vars.iter().map(|(name, value)| ((*name).to_owned(), OsString::from(value))));
        host
    }

    #[test]
    fn the_folder_of_an_environment() {
        let home = TempDir::new().expect("a folder");
        let host = host(home.path());
        let at = |path: &str| home.path().join(path);
        for (vars, expected) in [
            (&[][..], at(".omp/agent")),
            (&[("PI_CONFIG_DIR", ".cfgx")], at(".cfgx/agent")),
            (&[("PI_CONFIG_DIR", "/srv/omp")], at("srv/omp/agent")),
            (&[("PI_CODING_AGENT_DIR", "/srv/agent")], "/srv/agent".into()),
            (&[("PI_CODING_AGENT_DIR", "~/x")], host.cwd.join("~/x")),
            (&[("PI_CODING_AGENT_DIR", "")], at(".omp/agent")),
            (&[("OMP_PROFILE", "office"), ("PI_CODING_AGENT_DIR", "/srv/agent")], at(".omp/profiles/office/agent")),
            (&[("OMP_PROFILE", "office"), ("PI_CONFIG_DIR", ".cfgx")], at(".cfgx/profiles/office/agent")),
            (&[("PI_PROFILE", "old")], at(".omp/profiles/old/agent")),
            (&[("OMP_PROFILE", ""), ("PI_PROFILE", "old")], at(".omp/agent")),
            (&[("OMP_PROFILE", "default")], at(".omp/agent")),
            (&[("OMP_PROFILE", "../../x")], at(".omp/agent")),
        ] {
            assert_eq!(agent_dirs(&with(&host, vars)), [expected], "{vars:?}");
        }
    }

    #[test]
    fn every_profile_that_is_there() {
        let home = TempDir::new().expect("a folder");
        let host = host(home.path());
        write(&home.path().join(".omp/agent/config.yml"), "");
        write(&home.path().join(".omp/profiles/office/agent/config.yml"), "");
        write(&home.path().join(".omp/profiles/empty/x"), "");
        let [agent, office] = [".omp/agent", ".omp/profiles/office/agent"].map(|path| home.path().join(path));
        assert_eq!(agent_dirs(&host), [agent.clone(), office.clone()]);
        assert_eq!(agent_dirs(&with(&host, &[("OMP_PROFILE", "office")])), [office, agent]);
    }

    #[test]
    fn sessions_lie_in_the_data_folder_where_omp_moved_them() {
        let home = TempDir::new().expect("a folder");
        let data = home.path().join("data");
        let host = with(&host(home.path()), &[("XDG_DATA_HOME", data.to_str().expect("a path"))]);
        write(&data.join("omp/profiles/office/x"), "");
        let expected = [
            home.path().join(".omp/agent/sessions"),
            data.join("omp/sessions"),
            data.join("omp/profiles/office/sessions"),
        ];
        assert_eq!(session_dirs(&host), expected);
    }
}
