//! The conditions that prevent ending an investigation, and what a merge or an edit by hand left at odds with the rules.

use std::sync::Arc;

use crate::domain::{Classification, Code, Diagnostic, Investigation, Node, NodeId, StateName, Wording};
use crate::ruleset::rules::children::{Lacking, lacking};
use crate::ruleset::rules::{KINDS, misplaced, shortened};
use crate::ruleset::support::PremiseKind;
use crate::ruleset::{EffectiveRules, Enforcement, Role, effective::list};

/// Nodes whose claims became weaker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Weakened {
    /// Newly refuted nodes.
    pub refuted: Vec<NodeId>,
    /// Nodes that lost their confirmation without being refuted.
    pub unconfirmed: Vec<NodeId>,
}

/// Returns the nodes whose claims became weaker between two states of an investigation.
pub fn weakened(before: &Investigation, after: &Investigation, rules: &EffectiveRules) -> Weakened {
    let mut turned = Weakened::default();
    for (node, state) in after.committed() {
        if !matches!(rules.role(state), Role::Solution | Role::Theory | Role::AwaitingConfirmation) {
            continue;
        }
        let Some(earlier) = before.committed_node(&node.id) else { continue };
        if !rules.refuted_by(after, node).is_empty() {
            turned.refuted.extend(rules.refuted_by(before, earlier).is_empty().then(|| node.id.clone()));
        } else if rules.grade(before, earlier).is_confirmed() && !rules.grade(after, node).is_confirmed() {
            turned.unconfirmed.push(node.id.clone());
        }
    }
    turned
}

/// Returns the confirmations of a node, or by it, that counted before it was amended and no longer do. `None` if none counted.
pub fn ended_confirmations(
    before: &Investigation,
    after: &Investigation,
    rules: &EffectiveRules,
    amended: &Node,
) -> Option<Vec<NodeId>> {
    let answers = amended.parent.iter().filter(|_| rules.confirms(amended)).chain([&amended.id]);
    let counting = |investigation: &Investigation| -> Vec<NodeId> {
        let answers = answers.clone().filter_map(|id| investigation.node(id));
        let confirming = answers.flat_map(|answer| rules.confirming(investigation, answer));
        confirming.filter(|it| it.grade.is_confirmed()).map(|it| it.node).collect()
    };
    let (counted, left) = (counting(before), counting(after));
    let ended = counted.iter().filter(|id| !left.contains(id)).cloned().collect();
    (!counted.is_empty()).then_some(ended)
}

/// Returns the conditions that prevent ending. Empty for an investigation that has already ended.
pub fn blockers(investigation: &Investigation, rules: &EffectiveRules) -> Vec<Diagnostic> {
    first_blockers(investigation, rules, &lacking(investigation, rules).collect::<Vec<_>>())
}

/// Returns the [`blockers`], with these of the nodes that lack children.
pub fn first_blockers(
    investigation: &Investigation,
    rules: &EffectiveRules,
    lacking: &[Lacking],
) -> Vec<Diagnostic> {
    if investigation.end_in_force().is_some() {
        return Vec::new();
    }
    let mut blockers = steps(investigation, rules, lacking);
    blockers.extend(file_problems(investigation, rules));
    blockers
}

/// Returns the file problems that no call can fix.
pub fn file_problems(investigation: &Investigation, rules: &EffectiveRules) -> Vec<Diagnostic> {
    let unreadable = investigation.unreadable().iter().map(|id| {
        let message = format!("The file of {id} can't be read or has no place in the tree.");
        Diagnostic::new(Code::UnreadableNode, message).about(id).suggest(
            Wording::both("tot_status", "`tot check`")
                .map(|call| format!("Fix it by hand and commit it; {call} names the problem.")),
        )
    });
    unreadable.chain(at_odds(investigation, rules)).collect()
}

/// Returns all missing required steps, even for an ended investigation, because a merge or a manual commit can leave it
/// in conflict with its rules.
pub fn missing_steps(investigation: &Investigation, rules: &EffectiveRules) -> Vec<Diagnostic> {
    steps(investigation, rules, &lacking(investigation, rules).collect::<Vec<_>>())
}

/// Returns the missing required steps, including these nodes that lack children.
fn steps(investigation: &Investigation, rules: &EffectiveRules, lacking: &[Lacking]) -> Vec<Diagnostic> {
    let pending: Vec<&NodeId> = investigation.pending().map(|node| &node.id).collect();
    let mut blockers: Vec<Diagnostic> = nothing_committed(investigation).into_iter().collect();
    for kind in &KINDS {
        blockers.extend((kind.blockers)(investigation, rules, lacking));
        blockers.extend((kind.end_checks)(investigation, rules, Enforcement::Reject));
    }
    blockers.extend(contested(investigation));
    blockers.extend(outdated(investigation, rules));
    if !pending.is_empty() {
        let message = format!("Proposed, but not committed: {}.", shortened(&pending, 10));
        let them = if pending.len() == 1 { "it" } else { "them" };
        let how = Wording::both("tot_propose (`withdraw`)", "`tot propose --withdraw`")
            .map(|call| format!("Commit {them}, or withdraw {them} with {call}."));
        blockers.push(Diagnostic::new(Code::PendingProposals, message).suggest(how));
    }
    blockers
}

/// Returns the blocker for an investigation without committed nodes.
pub(super) fn nothing_committed(investigation: &Investigation) -> Option<Diagnostic> {
    let is_empty = investigation.committed().next().is_none();
    is_empty.then(|| {
        Diagnostic::new(Code::NoNodes, "Nothing is committed yet.").suggest(
            match investigation.pending().next() {
                Some(_) => "Research what is pending, and commit it.".into(),
                None => Wording::both("tot_propose", "`tot propose`")
                    .map(|call| format!("Propose a root with {call}, research it, and commit it.")),
            },
        )
    })
}

/// Returns the blockers for nodes with unresolved conflicting results.
pub fn contested(investigation: &Investigation) -> Vec<Diagnostic> {
    let is_contested =
        |node: &&Arc<Node>| node.classification.as_ref().is_some_and(Classification::is_contested);
    let blocker = |node: &Arc<Node>| {
        let mut states: Vec<&str> = Vec::new();
        for state in node.results().map(|result| result.current_state().as_str()) {
            if !states.contains(&state) {
                states.push(state);
            }
        }
        undecided(
            node,
            ["the results", "; an author of one does not decide"],
            format!("{} has differing results: {}.", node.id, states.join(" and ")),
        )
    };
    investigation.nodes().filter(is_contested).map(blocker).collect()
}

/// Returns the blockers for steps to an answer that depend on a finding that changed since.
pub fn outdated(investigation: &Investigation, rules: &EffectiveRules) -> Vec<Diagnostic> {
    let rests_on = |answer: &Arc<Node>, node: &Node| {
        let premises = rules.premises(investigation, &answer.id);
        premises.iter().any(|it| it.node.id == node.id && !matches!(it.kind, PremiseKind::Confirmation(_)))
    };
    let changed = investigation.nodes().filter_map(|node| {
        let (on, what) = rules.changed_link(investigation, node)?;
        let message = format!("{} depends on {on}, which {what}.", node.id);
        let is_step = rules.answers(investigation).any(|answer| rests_on(answer, node));
        is_step.then(|| undecided(node, ["both", ""], message))
    });
    changed.collect()
}

/// Returns the blocker for a node whose state somebody must set again.
fn undecided(node: &Node, [what, by]: [&str; 2], message: String) -> Diagnostic {
    let how = Wording::both(
        format!(
            "Read {what} with tot_read, then use tot_reclassify to set the correct state, even if it is the current one"
        ),
        format!(
            "Read {what} with `tot show`, then set the correct state with `tot amend --state`, even if it is the current \
             one"
        ),
    );
    let how = how.map(|how| format!("{how}{by}."));
    Diagnostic::new(Code::Contested, message).about(&node.id).suggest(how)
}

/// Returns nodes in a state that the ruleset does not define or the parent's state does not allow. Only a manual edit
/// or a merge can cause this, in a node's file or in the pinned ruleset.
pub fn at_odds(investigation: &Investigation, rules: &EffectiveRules) -> Vec<Diagnostic> {
    let ruleset = rules.ruleset();
    let problems = investigation.committed().flat_map(|(node, state)| {
        let id = &node.id;
        let unknown = ruleset.state(state).is_none().then(|| {
            let message = format!("{id} is {state}, which is not a state of {}.", ruleset.name);
            let how = format!("Reclassify it to one of {}.", ruleset.state_list());
            Diagnostic::new(Code::UnknownState, message).about(id).suggest(how)
        });
        let children = investigation.committed_children(id);
        let known = children.filter(|(_, state)| ruleset.state(state).is_some());
        unknown.into_iter().chain(known.filter_map(|child| not_below(rules, (node, state), child)))
    });
    problems.collect()
}

/// Returns the problem of a child whose state this parent does not allow.
fn not_below(
    rules: &EffectiveRules,
    (parent, above): (&Arc<Node>, &StateName),
    (node, state): (&Arc<Node>, &StateName),
) -> Option<Diagnostic> {
    let code = misplaced(rules, node, parent)?.diagnostic.code;
    let (id, parent) = (&node.id, &parent.id);
    let (message, how) = if code == Code::TerminalParent {
        let message = format!("{id} is below {parent}, which is {above} and takes no children.");
        (message, format!("Reclassify {parent} to an open state."))
    } else {
        let allowed = list(rules.child_states(above).unwrap_or_default());
        let message = format!("{id} is {state} under {parent}, which is {above} and does not allow it.");
        (message, format!("Reclassify one of the two; allowed under {above}: {allowed}."))
    };
    Some(Diagnostic::new(code, message).about(id).suggest(how))
}

/// Returns the refuted nodes if no current answer remains.
pub(super) fn refuted_alone(investigation: &Investigation, rules: &EffectiveRules) -> Vec<NodeId> {
    if rules.answers(investigation).next().is_some() {
        return Vec::new();
    }
    rules.refutations(investigation).into_keys().cloned().collect()
}
