//! What to do: servers, workload, load and length, as one checked document.

use serde::{Deserialize, Serialize};

use crate::distribution::Distribution;
use crate::http_request::HttpRequest;
use crate::mix;
use crate::popularity::Popularity;
use crate::sql_query::SqlQuery;
use crate::tls::Tls;
use bayop_core::Error;

/// Most connections of one plan.
const MOST_CONNECTIONS: usize = 20_000;
/// Most threads of one plan.
const MOST_THREADS: usize = 256;
/// Most records: their sizes are held in memory.
const MOST_RECORDS: u64 = 100_000_000;
/// Most clients that think, of all threads together: their times are held in memory.
const MOST_CLIENTS: usize = 1_000_000;
/// Shortest think time, in seconds: below it, clients are a closed loop, and the timing loop sees nothing else.
const SHORTEST_THINK_S: f64 = 1e-6;
/// Longest run, in seconds.
pub(crate) const LONGEST_S: f64 = 1e6;

/// What servers speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dialect {
    /// memcached's text protocol (`doc/protocol.txt`).
    Memcached,
    /// memcached's binary protocol (`doc/protocol-binary.txt`).
    MemcachedBinary,
    /// Redis: RESP2.
    Redis,
    /// HTTP/1.1 (RFC 9112).
    Http,
    /// HTTP/2 (RFC 9113).
    Http2,
    /// gRPC: unary calls.
    Grpc,
    /// PostgreSQL: simple queries.
    Postgresql,
    /// Whatever is sent comes back (RFC 862): NetPIPE's ping-pong.
    Echo,
}

/// A stretch of constant load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Piece {
    /// How long.
    pub duration_s: f64,
    /// Requests per second, over all threads.
    pub qps: f64,
}

/// When requests are sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Schedule {
    /// When a random process says so, whether or not the server has answered.
    Open {
        /// The load over time; a run never outlives it.
        pieces: Vec<Piece>,
        /// The gaps between arrivals; their mean follows from the load.
        gaps: Distribution,
    },
    /// At given times.
    Replay {
        /// Seconds since the start, ascending.
        times_s: Vec<f64>,
    },
    /// As soon as answers make room: up to `depth` requests are under way on every connection, and a connection is
    /// filled up when half of them are answered.
    Closed,
    /// By clients that think after every answer: `depth` for every connection, which they share.
    Thinking {
        /// How long, on average.
        think_time_s: f64,
        /// The shape of that time; its mean follows from the think time.
        gaps: Distribution,
    },
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// Number of records.
    pub records: u64,
    /// Bytes of a key.
    pub key_size: Distribution,
    /// Bytes of a value.
    pub value_size: Distribution,
    /// Share of requests that store.
    pub update: f64,
    /// Which records are asked for.
    pub popularity: Popularity,
    /// What an HTTP server is asked, by weight.
    pub http: Vec<HttpRequest>,
    /// What PostgreSQL is asked.
    pub sql: SqlQuery,
}

/// Ends a run early: when the 95 % confidence interval of a quantile is narrow enough.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UntilInterval {
    /// The quantile, in (0, 1).
    pub quantile: f64,
    /// Half of the interval's width relative to the quantile.
    pub half_width: f64,
}

/// A run of the load generator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// `host:port` each.
    pub servers: Vec<String>,
    /// What they speak.
    pub dialect: Dialect,
    /// That they speak it in TLS.
    pub tls: Option<Tls>,
    /// What is asked.
    pub workload: Workload,
    /// When.
    pub schedule: Schedule,
    /// Threads; each has its own connections.
    pub threads: usize,
    /// Connections per thread and server.
    pub connections: usize,
    /// Most requests under way on a connection; none is no limit.
    pub depth: Option<usize>,
    /// Load before the measurement.
    pub warmup_s: f64,
    /// Length of the measurement.
    pub duration_s: f64,
    /// A request that has no answer after this time is lost, and its connection with it.
    pub timeout_s: f64,
    /// Sleep between events instead of polling: saves a core, costs accuracy.
    pub blocking: bool,
    /// Keep the times of every request.
    pub save_samples: bool,
    /// When to end early.
    pub until_interval: Option<UntilInterval>,
    /// Seed of everything random.
    pub seed: u64,
}

impl Plan {
    /// Reads and checks a plan in JSON.
    ///
    /// # Errors
    /// The first rule that does not hold, with the field as its place.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        let plan: Self = serde_json::from_str(text)
            .map_err(|error| Error::input(format!("the plan is not complete: {error}")).at("plan"))?;
        plan.check()?;
        Ok(plan)
    }

    /// Seed of an independent stream of random numbers.
    pub fn stream(&self, purpose: &str, thread: usize) -> u64 {
        // FNV-1a over the purpose keeps streams apart; the generator mixes the bits of its seed.
        let hash = purpose
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
        self.seed ^ hash ^ (thread as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    /// Whether another plan has the same connections, to the same servers.
    pub fn connects_like(&self, other: &Self) -> bool {
        let connections = |plan: &Self| (plan.threads, plan.connections, plan.most_under_way());
        (&self.servers, self.dialect, &self.tls, connections(self))
            == (&other.servers, other.dialect, &other.tls, connections(other))
            && (&self.workload.http, &self.workload.sql) == (&other.workload.http, &other.workload.sql)
    }

    /// What the requests of a mix are called; nothing where only one thing is asked.
    pub fn names(&self) -> Vec<&str> {
        let names: Vec<&str> = match self.dialect {
            Dialect::Http | Dialect::Http2 | Dialect::Grpc => {
                self.workload.http.iter().map(|request| &*request.name).collect()
            }
            Dialect::Postgresql => self.workload.sql.texts.iter().map(|query| &*query.name).collect(),
            Dialect::Memcached | Dialect::MemcachedBinary | Dialect::Redis | Dialect::Echo => Vec::new(),
        };
        if names.len() > 1 { names } else { Vec::new() }
    }

    /// Most requests under way on a connection.
    pub fn most_under_way(&self) -> usize {
        let default = match self.schedule {
            Schedule::Closed | Schedule::Thinking { .. } => 1,
            Schedule::Open { .. } | Schedule::Replay { .. } => usize::MAX,
        };
        self.depth.unwrap_or(default)
    }

    /// Clients of a thread that think.
    pub fn clients_per_thread(&self) -> usize {
        self.servers.len().saturating_mul(self.connections).saturating_mul(self.most_under_way())
    }

    fn check(&self) -> Result<(), Error> {
        let rule = |holds: bool, rule: &str, value: &dyn std::fmt::Display, place: &str| {
            if holds { Ok(()) } else { Err(Error::cannot_use(value, rule).at(place)) }
        };
        let seconds = |value: f64| value.is_finite() && (0.0..=LONGEST_S).contains(&value);
        if self.servers.is_empty() {
            return Err(Error::input("the plan has no server").at("servers"));
        }
        rule((1..=MOST_THREADS).contains(&self.threads), "threads must be 1 to 256", &self.threads, "threads")?;
        let connections = self.connections.saturating_mul(self.threads).saturating_mul(self.servers.len());
        rule(
            (1..=MOST_CONNECTIONS).contains(&connections),
            "connections must be 1 to 20000 in all",
            &connections,
            "connections",
        )?;
        rule(self.depth != Some(0), "a depth must be at least 1", &0, "depth")?;
        rule(seconds(self.warmup_s), "a warm-up must last 0 to 1e6 s", &self.warmup_s, "warmup_s")?;
        rule(
            seconds(self.duration_s) && self.duration_s > 0.0,
            "a duration must be positive, and at most 1e6 s",
            &self.duration_s,
            "duration_s",
        )?;
        rule(
            seconds(self.timeout_s) && self.timeout_s > 0.0,
            "a timeout must be positive, and at most 1e6 s",
            &self.timeout_s,
            "timeout_s",
        )?;
        if let Some(until) = &self.until_interval {
            rule(
                until.quantile > 0.0 && until.quantile < 1.0,
                "a quantile must lie between 0 and 1",
                &until.quantile,
                "until_interval",
            )?;
            rule(
                until.half_width > 0.0 && until.half_width < 1.0,
                "an interval's half width must lie between 0 and 1",
                &until.half_width,
                "until_interval",
            )?;
        }
        self.check_workload()?;
        self.check_schedule()
    }

    fn check_workload(&self) -> Result<(), Error> {
        let workload = &self.workload;
        if !(1..=MOST_RECORDS).contains(&workload.records) {
            return Err(Error::cannot_use(workload.records, "records must be 1 to 100 million").at("records"));
        }
        if !(0.0..=1.0).contains(&workload.update) {
            return Err(Error::cannot_use(workload.update, "a share must lie between 0 and 1").at("update"));
        }
        let bodies = workload.http.iter().map(|request| request.bodies.len()).max().unwrap_or(0);
        if workload.records < bodies as u64 {
            let rule = format!("records must be at least as many as bodies ({bodies}), so that each of them is sent");
            return Err(Error::cannot_use(workload.records, rule).at("records"));
        }
        if self.dialect == Dialect::Grpc {
            workload.http.iter().try_for_each(HttpRequest::check_call)?;
        }
        mix::check(workload.http.iter().map(|request| request.weight))?;
        workload.http.iter().try_for_each(HttpRequest::check)?;
        workload.sql.check()
    }

    fn check_schedule(&self) -> Result<(), Error> {
        match &self.schedule {
            Schedule::Open { pieces, gaps } => {
                check_gaps(gaps)?;
                let sound = |piece: &&Piece| {
                    piece.qps > 0.0 && piece.qps <= 1e9 && piece.duration_s > 0.0 && piece.duration_s <= LONGEST_S
                };
                match pieces.iter().find(|piece| !sound(piece)) {
                    Some(piece) => {
                        let rule = "a load must be positive and at most 1e9 requests/s";
                        Err(Error::cannot_use(piece.qps, rule).at("qps"))
                    }
                    None if pieces.is_empty() => Err(Error::input("the load has no piece").at("qps")),
                    None => Ok(()),
                }
            }
            Schedule::Replay { times_s } => {
                let ascending = times_s.windows(2).all(|pair| pair[0] <= pair[1]);
                let sound = times_s.iter().all(|time| (0.0..=LONGEST_S).contains(time));
                if times_s.is_empty() || !ascending || !sound {
                    let wrong = format!("cannot replay {} times", times_s.len());
                    let rule = "times must be one or more, ascending, from 0 to 1e6 s";
                    return Err(Error::input(wrong).rule(rule).at("times_s"));
                }
                Ok(())
            }
            Schedule::Closed => Ok(()),
            Schedule::Thinking { think_time_s, gaps } => {
                if !(SHORTEST_THINK_S..=LONGEST_S).contains(think_time_s) {
                    let rule = "a think time must be 1 us to 1e6 s";
                    return Err(Error::cannot_use(think_time_s, rule).at("think_time_s"));
                }
                let clients = self.clients_per_thread().saturating_mul(self.threads);
                if clients > MOST_CLIENTS {
                    let rule = "clients that think must be at most 1 million: connections times depth";
                    return Err(Error::cannot_use(clients, rule).at("depth"));
                }
                check_gaps(gaps)
            }
        }
    }
}

fn check_gaps(gaps: &Distribution) -> Result<(), Error> {
    if gaps.mean_of_gaps().is_some() {
        return Ok(());
    }
    let rule = "gaps between arrivals must have a positive mean and never be negative";
    let hint = "fixed, uniform, exponential, fb_ia, or pareto:LOCATION,SCALE,SHAPE with a shape below 1";
    Err(Error::cannot_use(gaps, rule).at("gaps").hint(hint))
}
