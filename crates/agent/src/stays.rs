//! How long the CPUs stay in their idle states, counted for as long as somebody asks.
//!
//! `bayop-idle-count` counts since its connection began and says so whenever it is asked; it ends after half a minute in
//! which it was not, and whoever asks then has another one begin.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;
use tokio::time::Instant;
use utoipa::ToSchema;

use bayop_core::{Error, Kind, Result};

use crate::clock::since_boot;
use crate::helper::{Connection, Helper};

/// So long after one could not be begun, none is.
const PAUSE: Duration = Duration::from_secs(2);

/// The `[idle]` table: with it, stays may be counted.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counter {
    /// Where the counter listens.
    #[serde(default = "default_counter")]
    pub counter: PathBuf,
}

fn default_counter() -> PathBuf {
    "/run/bayop/idle-counter.sock".into()
}

impl Counter {
    /// Refuses what can't be meant.
    ///
    /// # Errors
    /// The path is relative.
    pub fn check(&self) -> Result<()> {
        if self.counter.is_absolute() {
            return Ok(());
        }
        Err(Error::cannot_use(self.counter.display(), "counter must be an absolute path"))
    }
}

/// All stays of CPUs in idle states since a counting began.
#[derive(Debug, Serialize, ToSchema)]
pub struct Stays {
    /// Name, exit latency and target residency in us of each state, from the shallowest to the deepest.
    pub states: Vec<(String, u32, u32)>,
    /// The shortest length of each bin, in us.
    pub bounds_us: Vec<f64>,
    /// When the counting began, in s since the machine's start: it tells one from another.
    pub began_s: f64,
    /// How long it has gone on, in s.
    pub duration_s: f64,
    /// CPU, state, bin, and how many stays.
    pub stays: Vec<(u64, u64, u64, u64)>,
}

/// The counter's first line.
#[derive(Debug, Clone, Deserialize)]
struct Header {
    states: Vec<(String, u32, u32)>,
    bounds_us: Vec<f64>,
}

/// What it says when it is asked.
#[derive(Debug, Deserialize)]
struct Counted {
    duration_s: f64,
    stays: Vec<(u64, u64, u64, u64)>,
}

/// What is counted now.
#[derive(Debug, Clone)]
pub struct Counting {
    counter: Option<Helper>,
    /// Whoever asks keeps others waiting.
    asked: Arc<Mutex<Asked>>,
}

#[derive(Debug, Default)]
struct Asked {
    running: Option<Running>,
    /// Why none could be begun, and when.
    failed: Option<(Instant, Error)>,
}

#[derive(Debug)]
struct Running {
    header: Header,
    began_s: f64,
    counter: Connection,
}

impl Counting {
    /// Nothing is counted yet, and nothing ever without a counter.
    pub fn new(counter: Option<&Counter>) -> Self {
        let counter = counter.map(|counter| Helper::idle_counter(&counter.counter));
        Self { counter, asked: Arc::default() }
    }

    /// All stays since the counting began, which the first who asks begins.
    ///
    /// # Errors
    /// The configuration does not allow it; the counter can't be reached, or refuses.
    pub async fn stays(&self) -> Result<Stays> {
        let counter = self.counter.as_ref().ok_or_else(|| {
            Error::new(Kind::Forbidden, "this agent counts no stays in idle states")
                .rule("its configuration must have the table [idle]")
                .hint("docs/idle.md, \"By the agent\"")
        })?;
        let (counter, mut asked) = (counter.clone(), self.asked.clone().lock_owned().await);
        // A task of its own: whoever leaves before the answer ends nothing for others.
        let answer = tokio::spawn(async move { asked.stays(&counter).await });
        answer.await.expect("it neither panics nor is ended")
    }
}

impl Asked {
    async fn stays(&mut self, counter: &Helper) -> Result<Stays> {
        // One that was not asked for long has ended.
        if let Some(mut running) = self.running.take() {
            if let Ok(stays) = running.stays().await {
                self.running = Some(running);
                return Ok(stays);
            }
        }
        // Who has waited for one that failed has the same answer.
        if let Some((_, error)) = self.failed.as_ref().filter(|(at, _)| at.elapsed() < PAUSE) {
            return Err(error.clone());
        }
        match Running::begin(counter).await {
            Ok((running, stays)) => {
                self.running = Some(running);
                Ok(stays)
            }
            Err(error) => {
                self.failed = Some((Instant::now(), error.clone()));
                Err(error)
            }
        }
    }
}

impl Running {
    async fn begin(counter: &Helper) -> Result<(Self, Stays)> {
        let mut counter = counter.connect().await?;
        let header = counter.line().await?;
        let mut running = Self { header, began_s: since_boot().as_secs_f64(), counter };
        let stays = running.stays().await?;
        Ok((running, stays))
    }

    async fn stays(&mut self) -> Result<Stays> {
        self.counter.tell("").await?;
        let Counted { duration_s, stays } = self.counter.line().await?;
        let Header { states, bounds_us } = self.header.clone();
        Ok(Stays { states, bounds_us, began_s: self.began_s, duration_s, stays })
    }
}
