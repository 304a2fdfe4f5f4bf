//! Connections that outlive a run: a load in slices does not shake hands, log in or fork backends with every slice.

use std::mem;

use crate::links::Links;
use crate::plan::Plan;
use crate::server::resolve;
use bayop_core::Error;

/// What a run leaves for the next one.
#[derive(Default)]
pub struct Connections {
    /// The plan that they were opened for.
    plan: Option<Plan>,
    /// The links of each thread; none before the first run, and after one that has failed.
    links: Vec<Links>,
}

impl Connections {
    /// The links of each thread of a plan: what is left of another one with the same connections, else new ones, of which
    /// some are not open yet where that is interrupted.
    ///
    /// # Errors
    /// A server can't be reached, or the machine has no socket left.
    pub(crate) fn take(&mut self, plan: &Plan, mut interrupted: impl FnMut() -> bool) -> Result<Vec<Links>, Error> {
        let kept = mem::take(&mut self.links);
        let is_of = self.plan.as_ref().is_some_and(|of| of.connects_like(plan));
        if is_of && !kept.is_empty() && !kept.iter().any(Links::are_down) {
            return Ok(kept);
        }
        let servers = resolve(plan)?;
        self.plan = Some(plan.clone());
        (0..plan.threads)
            .map(|_| {
                let each = servers.iter().flat_map(|server| std::iter::repeat_n(server.clone(), plan.connections));
                Links::connect(each, plan.most_under_way(), &mut interrupted)
            })
            .collect()
    }

    /// Keeps a thread's links for the next run.
    pub(crate) fn keep(&mut self, links: Links) {
        self.links.push(links);
    }
}
