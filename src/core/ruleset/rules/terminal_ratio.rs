//! `terminalRatio`: in each round of one commit, at most `maxPercent` of the nodes may be closed
//! (`TERMINAL_RATIO_EXCEEDED`). The first entry of `limits` that matches the round applies. `alsoClosed` lists open
//! states that count as closed. `notCounted` ignores the nodes that match every given field: `states`, `childrenOf`
//! (their parent is in one of these states), `toRound`.
//!
//! ```yaml
//! terminalRatio: {limits: [{toRound: 1, maxPercent: 0}, {fromRound: 2, maxPercent: 50}], alsoClosed: [ROOT_CAUSE], notCounted: [{states: [REFUTED], toRound: 1}, {childrenOf: [ROOT_CAUSE]}]}
//! ```

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CallDiagnostics, ROUNDS_REMEDY, RuleKind, SILENT, Verb, applies, in_rounds, no_round};
use crate::domain::{Code, Investigation, Node, StateName, Wording};
use crate::ruleset::Ruleset;
use crate::ruleset::effective::{EffectiveRules, list};
use crate::ruleset::validity::Problems;

/// Limits on the share of one commit that may be closed, by round. Reports `TERMINAL_RATIO_EXCEEDED` above a limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TerminalRatio {
    /// The limits by round. Rounds without a matching limit are unlimited.
    pub limits: Vec<RatioLimit>,
    /// States that count as closed in addition to the terminal ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also_closed: Vec<StateName>,
    /// Nodes to ignore.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_counted: Vec<NotCounted>,
}

/// The limit for some rounds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RatioLimit {
    /// The first round to which this applies; absent for 1.
    pub from_round: Option<u32>,
    /// The last round to which this applies; absent for all later rounds.
    pub to_round: Option<u32>,
    /// The maximum share of closed nodes, in percent of the counted nodes.
    pub max_percent: u32,
}

/// Nodes to ignore in a ratio. All given fields must match.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NotCounted {
    /// Nodes in these states.
    pub states: Option<Vec<StateName>>,
    /// Children of nodes in these states.
    pub children_of: Option<Vec<StateName>>,
    /// Nodes up to this round.
    pub to_round: Option<u32>,
}

/// Reports `TERMINAL_RATIO_EXCEEDED`.
pub(super) const KIND: RuleKind = RuleKind {
    key: "terminalRatio",
    errors: &[(Verb::Commit, Code::TerminalRatioExceeded)],
    problems,
    sentences,
    commit_together,
    ..SILENT
};

impl EffectiveRules<'_> {
    /// Returns the maximum percentage of a round's nodes that one commit may close; `None` for no limit.
    pub fn closing_limit(&self, round: u32) -> Option<u32> {
        let mut limits = self.ruleset.terminal_ratio.as_ref()?.limits.iter();
        Some(limits.find(|limit| applies(limit.from_round, limit.to_round, round))?.max_percent)
    }

    /// Returns whether a node in this state counts as closed for the limit; `None` if the node is not counted. `parent`
    /// is the parent's state.
    pub fn counts_as_closed(
        &self,
        state: &StateName,
        round: u32,
        parent: Option<&StateName>,
    ) -> Option<bool> {
        let rule = self.ruleset.terminal_ratio.as_ref()?;
        let left_out = rule.not_counted.iter().any(|exception| {
            exception.states.as_ref().is_none_or(|states| states.contains(state))
                && exception
                    .children_of
                    .as_ref()
                    .is_none_or(|of| parent.is_some_and(|parent| of.contains(parent)))
                && exception.to_round.is_none_or(|last| round <= last)
        });
        (!left_out).then(|| self.is_terminal(state) || rule.also_closed.contains(state))
    }
}

fn problems(ruleset: &Ruleset, problems: &mut Problems) {
    let Some(ratio) = &ruleset.terminal_ratio else { return };
    let named = ratio.not_counted.iter().flat_map(|rule| [&rule.states, &rule.children_of]);
    for states in [&ratio.also_closed].into_iter().chain(named.flatten()) {
        problems.check_states(ruleset, states);
    }
    for limit in &ratio.limits {
        if limit.max_percent > 100 {
            let reason = format!("{} % is over 100 %", limit.max_percent);
            problems.add(limit.max_percent, reason, "use at most 100");
        }
        if let Some(reason) = no_round(limit.from_round, limit.to_round) {
            problems.add("limits", reason, ROUNDS_REMEDY);
        }
    }
}

fn sentences(rules: &EffectiveRules) -> Vec<String> {
    let Some(ratio) = &rules.ruleset().terminal_ratio else { return Vec::new() };
    let limits = ratio.limits.iter().map(|limit| {
        let rounds = in_rounds(limit.from_round.unwrap_or(1), limit.to_round);
        format!("{} % {rounds}", limit.max_percent)
    });
    let also = match ratio.also_closed.as_slice() {
        [] => String::new(),
        states => format!(" (with {})", list(states)),
    };
    let mut sentences =
        vec![format!("At most this share of a commit's nodes may be closed{also}: {}.", list(limits))];
    sentences.extend(ratio.not_counted.iter().map(|exception| {
        let nodes = match &exception.states {
            Some(states) => format!("nodes in {}", list(states)),
            None => "nodes".to_owned(),
        };
        let below = exception.children_of.as_ref().map(|of| format!(" below {}", list(of)));
        let rounds = exception.to_round.map(|last| match last {
            1 => " of round 1".to_owned(),
            last => format!(" up to round {last}"),
        });
        format!("There, {nodes}{}{} do not count.", below.unwrap_or_default(), rounds.unwrap_or_default())
    }));
    sentences
}

fn commit_together(
    investigation: &Investigation,
    rules: &EffectiveRules,
    states: &[(&Node, StateName)],
    diagnostics: &mut CallDiagnostics,
) {
    // Per round: the number of counted nodes, and how many of them are closed.
    let mut rounds: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
    for (node, state) in states {
        let parent = node.parent.as_ref().and_then(|parent| investigation.node(parent)?.state());
        let Some(is_closed) = rules.counts_as_closed(state, node.round(), parent) else { continue };
        let (counted, closed) = rounds.entry(node.round()).or_default();
        *counted += 1;
        *closed += u64::from(is_closed);
    }
    for (round, (counted, closed)) in rounds {
        let Some(percent) = rules.closing_limit(round).map(u64::from) else { continue };
        if closed * 100 > counted * percent {
            let most = counted * percent / 100;
            let message = format!(
                "{closed} of {counted} nodes in round {round} would be closed; the limit is {most} ({percent} %)."
            );
            let how = Wording::both("tot_reclassify", "`tot amend --state`").map(|call| {
                format!(
                    "Commit more open nodes in that round in the same call; to close the last open leaves, use {call}."
                )
            });
            diagnostics.refuse(Code::TerminalRatioExceeded, "", message, how);
        }
    }
}
