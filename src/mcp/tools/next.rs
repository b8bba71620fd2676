//! `tot_next` returns the next tasks, with a brief for each agent; with `claim`, claims them. `nextCall` is the next legal
//! call.

use super::super::tool::About;
use crate::domain::Code;
pub(super) use crate::service::reply::plan::run;

pub(super) const ABOUT: About = About {
    name: "tot_next",
    title: "Plan the next tasks",
    description: "Plans; writes only if `claim` is set. `tasks`: pending nodes, then new ones with legal ids. \
                  `nextCall`: a legal call; fill in the < > parts.",
    also_reads: true,
    idempotent: true,
    codes: &[Code::SecretSuspected],
    warnings: &[&[Code::SecretSuspected]],
    budget: 4_000,
    ..About::PLAIN
};
