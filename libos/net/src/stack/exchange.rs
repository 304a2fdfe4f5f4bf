//! What cores hand each other: connections, and frames for them; and where each connection is.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;
use core::sync::atomic::AtomicBool;

use spin::Mutex;

use super::cores::Cores;
use super::entry::Entry;
use crate::device::Frame;
use crate::tcp::Key;

/// So many frames wait for a core at most. Those beyond are lost, as in any queue.
const MAX_LETTERS: usize = 256;

/// Between the stacks of several cores.
pub struct Exchange<Session> {
    pub(super) cores: Arc<Cores>,
    inner: Mutex<Inner<Session>>,
}

/// A stack's place among those of other cores.
#[derive(Debug)]
pub(super) struct Among<Session> {
    pub exchange: Arc<Exchange<Session>>,
    /// The core's number.
    pub own: usize,
    /// By whose queue the frame came that is being served.
    pub via: usize,
    /// The changes of how many cores serve that were seen.
    pub seen: usize,
    /// Where in the table to go on looking for what belongs to other cores.
    pub next_slot: Option<usize>,
}

impl<Session> Among<Session> {
    /// Whether there is something for the core to attend to.
    pub fn news(&self) -> Arc<AtomicBool> {
        self.exchange.cores.news(self.own)
    }

    pub fn new(exchange: Arc<Exchange<Session>>, own: usize) -> Among<Session> {
        Among { exchange, own, via: own, seen: 0, next_slot: None }
    }
}

/// A frame that another core has received.
pub(super) struct Letter {
    /// The core by whose queue it came.
    pub via: usize,
    bytes: Box<[u8]>,
    checksum_is_right: bool,
}

/// What is to be done with a segment of no connection in the table.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Route {
    /// It is gone, to the core whose it is.
    Sent,
    /// Its connection may be among those that have come.
    Arriving,
    /// No other core has its connection. Whether the one that it opens is listed.
    Ours { listed: bool },
}

struct Inner<Session> {
    /// The core in whose table or post a connection is, of those that are listed.
    places: BTreeMap<u64, usize>,
    posts: Vec<Post<Session>>,
}

/// What waits for a core.
struct Post<Session> {
    arrivals: Vec<Box<Entry<Session>>>,
    letters: VecDeque<Letter>,
}

impl<Session> Exchange<Session> {
    /// Nothing is under way.
    pub fn new(cores: Arc<Cores>) -> Exchange<Session> {
        let post = |_| Post { arrivals: Vec::new(), letters: VecDeque::new() };
        let inner = Inner { places: BTreeMap::new(), posts: (0..cores.count()).map(post).collect() };
        Exchange { cores, inner: Mutex::new(inner) }
    }

    /// Hands a connection to a core.
    pub(super) fn give(&self, key: Key, to: usize, entry: Box<Entry<Session>>) {
        let mut inner = self.inner.lock();
        inner.places.insert(key.number(), to);
        inner.posts[to].arrivals.push(entry);
        drop(inner);
        self.cores.tell(to);
    }

    /// The connections that have come to a core.
    pub(super) fn arrivals(&self, core: usize) -> Vec<Box<Entry<Session>>> {
        core::mem::take(&mut self.inner.lock().posts[core].arrivals)
    }

    /// The frames that have come to a core.
    pub(super) fn letters(&self, core: usize) -> VecDeque<Letter> {
        core::mem::take(&mut self.inner.lock().posts[core].letters)
    }

    /// Brings a frame that came by the queue of core `via` from core `own`, which does not know its connection, to the
    /// one that does. If none does and it opens one, `accepts` is whose that is: it goes there, or is listed as ours.
    pub(super) fn route(&self, key: Key, own: usize, accepts: Option<usize>, via: usize, frame: Frame) -> Route {
        let mut inner = self.inner.lock();
        let to = match (inner.places.get(&key.number()), accepts) {
            (Some(&place), _) if place != own => place,
            (Some(_), _) if !inner.posts[own].arrivals.is_empty() => return Route::Arriving,
            (_, Some(accepts)) if accepts != own => accepts,
            (_, Some(_)) => {
                inner.places.insert(key.number(), own);
                return Route::Ours { listed: true };
            }
            (_, None) => return Route::Ours { listed: false },
        };
        let letters = &mut inner.posts[to].letters;
        if letters.len() < MAX_LETTERS {
            let Frame { bytes, checksum_is_right } = frame;
            letters.push_back(Letter { via, bytes: bytes.into(), checksum_is_right });
        }
        drop(inner);
        self.cores.tell(to);
        Route::Sent
    }

    /// A connection is at a core.
    pub(super) fn list(&self, key: Key, own: usize) {
        self.inner.lock().places.insert(key.number(), own);
    }

    /// A core no longer has a connection, or does not accept it.
    pub(super) fn strike(&self, key: Key, own: usize) {
        let places = &mut self.inner.lock().places;
        if places.get(&key.number()) == Some(&own) {
            places.remove(&key.number());
        }
    }

    /// How many connections are listed.
    pub fn listed(&self) -> usize {
        self.inner.lock().places.len()
    }
}

impl<Session> fmt::Debug for Exchange<Session> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Exchange").field("cores", &self.cores).field("listed", &self.listed()).finish()
    }
}

impl Letter {
    pub fn frame(&self) -> Frame<'_> {
        Frame { bytes: &self.bytes, checksum_is_right: self.checksum_is_right }
    }
}
