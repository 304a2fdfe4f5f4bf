//! How long the CPUs stay in their idle states, counted for as long as somebody asks.
//!
//! `bayop-idle-count` counts since its connection began and says so whenever it is asked; it ends after half a minute in
//! which it was not, and whoever asks then has another one begin.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;
use utoipa::ToSchema;

use bayop_core::{Error, Kind, Result};

use crate::clock::since_boot;
use crate::helper::{Connection, Helper};

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
    running: Arc<Mutex<Option<Running>>>,
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
        Self { counter, running: Arc::default() }
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
        let mut running = self.running.lock().await;
        // One that was not asked for long has ended; and one that is asked by somebody who then leaves is given up.
        if let Some(mut counting) = running.take() {
            if let Ok(stays) = counting.stays().await {
                *running = Some(counting);
                return Ok(stays);
            }
        }
        let mut counting = Running::begin(counter).await?;
        let stays = counting.stays().await?;
        *running = Some(counting);
        Ok(stays)
    }
}

impl Running {
    async fn begin(counter: &Helper) -> Result<Self> {
        let mut counter = counter.connect().await?;
        let header = counter.line().await?;
        Ok(Self { header, began_s: since_boot().as_secs_f64(), counter })
    }

    async fn stays(&mut self) -> Result<Stays> {
        self.counter.tell("").await?;
        let Counted { duration_s, stays } = self.counter.line().await?;
        let Header { states, bounds_us } = self.header.clone();
        Ok(Stays { states, bounds_us, began_s: self.began_s, duration_s, stays })
    }
}
