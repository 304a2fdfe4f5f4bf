//! How many cores serve, and what each is to be told.

use alloc::boxed::Box;
use alloc::sync::Arc;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The cores of one machine, by number. The first so many serve, all of them at first; the others are parked.
#[derive(Debug)]
pub struct Cores {
    serving: AtomicUsize,
    /// How often that has changed.
    changes: AtomicUsize,
    /// Whose stack has something to [attend](super::Stack::attend) to.
    news: Box<[Arc<AtomicBool>]>,
    wake: fn(usize),
}

impl Cores {
    /// So many. `wake` has one of them look for news, and not sleep before it has.
    pub fn new(count: usize, wake: fn(usize)) -> Cores {
        let news = (0..count).map(|_| Arc::default()).collect();
        Cores { serving: AtomicUsize::new(count), changes: AtomicUsize::new(0), news, wake }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.news.len()
    }

    /// How many serve.
    #[inline]
    pub fn serving(&self) -> usize {
        self.serving.load(Ordering::SeqCst)
    }

    /// So many serve from now on. One caller at a time.
    ///
    /// # Panics
    ///
    /// It is none, or more than there are.
    pub fn serve_by(&self, serving: usize) {
        assert!((1..=self.count()).contains(&serving));
        if serving != self.serving.swap(serving, Ordering::SeqCst) {
            self.changes.fetch_add(1, Ordering::SeqCst);
            (0..self.count()).for_each(|core| self.tell(core));
        }
    }

    /// Whoever has seen this number before has seen how many serve, or will be told.
    pub(super) fn changes(&self) -> usize {
        self.changes.load(Ordering::SeqCst)
    }

    /// Whether there is something for a core, for that to look at every turn.
    pub(super) fn news(&self, core: usize) -> Arc<AtomicBool> {
        self.news[core].clone()
    }

    /// There is something for a core.
    pub(super) fn tell(&self, core: usize) {
        if !self.news[core].swap(true, Ordering::SeqCst) {
            (self.wake)(core);
        }
    }

    /// A core is about to look at all that it was told before, and once more at once if there is `more`.
    pub(super) fn hears(&self, core: usize, more: bool) {
        self.news[core].swap(more, Ordering::SeqCst);
    }
}
