//! What an answer rests on: its premises. Verdicts, evidence and objections are all read from this one closure.
//!
//! 1. The steps from the root to the answer.
//! 2. The findings that it or one of these steps depends on (links of the kind `depends`), and what those rest on.
//! 3. The confirmations of the answer and of the findings that it depends on.
//!
//! Each node is visited once, so cycles of links are harmless.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use super::rules::verification::{ClaimedAuthor, Confirming, writers};
use super::{EffectiveRules, Enforcement, Role};
use crate::domain::{Classification, Commenter, Investigation, Link, Node, NodeId, Run, Timestamp};
use crate::markdown::named_runs;

/// A node that an answer rests on.
#[derive(Clone, Debug)]
pub struct Premise<'i> {
    /// The node.
    pub node: &'i Arc<Node>,
    /// How the answer rests on it.
    pub kind: PremiseKind,
    /// The nodes that lead from the answer to the premise, which is the last. Empty for the answer itself.
    pub chain: Vec<&'i NodeId>,
}

/// How an answer rests on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PremiseKind {
    /// It is on the path to the answer, to a confirmation's answer or to a finding that the answer depends on. The
    /// answer itself is one, too.
    Step,
    /// The answer, or another premise, says that it depends on the node.
    Dependency,
    /// It confirms the answer, or a finding that the answer depends on. `None` if the confirmation is refuted.
    Confirmation(Option<Confirming>),
}

impl EffectiveRules<'_> {
    /// Returns everything that an answer rests on: the steps from the root to the answer, its confirmations, then what
    /// it depends on.
    pub fn premises<'i>(&self, investigation: &'i Investigation, answer: &NodeId) -> Vec<Premise<'i>> {
        let mut premises: Vec<Premise<'i>> = Vec::new();
        let mut seen: HashSet<&NodeId> = HashSet::new();
        let mut targets: VecDeque<(Vec<&NodeId>, &Arc<Node>)> = VecDeque::new();
        targets.extend(investigation.node(answer).map(|node| (Vec::new(), node)));
        while let Some((chain, target)) = targets.pop_front() {
            if let Some(known) = premises.iter_mut().find(|it| it.node.id == target.id) {
                if known.kind == PremiseKind::Step && !known.chain.is_empty() {
                    known.kind = PremiseKind::Dependency;
                }
                continue;
            }
            let through = |node: &'i Arc<Node>| chain.iter().copied().chain([&node.id]).collect::<Vec<_>>();
            for step in investigation.path(&target.id).into_iter().filter(|step| seen.insert(&step.id)) {
                let (kind, chain) = match step.id == target.id {
                    true if chain.is_empty() => (PremiseKind::Step, Vec::new()),
                    true => (PremiseKind::Dependency, chain.clone()),
                    false => (PremiseKind::Step, through(step)),
                };
                let depends = step.classification.iter().flat_map(Classification::depends);
                targets.extend(depends.filter_map(|link| investigation.node(&link.to)).map(|node| {
                    let chain = chain.iter().copied().chain([&node.id]).collect();
                    (chain, node)
                }));
                premises.push(Premise { node: step, kind, chain });
            }
            let confirming = self.confirming(investigation, target).into_iter();
            let mut confirming: Vec<_> = confirming.map(|it| (it.node.clone(), Some(it))).collect();
            // Refuting a confirmation does not answer an objection to it.
            let refuted = self.verified_by(investigation, target).into_iter().map(|id| (id, None));
            confirming.extend(refuted);
            for (id, confirming) in confirming {
                let node =
                    investigation.node(&id).filter(|node| !self.refutes(node) && seen.insert(&node.id));
                premises.extend(node.map(|node| Premise {
                    node,
                    kind: PremiseKind::Confirmation(confirming),
                    chain: through(node),
                }));
            }
        }
        premises
    }

    /// Returns the authors of the answers that rest on one of the nodes for which `is_one` holds.
    pub(crate) fn writers_resting_on<'i>(
        &self,
        investigation: &'i Investigation,
        is_one: impl Fn(&Node) -> bool,
    ) -> Vec<ClaimedAuthor<'i>> {
        let rests = |answer: &&Arc<Node>| {
            self.premises(investigation, &answer.id).iter().any(|premise| is_one(premise.node))
        };
        let answers = self.answers(investigation).filter(rests);
        answers.flat_map(|answer| writers(investigation, answer, None)).collect()
    }

    /// Returns whether an author wrote an answer that rests on a captured run: it, or a node that it rests on, names or cites it.
    pub(crate) fn wrote_what_rests_on(
        &self,
        investigation: &Investigation,
        run: &Run,
        author: &Commenter,
        until: Option<Timestamp>,
    ) -> bool {
        let cites =
            |result: &Classification| named_runs(&result.findings).iter().any(|part| run.id.is_named(part));
        let is_one = |node: &Node| run.is_of(node) || node.results().any(cites);
        let by = ClaimedAuthor::of(author.agent_id.as_deref(), &author.caller);
        // Few authors of judgements wrote an answer, and what each answer rests on takes time to find.
        let mut own = self.answers(investigation).filter(|answer| {
            let is_later = |result: &Classification| until.is_some_and(|until| result.committed_at > until);
            !answer.classification.as_ref().is_some_and(is_later)
                && writers(investigation, answer, until).iter().any(|writer| writer.is_same_as(&by))
        });
        own.any(|answer| self.premises(investigation, &answer.id).iter().any(|premise| is_one(premise.node)))
    }

    /// Returns the first finding that an answer depends on, is no answer and changed since the author saw it: the chain
    /// that leads to it, and what happened to it.
    pub fn changed<'i>(
        &self,
        investigation: &'i Investigation,
        premises: &[Premise<'i>],
    ) -> Option<(Vec<&'i NodeId>, &'static str)> {
        let mut steps =
            premises.iter().filter(|premise| !matches!(premise.kind, PremiseKind::Confirmation(_)));
        steps.find_map(|step| {
            let (changed, what) = self.changed_link(investigation, step.node)?;
            Some((step.chain.iter().copied().chain([changed]).collect(), what))
        })
    }

    /// Returns the first finding that a node says it depends on, is no answer and changed since, and what happened to it. One
    /// that was withdrawn, or has no result yet, shows nothing.
    pub fn changed_link<'i>(
        &self,
        investigation: &'i Investigation,
        node: &Node,
    ) -> Option<(&'i NodeId, &'static str)> {
        let result = node.classification.as_ref()?;
        result.depends().find_map(|link| {
            let Some(target) = investigation.node(&link.to) else {
                let target = investigation.withdrawn().find(|target| target.id == link.to)?;
                let is_said_again = target.withdrawn.as_ref().is_some_and(|it| {
                    it.at < result.last_given().map_or(result.committed_at, |change| change.at)
                });
                return (!is_said_again).then_some((&target.id, "was withdrawn since"));
            };
            if target.is_pending() {
                return Some((&target.id, "has no result yet"));
            }
            let what = self.changed_since(link, result, target)?;
            let is_answer = target.state().is_some_and(|state| self.role(state) == Role::Solution)
                || !self.refuted_by(investigation, target).is_empty();
            (!is_answer).then_some((&target.id, what))
        })
    }

    /// Returns what happened to the target of a link since the link's author saw it. Without a stored claim, times decide.
    fn changed_since(&self, link: &Link, result: &Classification, target: &Node) -> Option<&'static str> {
        let own = target.classification.as_ref()?;
        let (now, then) = (own.current_state(), link.state.as_ref());
        let is_later = |at: Timestamp| link.saw.is_none() && at > result.current_since();
        let is_amended = match link.saw {
            Some(saw) => target.claim_hashes().all(|hash| hash != saw),
            None => own.amended.last().is_some_and(|amendment| is_later(amendment.at)),
        };
        if then.is_some_and(|then| self.is_terminal(then)) && !self.is_terminal(now) {
            Some("was reopened since")
        } else if then.map_or(is_later(own.current_since()), |then| then != now) {
            Some("changed its state since")
        } else {
            is_amended.then_some("was amended since")
        }
    }

    /// Returns whether a premise, once refuted, takes away what rests on it: it is a finding that the answer depends on, or
    /// was an answer itself.
    pub fn carries(&self, premise: &Premise<'_>) -> bool {
        let was_answer = || {
            let mut states = premise.node.classification.iter().flat_map(Classification::states);
            states.any(|state| self.role(state) == Role::Solution)
        };
        match &premise.kind {
            PremiseKind::Dependency => true,
            PremiseKind::Step => !premise.chain.is_empty() && was_answer(),
            PremiseKind::Confirmation(_) => false,
        }
    }

    /// Returns whether an answer must be refuted before the end, since it rests on a refuted one.
    pub fn must_fall(&self, investigation: &Investigation, answer: &Node) -> bool {
        self.ruleset().checks.undermined_answer == Enforcement::Reject
            && self.refuted_by(investigation, answer).is_empty()
            && self.undermined(investigation, &answer.id).is_some()
    }

    /// Returns the refuted answer that this one rests on, and the node that refutes it.
    pub fn undermined<'i>(
        &self,
        investigation: &'i Investigation,
        answer: &NodeId,
    ) -> Option<(&'i NodeId, NodeId)> {
        let premises = self.premises(investigation, answer).into_iter();
        premises
            .filter(|it| it.node.id != *answer && self.carries(it))
            .find_map(|it| Some((&it.node.id, self.refuted_by(investigation, it.node).into_iter().next()?)))
    }
}
