//! What a run saw, in a form that merges exactly.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::AddAssign;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use crate::histogram::{Histogram, quantile_of};
use crate::mix;
use crate::plan::LONGEST_S;
use bayop_core::Error;

/// Batches of a measurement.
pub const BATCHES: usize = 40;
/// Most that is counted of anything in a run: the bytes of 11 days at 500 Gbit/s. So what hundreds of them have counted
/// adds up.
const MOST_COUNT: u64 = 1 << 56;
/// Most kinds of trouble that are told apart.
const MOST_TROUBLES: usize = 20;

/// Requests that were meant to be sent in one stretch of the measurement, or that have a name in common.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Batch {
    /// Latency of what was answered, from the intended send time.
    pub latency: Histogram,
    /// Requests that were refused or never answered.
    pub failed: u64,
}

impl Batch {
    /// Adds everything of another one.
    pub fn merge(&mut self, other: &Self) {
        self.latency.merge(&other.latency);
        self.failed += other.failed;
    }

    /// Requests.
    pub fn count(&self) -> u64 {
        self.latency.count() + self.failed
    }

    /// The latency that a share `quantile` of them does not exceed; `None` when it falls on one that failed.
    pub fn quantile_ns(&self, quantile: f64) -> Option<u64> {
        quantile_of(&self.latency, quantile, self.count())
    }
}

/// Why requests have no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// The server closed or reset the connection.
    Closed,
    /// No answer within the timeout.
    TimedOut,
    /// The server sent something that is no reply, and the connection was given up.
    Garbage,
    /// No connection was open when they were due.
    Unconnected,
}

/// How many of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Counts {
    /// Requests whose intended send time lies in the measurement.
    pub intended: u64,
    /// Of these, answered as asked: hits, misses and stores.
    pub answered: u64,
    /// Of these, those of which the kernel has told when they came in; of the others it counts when they were read.
    pub timestamped: u64,
    /// Answered with an error message.
    pub refused: u64,
    /// Lost with a connection that the server closed.
    pub lost_closed: u64,
    /// Lost to the timeout.
    pub lost_timed_out: u64,
    /// Lost to garbage.
    pub lost_garbage: u64,
    /// Lost because there was no connection.
    pub lost_unconnected: u64,
    /// Requests that asked for a record.
    pub gets: u64,
    /// Of these, answered that there is none.
    pub misses: u64,
    /// Replies over HTTP by the class of their status: success.
    pub status_2xx: u64,
    /// Redirections, which are not followed.
    pub status_3xx: u64,
    /// Errors of the client; of these, 404 and 410 are misses, and the others refused.
    pub status_4xx: u64,
    /// Errors of the server, all refused.
    pub status_5xx: u64,
    /// Hits, misses and stores that were answered while the measurement lasted, whenever their requests were due.
    pub answers_in_time: u64,
    /// Bytes written while the measurement lasted.
    pub bytes_sent: u64,
    /// Bytes read while the measurement lasted.
    pub bytes_received: u64,
    /// Connections that were opened anew since the warm-up.
    pub reconnects: u64,
    /// Requests that waited for room under the depth limit, or for a connection.
    pub queued: u64,
}

impl Counts {
    /// Where losses of this kind are counted.
    pub fn lost_mut(&mut self, loss: Loss) -> &mut u64 {
        match loss {
            Loss::Closed => &mut self.lost_closed,
            Loss::TimedOut => &mut self.lost_timed_out,
            Loss::Garbage => &mut self.lost_garbage,
            Loss::Unconnected => &mut self.lost_unconnected,
        }
    }

    /// Counts an answer over HTTP.
    pub fn add_status(&mut self, status: u16) {
        match status / 100 {
            2 => self.status_2xx += 1,
            3 => self.status_3xx += 1,
            4 => self.status_4xx += 1,
            5 => self.status_5xx += 1,
            _ => {}
        }
    }

    /// All of them.
    fn each(&mut self) -> [&mut u64; 19] {
        let Self {
            intended,
            answered,
            timestamped,
            refused,
            lost_closed,
            lost_timed_out,
            lost_garbage,
            lost_unconnected,
            gets,
            misses,
            status_2xx,
            status_3xx,
            status_4xx,
            status_5xx,
            answers_in_time,
            bytes_sent,
            bytes_received,
            reconnects,
            queued,
        } = self;
        [
            intended,
            answered,
            timestamped,
            refused,
            lost_closed,
            lost_timed_out,
            lost_garbage,
            lost_unconnected,
            gets,
            misses,
            status_2xx,
            status_3xx,
            status_4xx,
            status_5xx,
            answers_in_time,
            bytes_sent,
            bytes_received,
            reconnects,
            queued,
        ]
    }

    /// Requests that have no answer at all.
    pub fn lost(&self) -> u64 {
        self.lost_closed + self.lost_timed_out + self.lost_garbage + self.lost_unconnected
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, mut other: Self) {
        self.each().into_iter().zip(other.each()).for_each(|(count, more)| *count += *more);
    }
}

/// The times of one request, in ns since the start of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// When it was meant to be sent.
    pub intended_ns: u64,
    /// When it was handed to the kernel.
    pub sent_ns: u64,
    /// When its reply came in.
    pub received_ns: u64,
}

/// What one or several generators saw.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// The measurement in stretches of equal length.
    pub batches: Vec<Batch>,
    /// How late requests were sent because the generator was busy.
    pub lateness: Histogram,
    /// What the latencies would be, had every request been sent in time: from the send time, but for requests that had
    /// to wait for a reason that is not the generator's.
    pub punctual: Histogram,
    /// How many of each.
    pub counts: Counts,
    /// Length of the measurement.
    pub duration_s: f64,
    /// What went wrong since the warm-up, in words, and how often.
    pub troubles: BTreeMap<String, u64>,
    /// The measurement ended because the interval was narrow enough.
    pub ended_early: bool,
    /// Somebody ended it.
    pub interrupted: bool,
    /// What was seen of each request of a mix, by its name: of those that were sent.
    pub mix: BTreeMap<String, Batch>,
    /// The times of every answered request, where asked for.
    pub samples: Vec<Sample>,
}

impl Report {
    /// Reads what `to_json` wrote of one run.
    ///
    /// # Errors
    /// It is something else, or what no run gives.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        let other = |why: &str| Error::input(format!("this is no report of this program: {}", printable(why)));
        let read = |error: serde_json::Error| other(&error.to_string()).at("report");
        let Extent { batches, mix } = serde_json::from_str(text).map_err(read)?;
        if batches.len() > BATCHES || mix.len() > mix::MOST {
            let wrong = format!("it has {} batches, and a mix of {}", batches.len(), mix.len());
            let rule = format!("batches must be at most {BATCHES}, and a mix of at most {}", mix::MOST);
            return Err(other(&wrong).rule(rule).at("report"));
        }
        let mut report: Self = serde_json::from_str(text).map_err(read)?;
        if !(0.0..=LONGEST_S).contains(&report.duration_s) {
            let wrong = format!("it lasts {:?} s", report.duration_s);
            return Err(other(&wrong).rule("a duration must be 0 to 1e6 s").at("report"));
        }
        if report.most() > MOST_COUNT {
            let wrong = format!("it counts {}", report.most());
            return Err(other(&wrong).rule("what a run counts must be at most 2^56").at("report"));
        }
        Ok(report)
    }

    /// The most that it counts of anything.
    fn most(&mut self) -> u64 {
        let sum = |counts: &mut dyn Iterator<Item = u64>| counts.fold(0, u64::saturating_add);
        let batches = self.batches.iter().chain(self.mix.values());
        let requests = sum(&mut batches.flat_map(|batch| [batch.latency.count(), batch.failed]));
        let troubles = sum(&mut self.troubles.values().copied());
        let totals = [requests, troubles, self.lateness.count(), self.punctual.count()];
        totals.into_iter().chain(self.counts.each().map(|count| *count)).fold(0, u64::max)
    }

    /// As JSON, for another machine.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a report has no keys but text")
    }

    /// Adds what another generator saw at the same time.
    pub fn merge(&mut self, other: &Self) {
        if self.batches.len() < other.batches.len() {
            self.batches.resize_with(other.batches.len(), Batch::default);
        }
        for (batch, more) in self.batches.iter_mut().zip(&other.batches) {
            batch.merge(more);
        }
        self.duration_s = self.duration_s.max(other.duration_s);
        self.add_totals(other);
    }

    /// Adds what was seen in a later measurement of the same thing.
    pub fn append(&mut self, later: &Self) {
        self.batches.extend_from_slice(&later.batches);
        self.duration_s += later.duration_s;
        self.add_totals(later);
    }

    /// Adds what is not told apart by time.
    fn add_totals(&mut self, other: &Self) {
        self.lateness.merge(&other.lateness);
        self.punctual.merge(&other.punctual);
        self.counts += other.counts;
        for (trouble, count) in &other.troubles {
            self.add_trouble(trouble, *count);
        }
        self.ended_early |= other.ended_early;
        self.interrupted |= other.interrupted;
        for (name, seen) in &other.mix {
            self.mix.entry(name.clone()).or_default().merge(seen);
        }
        self.samples.extend_from_slice(&other.samples);
    }

    /// Counts something that went wrong.
    pub fn add_trouble(&mut self, trouble: &str, count: u64) {
        let trouble = printable(trouble);
        let is_told = self.troubles.len() < MOST_TROUBLES || self.troubles.contains_key(&*trouble);
        *self.troubles.entry(if is_told { trouble.into_owned() } else { "other".to_owned() }).or_default() += count;
    }

    /// Latency over all batches.
    pub fn latency(&self) -> Histogram {
        let mut all = Histogram::default();
        self.batches.iter().for_each(|batch| all.merge(&batch.latency));
        all
    }
}

/// What takes much memory for each, before it is read.
#[derive(Deserialize)]
struct Extent {
    batches: Vec<IgnoredAny>,
    mix: BTreeMap<String, IgnoredAny>,
}

/// What somebody else says, without what a terminal would obey.
fn printable(text: &str) -> Cow<'_, str> {
    let escape = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    if text.contains(char::is_control) { text.chars().map(escape).collect() } else { text.into() }
}
