//! memcached as 1.6 answers it, by its text protocol and by its binary one, on connections and in datagrams.
//!
//! Not here: meta commands, and of `stats` what has to do with slabs, prefixes of keys, single items or connections.

mod binary;
mod chunk;
#[cfg(test)]
mod client;
mod datagram;
mod operations;
mod server;
mod stats;
mod store;
mod text;

use libos_net::service::{Output, Served, Service};
use libos_net::wire::ipv4::Address;

pub use server::Memcached;

/// Where it listens.
pub const PORT: u16 = 11211;

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

impl Service for Memcached {
    type Session = Session;

    fn accept(&self, _peer: Address, port: u16) -> Option<Session> {
        (port == PORT).then(Session::default)
    }

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

    fn serve_datagram(&mut self, now_us: u64, port: u16, datagram: &[u8], answer: &mut dyn FnMut(&[u8])) -> bool {
        let is_taken = self.takes_datagrams && port == PORT;
        if is_taken {
            self.answer_datagram(now_us, datagram, answer);
        }
        is_taken
    }

    fn opened(&mut self, _session: &Session, output: &mut Output) -> bool {
        let has_room = self.connections < self.max_connections;
        if has_room {
            self.connections += 1;
            self.stats.total_connections += 1;
        } else {
            self.stats.rejected_connections += 1;
            output.write(b"ERROR Too many open connections\r\n");
        }
        has_room
    }

    fn closed(&mut self, _session: Session) {
        self.connections -= 1;
    }
}
