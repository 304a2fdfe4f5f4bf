//! `/etc/bayop/agent.toml`: a file that only its owner can change.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use bayop_knobs::{catalogue, doctor, sensor};
use serde::{Deserialize, Serialize};
use toml::Spanned;
use toml::de::DeTable;
use utoipa::ToSchema;

use crate::allow_list::{AllowList, Rule};
use crate::files::{self, DEFAULT_PATH, LATENCY_SOCKET, trusted};
use crate::helper::Helper;
use crate::peer::Roles;
use crate::recordings::Quota;
use crate::stays::Counter;
use bayop_core::{Error, Result};

/// Where the journal is unless the configuration says otherwise.
const DEFAULT_STATE_DIR: &str = "/var/lib/bayop";

/// How far the agent goes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Read sensors; refuse settings.
    #[default]
    Observe,
    /// Say and log what a setting would change; write nothing.
    Advise,
    /// Apply settings.
    Apply,
}

/// The TCP listener; there is none without all of these.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tls {
    /// The address and port, such as `0.0.0.0:9617`.
    pub listen: SocketAddr,
    /// The agent's certificate chain, PEM.
    pub certificate: PathBuf,
    /// Its private key, PEM.
    pub key: PathBuf,
    /// The authority that signs the certificates of clients, PEM.
    pub client_ca: PathBuf,
    /// Certificates of that authority that it has revoked, as a list of its own (CRL).
    pub revoked: Option<PathBuf>,
}

/// The checked configuration.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// How far the agent goes.
    pub mode: Mode,
    /// The Unix socket.
    pub socket: PathBuf,
    /// The group that may use it.
    pub group: String,
    /// The folder of the journal.
    pub state_dir: PathBuf,
    /// The TCP listener.
    pub tls: Option<Tls>,
    /// What may be written.
    pub allow: AllowList,
    /// Which meter is used.
    pub power: sensor::Options,
    /// Who may what.
    pub roles: Roles,
    /// Which interrupts may be recorded; none without it.
    pub interrupts: Option<Quota>,
    /// Who counts stays in idle states; nobody without it.
    pub idle: Option<Counter>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct File {
    mode: Mode,
    socket: PathBuf,
    group: String,
    state_dir: PathBuf,
    tls: Option<Tls>,
    allow: BTreeMap<Spanned<String>, Rule>,
    power: Spanned<sensor::Options>,
    roles: Spanned<Roles>,
    interrupts: Option<Spanned<Quota>>,
    idle: Option<Spanned<Counter>>,
}

impl Default for File {
    fn default() -> Self {
        Self {
            mode: Mode::default(),
            socket: "/run/bayop/agent.sock".into(),
            group: "bayop".to_owned(),
            state_dir: DEFAULT_STATE_DIR.into(),
            tls: None,
            allow: BTreeMap::new(),
            power: Spanned::new(0..0, sensor::Options::default()),
            roles: Spanned::new(0..0, Roles::default()),
            interrupts: None,
            idle: None,
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Observe => "observe",
            Self::Advise => "advise",
            Self::Apply => "apply",
        })
    }
}

impl Config {
    /// What the doctor is to look at, the knobs of the whole catalogue among it.
    pub fn examined(&self) -> doctor::Options {
        let recorder = self.interrupts.iter().map(|quota| Helper::recorder(&quota.recorder));
        let counter = self.idle.iter().map(|counter| Helper::idle_counter(&counter.counter));
        let services = recorder.chain(counter).map(|helper| helper.service()).collect();
        doctor::Options { knobs: Vec::new(), power: self.power.clone(), services }
    }

    /// Reads the file; without a `path`, the one at [`DEFAULT_PATH`] or, when there is none, the defaults, with which
    /// the agent observes and nothing is writable.
    ///
    /// # Errors
    /// The file can't be read, others may write it, or it is not a configuration.
    pub fn load(path: Option<&Path>) -> Result<Self> {
        let default = Path::new(DEFAULT_PATH);
        match path {
            None if !default.exists() => Self::parse("", default),
            path => Self::read(path.unwrap_or(default)),
        }
    }

    fn read(path: &Path) -> Result<Self> {
        Self::parse(&text(path)?, path)
    }

    /// Checks a configuration's text; `path` is where messages say it came from.
    ///
    /// # Errors
    /// A key is unknown, a value has the wrong type or is out of bounds, or a knob is not in the catalogue.
    pub fn parse(text: &str, path: &Path) -> Result<Self> {
        let place = |offset: usize| format!("{}:{}", path.display(), text[..offset].matches('\n').count() + 1);
        let file: File = toml::from_str(text).map_err(|error| {
            let wrong = Error::input(format!("cannot use the configuration: {}", error.message()));
            let wrong = wrong.at(place(error.span().map_or(0, |span| span.start)));
            if text.contains("[tls]") && error.message().contains("missing field") {
                return wrong.hint("TCP is served with mutual TLS only: listen, certificate, key and client_ca");
            }
            wrong.hint("docs/agent.md has every key; bayop-agent check-config checks the file")
        })?;
        let mut rules = BTreeMap::new();
        for (id, rule) in file.allow {
            let place = place(id.span().start);
            if catalogue::entry(id.as_ref()).is_none() {
                let ids: Vec<_> = catalogue::entries().iter().map(|entry| entry.id.as_str()).collect();
                let unknown = Error::input(format!("there is no knob {}", id.as_ref())).value(id.as_ref()).at(place);
                return Err(unknown.hint(format!("known knobs: {}", ids.join(", "))));
            }
            rule.check().map_err(|error| error.at(format!("{place}: allow.{:?}", id.as_ref())))?;
            rules.insert(id.into_inner(), rule);
        }
        let power_place = place(file.power.span().start);
        file.power.get_ref().check().map_err(|error| {
            let key = error.place.clone().unwrap_or_default();
            Error { place: Some(format!("{power_place}: {key}").into()), ..error }
        })?;
        let in_table = |error: Error, begins: usize, key| error.at(format!("{}: {key}", place(begins)));
        file.roles.get_ref().check().map_err(|error| in_table(error, file.roles.span().start, "roles"))?;
        if let Some(quota) = &file.interrupts {
            quota.get_ref().check().map_err(|error| in_table(error, quota.span().start, "interrupts"))?;
        }
        if let Some(counter) = &file.idle {
            counter.get_ref().check().map_err(|error| in_table(error, counter.span().start, "idle"))?;
        }
        let File { mode, socket, group, state_dir, tls, power, roles, interrupts, idle, .. } = file;
        for (key, value) in [("socket", &socket), ("state_dir", &state_dir)] {
            if !value.is_absolute() {
                return Err(Error::cannot_use(value.display(), format!("{key} must be an absolute path")).at(place(0)));
            }
        }
        if socket.ends_with(LATENCY_SOCKET) {
            let rule = "socket must have another name than the socket for latencies beside it";
            return Err(Error::cannot_use(socket.display(), rule).at(place(0)));
        }
        let (power, roles) = (power.into_inner(), roles.into_inner());
        let (interrupts, idle) = (interrupts.map(Spanned::into_inner), idle.map(Spanned::into_inner));
        Ok(Self { mode, socket, group, state_dir, tls, allow: AllowList(rules), power, roles, interrupts, idle })
    }
}

/// The folder of the journal, whatever else is wrong with the configuration: undoing depends on nothing but this. With
/// it, why the rest or all of the file was passed over.
///
/// # Errors
/// Another file than the default one is named and can't be read: its journal is not where the default one's is.
pub fn state_dir(path: Option<&Path>) -> Result<(PathBuf, Option<Error>)> {
    let default = Path::new(DEFAULT_PATH);
    if path.is_none() && !default.exists() {
        return Ok((DEFAULT_STATE_DIR.into(), None));
    }
    let file = path.unwrap_or(default);
    match text(file).map(|text| (stated(&text), Config::parse(&text, file))) {
        Ok((Some(state_dir), parsed)) => Ok((state_dir, parsed.err())),
        Ok((None, parsed)) => Ok((DEFAULT_STATE_DIR.into(), parsed.err())),
        Err(unreadable) if path.is_none() => Ok((DEFAULT_STATE_DIR.into(), Some(unreadable))),
        Err(unreadable) => Err(unreadable.hint("--state-dir names the folder of the journal without it")),
    }
}

/// What a text says of `state_dir`, however broken it is elsewhere.
pub fn stated(text: &str) -> Option<PathBuf> {
    let (table, _errors) = DeTable::parse_recoverable(text);
    let state_dir = PathBuf::from(table.get_ref().get("state_dir")?.get_ref().as_str()?);
    state_dir.is_absolute().then_some(state_dir)
}

/// The text of a configuration that nobody else could have changed.
fn text(path: &Path) -> Result<String> {
    trusted(path)?;
    files::text(path).map_err(|error| Error::unreadable(path, &error))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn parse(text: &str) -> Result<Config> {
        Config::parse(text, Path::new("agent.toml"))
    }

    #[test]
    fn the_default_observes_and_allows_nothing() {
        let config = parse("").unwrap();
        assert_eq!((config.mode, config.allow.0.len(), config.tls.is_none()), (Mode::Observe, 0, true));
    }

    #[test]
    fn every_mistake_names_its_line() {
        for (text, line, word) in [
            ("mode = 'apply'\nmoed = 1", 2, "moed"),
            ("mode = 'observer'", 1, "observer"),
            ("\n[allow.\"power.cap\"]\nplaces = ['*']", 2, "power.cap"),
            ("[allow.\"power.cap_w\"]\nplaces = ['*']\nlow = nan", 1, "finite"),
            ("[allow.\"power.cap_w\"]\nplaces = ['*']\nlow = 3\nhigh = 2", 1, "low"),
            ("[allow.\"power.cap_w\"]\nplaces = ['*']\nlow = '3'", 3, "invalid type"),
            ("[allow.\"power.cap_w\"]\nlow = 3", 1, "places"),
            ("\n[tls]\nlisten = '0.0.0.0:9617'\ncertificate = 'a'\nkey = 'b'", 2, "client_ca"),
            ("[tls]\nlisten = 'nowhere'\ncertificate = 'a'\nkey = 'b'\nclient_ca = 'c'", 2, "socket address"),
            ("socket = 'agent.sock'", 1, "absolute"),
            ("socket = '/run/bayop/latency.sock'", 1, "another name"),
            ("\n[power]\nmeter = []", 2, "meter"),
            ("\n[roles]\napply = ['alice']", 2, "user:NAME"),
            ("\n[roles]\nadmit = ['*']", 3, "admit"),
            ("\n[interrupts]\ndevices = ['eth0']\nkeep_mb = 0", 2, "keep_mb"),
            ("\n[interrupts]\nkeep_mb = 1", 2, "devices"),
            ("\n[interrupts]\ndevices = []", 2, "devices"),
            ("[interrupts]\ndevices = ['eth0']\nrecorder = 'here'", 1, "absolute"),
            ("[idle]\ncounter = 'here'", 1, "absolute"),
            ("[idle]\nrecorder = '/here'", 2, "recorder"),
            ("\n[power.model]\nidle_w = 30\nbusy_w = 20", 2, "idle_w"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.place.as_ref().unwrap().starts_with(&format!("agent.toml:{line}")), "{text}: {error}");
            assert!(error.to_string().contains(word), "{text}: {error}");
        }
    }

    #[test]
    fn a_file_that_others_can_write_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let load = |mode| {
            fs::set_permissions(file.path(), fs::Permissions::from_mode(mode)).unwrap();
            Config::load(Some(file.path()))
        };
        assert!(load(0o600).is_ok() && load(0o644).is_ok());
        assert!(load(0o664).is_err() && load(0o646).is_err());
    }

    #[test]
    fn the_state_folder_is_found_in_a_broken_file() {
        for broken in [
            "mode = 'nonsense'\nstate_dir = '/a'",
            "moed = 1\nstate_dir = '/a'",
            "state_dir = '/a'\n[allow.\"power.cap\"]\nplaces = ['*']",
            "state_dir = '/a'\n[tls]\nlisten = 3",
            "mode = \nstate_dir = '/a'\n[allow",
            "state_dir = '/a'\nstate_dir = '/b'",
        ] {
            assert!(parse(broken).is_err());
            assert_eq!(stated(broken), Some("/a".into()), "{broken}");
        }
        for silent in ["", "state_dir = 3", "state_dir = 'relative'", "[state_dir]", "\0\u{ff}"] {
            assert_eq!(stated(silent), None, "{silent}");
        }
    }

    #[test]
    fn a_named_file_that_is_absent_is_refused() {
        assert!(Config::load(Some(Path::new("/absent/agent.toml"))).is_err());
    }
}
