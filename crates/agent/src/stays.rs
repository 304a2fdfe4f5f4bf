//! How long the CPUs stay in their idle states, counted for as long as somebody asks.
//!
//! `bayop-idle-count` counts since its connection began and says so whenever it is asked; it ends after half a minute in
//! which it was not, and whoever asks then has another one begin. How well its experts have forecast the stays is added up
//! over all countings, for `/metrics`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, PoisonError};
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
    /// Who has forecast how long they would be.
    pub experts: Vec<String>,
    /// CPU, expert, forecasts, hits, by how many us all were wrong, and the expert's weight in thousandths.
    pub forecasts: Vec<(u64, u64, u64, u64, u64, u64)>,
}

/// How well an expert has forecast stays.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Score {
    /// What it has forecast.
    pub forecasts: u64,
    /// Of them, those by which the right state would have been chosen.
    pub hits: u64,
    /// By how much all were wrong, in us.
    pub loss_us: u64,
}

/// The counter's first line.
#[derive(Debug, Clone, Deserialize)]
struct Header {
    states: Vec<(String, u32, u32)>,
    bounds_us: Vec<f64>,
    #[serde(default)] // The counter is installed by hand, and may be an older one.
    experts: Vec<String>,
}

/// What it says when it is asked.
#[derive(Debug, Deserialize)]
struct Counted {
    duration_s: f64,
    stays: Vec<(u64, u64, u64, u64)>,
    #[serde(default)]
    forecasts: Vec<(u64, u64, u64, u64, u64, u64)>,
}

type Scores = BTreeMap<String, Score>;

/// What is counted now.
#[derive(Debug, Clone)]
pub struct Counting {
    counter: Option<Helper>,
    /// Whoever asks keeps others waiting.
    asked: Arc<Mutex<Asked>>,
    scores: Arc<std::sync::Mutex<Scores>>,
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
    /// What was added up of its scores already.
    scored: Scores,
}

impl Counting {
    /// Nothing is counted yet, and nothing ever without a counter.
    pub fn new(counter: Option<&Counter>) -> Self {
        let counter = counter.map(|counter| Helper::idle_counter(&counter.counter));
        Self { counter, asked: Arc::default(), scores: Arc::default() }
    }

    /// How well each expert has forecast the stays that the agent was asked for.
    pub fn scores(&self) -> BTreeMap<String, Score> {
        self.scores.lock().unwrap_or_else(PoisonError::into_inner).clone()
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
        let scores = self.scores.clone();
        // A task of its own: whoever leaves before the answer ends nothing for others.
        let answer = tokio::spawn(async move {
            let stays = asked.stays(&counter).await?;
            asked.score(&stays, &mut scores.lock().unwrap_or_else(PoisonError::into_inner));
            Ok(stays)
        });
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

    /// Adds what has come since the last time.
    fn score(&mut self, stays: &Stays, scores: &mut Scores) {
        let Some(running) = &mut self.running else { return };
        let now = stays.scores();
        for (expert, now) in &now {
            let then = running.scored.get(expert).copied().unwrap_or_default();
            let sum = scores.entry(expert.clone()).or_default();
            for (sum, now, then) in [
                (&mut sum.forecasts, now.forecasts, then.forecasts),
                (&mut sum.hits, now.hits, then.hits),
                (&mut sum.loss_us, now.loss_us, then.loss_us),
            ] {
                *sum = sum.saturating_add(now.saturating_sub(then));
            }
        }
        running.scored = now;
    }
}

impl Stays {
    /// Each expert's, of all CPUs.
    fn scores(&self) -> Scores {
        let mut scores: Scores = self.experts.iter().map(|expert| (expert.clone(), Score::default())).collect();
        for &(_, expert, forecasts, hits, loss_us, _) in &self.forecasts {
            let expert = usize::try_from(expert).ok().and_then(|expert| self.experts.get(expert));
            if let Some(score) = expert.and_then(|expert| scores.get_mut(expert)) {
                score.forecasts = score.forecasts.saturating_add(forecasts);
                score.hits = score.hits.saturating_add(hits);
                score.loss_us = score.loss_us.saturating_add(loss_us);
            }
        }
        scores
    }
}

impl Running {
    async fn begin(counter: &Helper) -> Result<(Self, Stays)> {
        let mut counter = counter.connect().await?;
        let header = counter.line().await?;
        let mut running = Self { header, began_s: since_boot().as_secs_f64(), counter, scored: Scores::new() };
        let stays = running.stays().await?;
        Ok((running, stays))
    }

    async fn stays(&mut self) -> Result<Stays> {
        self.counter.tell("").await?;
        let Counted { duration_s, stays, forecasts } = self.counter.line().await?;
        let Header { states, bounds_us, experts } = self.header.clone();
        Ok(Stays { states, bounds_us, began_s: self.began_s, duration_s, stays, experts, forecasts })
    }
}
