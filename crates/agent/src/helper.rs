//! Programs that may do what the agent may not: load eBPF programs. Each is a process of its own behind a socket that
//! root alone can open, started for a connection and ended with it. It speaks in lines of JSON.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::DeserializeOwned;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::time::timeout;

use bayop_core::{Error, Kind, Result, reason};
use bayop_knobs::doctor::Service;

/// How long it may say nothing: loading its programs takes a moment.
const PATIENCE: Duration = Duration::from_secs(10);
/// What a line has at most, in bytes.
const MOST_LINE: u64 = 4 << 20;

/// A kind of helper.
#[derive(Debug, Clone)]
pub(crate) struct Helper {
    /// What errors call it.
    name: &'static str,
    /// The key of the configuration that says where it listens.
    key: &'static str,
    /// Its units: `UNIT.socket`, and `UNIT@.service`.
    unit: &'static str,
    /// What it is for.
    why: &'static str,
    path: PathBuf,
}

impl Helper {
    /// Records interrupts.
    pub fn recorder(path: &Path) -> Self {
        let (key, unit) = ("interrupts.recorder", "bayop-recorder");
        Self { name: "recorder", key, unit, why: "the recorder records interrupts", path: path.to_owned() }
    }

    /// Counts stays of CPUs in idle states.
    pub fn idle_counter(path: &Path) -> Self {
        let (key, unit) = ("idle.counter", "bayop-idle-counter");
        Self { name: "counter", key, unit, why: "the counter counts stays in idle states", path: path.to_owned() }
    }

    /// Has one started.
    ///
    /// # Errors
    /// It can't be reached.
    pub async fn connect(&self) -> Result<Connection> {
        let stream = UnixStream::connect(&self.path).await.map_err(|error| self.unreachable(&error))?;
        Ok(Connection { helper: self.clone(), stream: BufReader::new(stream) })
    }

    /// It, as the doctor looks for it.
    pub fn service(&self) -> Service {
        Service { name: self.key, path: self.path.clone(), why: self.why, unit: self.socket() }
    }

    fn silent(&self) -> Error {
        self.broken(format!("the {} has said nothing in {} s", self.name, PATIENCE.as_secs()))
    }

    fn ended(&self) -> Error {
        let hint = format!("journalctl --unit '{}@*' says why", self.unit);
        self.broken(format!("the {} has ended", self.name)).hint(hint)
    }

    fn unreachable(&self, error: &std::io::Error) -> Error {
        self.broken(format!("the {} at {} can't be reached: {}", self.name, self.path.display(), reason(error)))
            .hint(format!("systemctl start {}", self.socket()))
    }

    fn socket(&self) -> String {
        format!("{}.socket", self.unit)
    }

    fn broken(&self, wrong: String) -> Error {
        Error::new(Kind::Failed, wrong).at(self.key)
    }
}

/// One that runs.
#[derive(Debug)]
pub(crate) struct Connection {
    helper: Helper,
    stream: BufReader<UnixStream>,
}

impl Connection {
    /// Tells it a line.
    ///
    /// # Errors
    /// It can't be reached any more, or does not listen.
    pub async fn tell(&mut self, line: &str) -> Result<()> {
        let Self { helper, stream } = self;
        let told = timeout(PATIENCE, stream.write_all(format!("{line}\n").as_bytes())).await;
        told.map_err(|_| helper.silent())?.map_err(|error| helper.unreachable(&error))
    }

    /// Its next line, and of so many bytes behind it as `length` says the line stands for.
    ///
    /// # Errors
    /// It has ended, says nothing in time, or something else.
    pub async fn next<T: DeserializeOwned>(
        &mut self,
        length: impl FnOnce(&T) -> Option<usize>,
    ) -> Result<(T, Vec<u8>)> {
        let Self { helper, stream } = self;
        let said = async {
            let mut line = Vec::new();
            stream.take(MOST_LINE).read_until(b'\n', &mut line).await.ok()?;
            let line = serde_json::from_slice(&line).ok()?;
            let mut bytes = vec![0; length(&line)?];
            stream.read_exact(&mut bytes).await.ok()?;
            Some((line, bytes))
        };
        timeout(PATIENCE, said).await.map_err(|_| helper.silent())?.ok_or_else(|| helper.ended())
    }

    /// Its next line, with nothing behind it.
    ///
    /// # Errors
    /// As of [`Self::next`].
    pub async fn line<T: DeserializeOwned>(&mut self) -> Result<T> {
        Ok(self.next(|_| Some(0)).await?.0)
    }
}
