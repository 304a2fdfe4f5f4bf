//! The application half of a profile: service costs and clients.

use serde::{Deserialize, Serialize};

/// How requests arrive at each receive queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// Independent clients: exponential gaps.
    Poisson,
    /// Generalized-Pareto gaps, heavier tailed than exponential, as Facebook's ETC pool
    /// (Atikoglu et al., SIGMETRICS 2012, section 5.4). Shape in [`App::arrival_shape`].
    GeneralizedPareto,
}

/// The application and its clients.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct App {
    /// Name, such as "memcached".
    pub name: String,
    /// Cores of the machine that do not serve (data of silo were taken on 15 of 16 cores).
    pub spare_cores: usize,
    /// Load of every spare core by threads of the application that serve no requests (silo's
    /// epochs advance on one). It draws power, it makes a frequency governor raise the clock of
    /// the spare core's whole domain, and for that part of the time it keeps the packages awake:
    /// idle states then draw the power of a merely halted core however long they last.
    #[serde(default)]
    pub spare_core_load_share: f64,
    /// Client connections.
    pub connections: usize,
    /// Arrival process.
    pub arrivals: Arrivals,
    /// Shape `k` of generalized-Pareto gaps (0 is exponential); below one half.
    pub arrival_shape: f64,

    /// One request: parsing, hashing, system calls, the transaction.
    pub request_kcycles: f64,
    /// One request, frequency-independent (memory stalls).
    pub request_us: f64,
    /// Extra cost of a request served alone; with `n` in the queue each pays
    /// `1 / (1 + wakeup_batching (n - 1))` of it.
    pub lone_request_kcycles: f64,
    /// How quickly [`App::lone_request_kcycles`] is amortised (see there).
    pub wakeup_batching: f64,
    /// Extra cost that requests of the same connection share when they queue up: with `n`
    /// waiting and `c` connections per core each pays `1 / (1 + (n - 1) / c)` of it.
    pub per_connection_kcycles: f64,
    /// After the response left: bookkeeping that delays only the next request.
    pub after_response_kcycles: f64,
    /// The same, frequency-independent.
    pub after_response_us: f64,
    /// Part of the service time that is exponentially distributed; the rest is log-normal.
    pub service_exponential_share: f64,
    /// Standard deviation of the logarithm of that rest; 0 makes it constant.
    #[serde(default)]
    pub service_log_sd: f64,
    /// Part of requests that are long.
    pub long_request_share: f64,
    /// How many times as long they take.
    pub long_request_factor: f64,
    /// Whether responses leave only when all requests of a poll have been served
    /// (run-to-completion dispatch only).
    pub hold_responses: bool,
    /// Most requests waiting per core; more are dropped (clients' pipelining depth).
    pub queue_limit: usize,
    /// Whether all threads take their requests from one queue, as under Tailbench's harness. Otherwise each thread
    /// serves connections of its own (steered dispatch only).
    #[serde(default)]
    pub shared_queue: bool,
    /// Relative standard deviation of load between receive queues (RSS hashing).
    pub queue_imbalance_share: f64,
    /// Relative standard deviation of load between the cores' application threads when the
    /// threads are fully loaded.
    pub thread_imbalance_share: f64,
    /// It shrinks at lower loads as the mean load of a thread (0 to 1) to this power.
    pub thread_imbalance_exponent: f64,

    /// Client and wire: the part of every latency that the server does not see.
    pub network_us: f64,
    /// Mean of an exponential jitter on top.
    pub network_jitter_us: f64,
    /// Mean of a second one.
    pub client_jitter_us: f64,
    /// Packets per request that are bare acknowledgements whatever the load.
    pub ack_share: f64,
    /// A client acknowledges a response by itself when its connection has no request to send
    /// for this long.
    pub ack_timeout_us: f64,
    /// Acknowledgements become rarer as `1 / (1 + rx_usecs / this)`.
    pub ack_rx_usecs: f64,
    /// Received packet that carries a small request, as the driver counts it. Sizes matter to
    /// adaptive moderation only.
    pub request_bytes: f64,
    /// Received packet that carries a large request (an update).
    pub large_request_bytes: f64,
    /// Part of requests that are large.
    pub large_request_share: f64,
    /// Mean transmitted response.
    pub response_bytes: f64,

    /// Package power that comes with this application (caches, memory controllers) whenever it
    /// runs, beside [`crate::profile::Power::static_w`].
    pub static_w: f64,
    /// Dynamic power of this application's instruction mix relative to the machine's
    /// coefficients.
    pub activity_factor: f64,
    /// Retired instructions per request.
    pub request_kinstructions: f64,
    /// Retired instructions per interrupt.
    pub interrupt_kinstructions: f64,
    /// Retired instructions per idle period.
    pub idle_kinstructions: f64,
}
