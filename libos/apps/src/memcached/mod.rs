//! memcached as 1.6 answers it, by its text protocol and by its binary one.
//!
//! Not here: meta commands, UDP, `stats` with an argument but `reset`.

mod binary;
mod chunk;
mod operations;
mod stats;
mod store;
mod text;

use libos_net::service::{Output, Served, Service};

use stats::Stats;
use store::Store;

/// What is reserved at most for what was announced and has not come.
const RESERVED_BYTES: usize = 16 << 10;
/// The version that it says it is.
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "-bayop-libos");

/// A memcached.
#[derive(Debug)]
pub struct Memcached {
    store: Store,
    limit: usize,
    /// The second of 1970's count at which the service's time is zero.
    start_s: u32,
    stats: Stats,
    connections: usize,
}

/// What it remembers of a connection.
#[derive(Debug, Default)]
pub struct Session(Protocol);

/// Which protocol a connection speaks, as its first byte says, and what is next.
#[derive(Debug, Default)]
enum Protocol {
    /// Nothing was said.
    #[default]
    Silent,
    /// The text protocol.
    Text(text::Expects),
    /// The binary protocol.
    Binary(binary::Expects),
}

impl Memcached {
    /// An empty one.
    ///
    /// # Arguments
    ///
    /// * `limit` - the bytes that items take at most, at least 2 MiB.
    /// * `start_s` - the calendar when the service's clock is zero, in seconds since 1970.
    /// * `seed` - what nobody else knows.
    pub fn new(limit: usize, start_s: u32, seed: u64) -> Memcached {
        Memcached { store: Store::new(limit, seed), limit, start_s, stats: Stats::default(), connections: 0 }
    }

    #[inline]
    fn now_s(&self, now_us: u64) -> u32 {
        self.start_s + (now_us / 1_000_000) as u32
    }
}

impl Service for Memcached {
    type Session = Session;

    #[inline]
    fn serve(&mut self, now_us: u64, session: &mut Session, input: &[u8], output: &mut Output) -> Served {
        let now_s = self.now_s(now_us);
        loop {
            return match &mut session.0 {
                Protocol::Text(expects) => self.serve_text(now_s, expects, input, output),
                Protocol::Binary(expects) => self.serve_binary(now_s, expects, input, output),
                Protocol::Silent => {
                    session.0 = match input {
                        [] => return Served { taken: 0, close: false },
                        [binary::REQUEST, ..] => Protocol::Binary(binary::Expects::default()),
                        _ => Protocol::Text(text::Expects::default()),
                    };
                    continue;
                }
            };
        }
    }

    fn opened(&mut self, connections: usize) {
        self.connections = connections;
        self.stats.total_connections += 1;
    }

    fn closed(&mut self, _session: Session, connections: usize) {
        self.connections = connections;
    }
}
