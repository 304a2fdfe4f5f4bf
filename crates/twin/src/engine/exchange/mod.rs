//! A closed loop: two equal machines and one message that goes back and forth between them.
//!
//! ```text
//!   server ──write──► card ══frames══► card ──interrupt──► read ── client
//!      ▲                                                             │
//!      └── read ◄──interrupt── card ◄══frames══ card ◄──write────────┘
//! ```
//!
//! A large message spans many interrupts: while its frames arrive, the card fires whenever work
//! waits and its interval has passed, and the core reads what is there. Transmit completions and
//! acknowledgements share the vector, so they push back the interrupt that the other side's
//! message will need. The machine that acts first is advanced first; frames need time on the
//! wire, so nothing that it sends can be late for the other.

mod host;

use self::host::{Host, Shared};
use super::server::Server;
use super::sleeper::IdleModel;
use super::tally::Tally;
use super::vector::min;
use crate::costs::Costs;
use crate::idle::Chooser;
use crate::moderation::Moderation;
use crate::profile::{Exchange, Profile};
use crate::rng::Rng;
use crate::run::Applied;
use crate::time::CoreTime;

/// The server and its client, which is configured like it.
pub struct PingPong<M, I> {
    hosts: [Host<M, I>; 2],
    costs: Vec<Costs>,
    shared: Shared,
    tally: Tally,
    /// What the client counts: nobody asks.
    unseen: Tally,
}

impl<M: Moderation, I: Chooser> PingPong<M, I> {
    /// Both at rest at time zero, the client about to send.
    pub fn new(profile: &Profile, exchange: &Exchange, run: &Applied, moderation: &M, choosers: [I; 2]) -> Self {
        let shared = Shared {
            idle: IdleModel::new(profile, run),
            exchange: exchange.clone(),
            message_bytes: run.message_bytes,
            polls: profile.os.polls(),
            merges: run.message_bytes >= exchange.merged_from_bytes,
            jitter_us: profile.app.network_jitter_us,
            completion_us: profile.machine.nic.tx_completion_us,
            coalesce_us: profile.machine.nic.coalescing_us(run.rx_usecs),
            rewrite: profile.machine.nic.eager_writeback(run.rx_usecs),
        };
        let fastest = profile.machine.freq_mhz.len() - 1;
        let mut stream = 0;
        let mut hosts = choosers.map(|chooser| {
            stream += 1;
            Host::new(moderation.clone(), chooser, Rng::new(run.seed, stream), fastest, stream == 2)
        });
        hosts[1].begin(run.message_bytes);
        Self { hosts, costs: Costs::table(profile, 0.0), shared, tally: Tally::default(), unseen: Tally::default() }
    }
}

impl<M: Moderation, I: Chooser> Server for PingPong<M, I> {
    fn advance(&mut self, until_us: f64) {
        let [server, client] = &mut self.hosts;
        loop {
            let (server_us, client_us) = (server.next_us(&self.shared), client.next_us(&self.shared));
            if min(server_us, client_us) >= until_us {
                server.spin(until_us, &self.shared);
                return;
            }
            if server_us <= client_us {
                server.act(server_us, &self.costs[server.step], &self.shared, client, &mut self.tally);
            } else {
                client.act(client_us, &self.costs[client.step], &self.shared, server, &mut self.unseen);
            }
        }
    }

    fn set_step(&mut self, _: usize, step: usize, _: f64) {
        self.hosts[0].step = step;
    }

    fn set_costs(&mut self, costs: Vec<Costs>) {
        self.costs = costs;
    }

    fn tally(&mut self) -> &mut Tally {
        &mut self.tally
    }

    fn take_time(&mut self, _: usize, until_us: f64, mut count: impl FnMut(usize, &CoreTime)) {
        let server = &mut self.hosts[0];
        count(server.step, &server.take_time(until_us, &self.costs[server.step], &self.shared));
    }
}
