//! Two services on one machine, each at ports of its own; and one that may be left out.

use super::{Output, Served, Service};
use crate::wire::ipv4::Address;

/// Both services. Where both listen, the first one answers.
#[derive(Debug)]
pub struct Pair<A, B>(pub A, pub B);

/// Of the one or the other.
#[derive(Debug)]
pub enum Either<A, B> {
    /// The first one's.
    First(A),
    /// The second one's.
    Second(B),
}

impl<A: Service, B: Service> Service for Pair<A, B> {
    type Session = Either<A::Session, B::Session>;

    fn accept(&self, peer: Address, port: u16) -> Option<Self::Session> {
        let first = self.0.accept(peer, port).map(Either::First);
        first.or_else(|| self.1.accept(peer, port).map(Either::Second))
    }

    #[inline]
    fn serve(&mut self, now_us: u64, session: &mut Self::Session, input: &[u8], output: &mut Output) -> Served {
        match session {
            Either::First(session) => self.0.serve(now_us, session, input, output),
            Either::Second(session) => self.1.serve(now_us, session, input, output),
        }
    }

    fn serve_datagram(&mut self, now_us: u64, port: u16, datagram: &[u8], answer: &mut dyn FnMut(&[u8])) -> bool {
        self.0.serve_datagram(now_us, port, datagram, answer) || self.1.serve_datagram(now_us, port, datagram, answer)
    }

    fn opened(&mut self, session: &Self::Session, output: &mut Output) -> bool {
        match session {
            Either::First(session) => self.0.opened(session, output),
            Either::Second(session) => self.1.opened(session, output),
        }
    }

    fn closed(&mut self, session: Self::Session) {
        match session {
            Either::First(session) => self.0.closed(session),
            Either::Second(session) => self.1.closed(session),
        }
    }

    #[inline]
    fn next_us(&self) -> u64 {
        self.0.next_us().min(self.1.next_us())
    }

    fn expire(&mut self, now_us: u64) {
        self.0.expire(now_us);
        self.1.expire(now_us);
    }
}

impl<S: Service> Service for Option<S> {
    type Session = S::Session;

    fn accept(&self, peer: Address, port: u16) -> Option<Self::Session> {
        self.as_ref()?.accept(peer, port)
    }

    fn serve(&mut self, now_us: u64, session: &mut Self::Session, input: &[u8], output: &mut Output) -> Served {
        match self {
            Some(service) => service.serve(now_us, session, input, output),
            None => Served { taken: input.len(), close: true },
        }
    }

    fn serve_datagram(&mut self, now_us: u64, port: u16, datagram: &[u8], answer: &mut dyn FnMut(&[u8])) -> bool {
        self.as_mut().is_some_and(|service| service.serve_datagram(now_us, port, datagram, answer))
    }

    fn opened(&mut self, session: &Self::Session, output: &mut Output) -> bool {
        self.as_mut().is_some_and(|service| service.opened(session, output))
    }

    fn closed(&mut self, session: Self::Session) {
        if let Some(service) = self {
            service.closed(session);
        }
    }

    #[inline]
    fn next_us(&self) -> u64 {
        self.as_ref().map_or(crate::tcp::NEVER, S::next_us)
    }

    fn expire(&mut self, now_us: u64) {
        if let Some(service) = self {
            service.expire(now_us);
        }
    }
}
