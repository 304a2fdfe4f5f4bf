//! Governors of `crates/idle` by the names that profiles have for them.

use bayop_idle::{
    BayOp, Faults, Governor, Haltpoll, Ladder, Menu, MenuOf, NetworkExpert, ResidencyExpert, Shadow, Slo, Teo, Yawn,
};

use super::terms::Terms;
use crate::profile::IdlePolicy;

/// The governor of `crates/idle` that a policy names, if it names one.
pub fn named(policy: IdlePolicy, terms: &Terms) -> Option<Box<dyn Governor + '_>> {
    // What a shadow takes is told from the table that it chooses by, so BayOp's plans beside it are, too.
    let (own, beside) = (&terms.measured_plans, &terms.table_plans);
    let menu = |of| Box::new(Menu::new(of));
    let yawn = |faults| Box::new(Yawn::new((ResidencyExpert::default(), NetworkExpert::default()), faults));
    Some(match policy {
        IdlePolicy::Menu | IdlePolicy::Deepest | IdlePolicy::Shallowest | IdlePolicy::Oracle => return None,
        IdlePolicy::Menu4 => menu(MenuOf::Linux4),
        IdlePolicy::Menu6 => menu(MenuOf::Linux6),
        IdlePolicy::Teo => Box::<Teo>::default(),
        IdlePolicy::Ladder => Box::<Ladder>::default(),
        IdlePolicy::Haltpoll => Box::<Haltpoll>::default(),
        IdlePolicy::Yawn => yawn(Faults::AsPublished),
        IdlePolicy::YawnMended => yawn(Faults::Mended),
        IdlePolicy::Bayop => Box::new(BayOp::new(own, terms.price)),
        IdlePolicy::BayopMenu => Box::new(Shadow::new(beside, Menu::new(MenuOf::Linux6))),
        IdlePolicy::BayopTeo => Box::new(Shadow::new(beside, Teo::default())),
        IdlePolicy::BayopSlo => Box::new(Slo::new(own, Slo::LATE_PER_MILLION)),
    })
}
