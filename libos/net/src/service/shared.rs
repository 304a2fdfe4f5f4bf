//! One service for all cores, which serves one of them at a time.

use alloc::sync::Arc;

use spin::Mutex;

use super::{Output, Served, Service};
use crate::wire::ipv4::Address;

/// A core's hold of a service that others have, too. Whoever is served keeps the others waiting.
#[derive(Debug)]
pub struct Shared<S>(Arc<Mutex<S>>);

impl<S> Shared<S> {
    /// The first hold; its clones are the others.
    pub fn new(service: S) -> Self {
        Self(Arc::new(Mutex::new(service)))
    }
}

impl<S> Clone for Shared<S> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<S: Service> Service for Shared<S> {
    type Session = S::Session;

    fn accept(&self, peer: Address, port: u16) -> Option<Self::Session> {
        self.0.lock().accept(peer, port)
    }

    #[inline]
    fn serve(&mut self, now_us: u64, session: &mut Self::Session, input: &[u8], output: &mut Output) -> Served {
        self.0.lock().serve(now_us, session, input, output)
    }

    fn serve_datagram(&mut self, now_us: u64, port: u16, datagram: &[u8], answer: &mut dyn FnMut(&[u8])) -> bool {
        self.0.lock().serve_datagram(now_us, port, datagram, answer)
    }

    fn opened(&mut self, session: &Self::Session, output: &mut Output) -> bool {
        self.0.lock().opened(session, output)
    }

    fn closed(&mut self, session: Self::Session) {
        self.0.lock().closed(session);
    }

    #[inline]
    fn next_us(&self) -> u64 {
        self.0.lock().next_us()
    }

    fn expire(&mut self, now_us: u64) {
        self.0.lock().expire(now_us);
    }
}
