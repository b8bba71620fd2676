//! What an answer rests on: its premises. Verdicts, evidence and objections are all read from this one closure.
//!
//! 1. The steps from the root to the answer.
//! 2. The findings that it or one of these steps depends on (links of the kind `depends`), and what those rest on.
//! 3. The confirmations of the answer and of the findings that it depends on.
//!
//! Each node is visited once, so cycles of links are harmless.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use super::{EffectiveRules, Enforcement, Role};
use crate::domain::{Investigation, LinkKind, Node, NodeId};

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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PremiseKind {
    /// It is on the path to the answer, to a confirmation's answer or to a finding that the answer depends on. The
    /// answer itself is one, too.
    Step,
    /// The answer, or another premise, says that it depends on the node.
    Dependency,
    /// It confirms the answer, or a finding that the answer depends on.
    Confirmation,
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
                let links = step.classification.iter().flat_map(|result| &result.links);
                let depends = links.filter(|link| link.kind == LinkKind::Depends);
                targets.extend(depends.filter_map(|link| investigation.node(&link.to)).map(|node| {
                    let chain = chain.iter().copied().chain([&node.id]).collect();
                    (chain, node)
                }));
                premises.push(Premise { node: step, kind, chain });
            }
            let confirming = self.confirming(investigation, target).into_iter();
            let confirming = confirming.filter_map(|it| investigation.node(&it.node));
            premises.extend(confirming.filter(|node| seen.insert(&node.id)).map(|node| Premise {
                node,
                kind: PremiseKind::Confirmation,
                chain: through(node),
            }));
        }
        premises
    }

    /// Returns whether a premise, once refuted, takes away what rests on it: it is a finding that the answer depends on, or
    /// was an answer itself.
    pub fn carries(&self, premise: &Premise<'_>) -> bool {
        let was_answer = || {
            let result = premise.node.classification.iter();
            let mut states = result.flat_map(|it| {
                std::iter::once(&it.state).chain(it.reclassified.iter().map(|change| &change.to))
            });
            states.any(|state| self.role(state) == Role::Solution)
        };
        match premise.kind {
            PremiseKind::Dependency => true,
            PremiseKind::Step => !premise.chain.is_empty() && was_answer(),
            PremiseKind::Confirmation => false,
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
