//! `end.minRounds`: the round that the investigation must have reached before it can end, from 1 to 20 (`MIN_ROUNDS`).
//! If every node is closed earlier, it needs another root (`RECOVERY_REQUIRED`). In every ruleset, open nodes must have
//! their required children, no node may await confirmation, and no proposal may be pending.
//!
//! ```yaml
//! end: {minRounds: 4}
//! ```

use std::ops::RangeInclusive;

use super::children::Lacking;
use super::{RuleKind, SILENT, StoredFact, Verb, Violation};
use crate::domain::{Code, Diagnostic, Investigation, ShortId, Wording};
use crate::ruleset::Ruleset;
use crate::ruleset::effective::EffectiveRules;
use crate::ruleset::validity::Problems;

/// The permitted range of `minRounds`, in rulesets and in `tot_start`.
pub(super) const BOUNDS: RangeInclusive<u32> = 1..=20;

/// Reports `MIN_ROUNDS` and `RECOVERY_REQUIRED`.
pub(super) const KIND: RuleKind = RuleKind {
    key: "end.minRounds",
    errors: &[(Verb::End, Code::RecoveryRequired), (Verb::End, Code::MinRounds)],
    problems,
    end,
    blockers,
    stored_checks,
    ..SILENT
};

impl EffectiveRules<'_> {
    /// Returns whether every node is terminal before the minimum round is reached, so no branch can continue.
    pub fn recovery_required(&self, investigation: &Investigation) -> bool {
        let mut committed = investigation.committed().peekable();
        committed.peek().is_some()
            && investigation.current_round() < self.min_rounds
            && committed.all(|(_, state)| self.is_terminal(state))
    }

    /// Returns the ids that a root can have, if not all.
    pub fn root_ids(&self, investigation: &Investigation) -> Option<&[ShortId]> {
        self.ruleset().roots.ids.as_deref().filter(|_| !self.recovery_required(investigation))
    }
}

/// Returns the minimum number of rounds in a mode, and the lowest that `tot_start` may choose instead.
fn bounds(ruleset: &Ruleset, mode: &str) -> (u32, u32) {
    let mode = ruleset.mode(mode);
    let own = mode.and_then(|mode| mode.min_rounds).unwrap_or(ruleset.end.min_rounds);
    let may_be_lowered = mode.is_some_and(|mode| mode.min_rounds_may_be_lowered);
    (own, if may_be_lowered { *BOUNDS.start() } else { own })
}

/// Returns the minimum number of rounds for a new investigation, based on its mode, the request and the operator's
/// floor.
///
/// # Errors
///
/// Returns `INVALID_ARGUMENT` if the number is too high, or too low for the mode or the floor.
pub fn chosen(
    ruleset: &Ruleset,
    mode: &str,
    asked: Option<u32>,
    floor: Option<u32>,
) -> Result<u32, Diagnostic> {
    let (own, lowest) = bounds(ruleset, mode);
    let least = lowest.max(floor.unwrap_or(0));
    let asked = asked.unwrap_or(own.max(least));
    let invalid = |what: String, how: String| {
        let message = Wording::both("minRounds", "--min-rounds").map(|it| format!("{it} is {asked}{what}."));
        Err(Diagnostic::new(Code::InvalidArgument, message).suggest(how))
    };
    if asked > *BOUNDS.end() {
        return invalid(format!("; the limit is {}", BOUNDS.end()), "Ask for fewer rounds.".into());
    }
    // An unknown mode has no known minimum.
    if asked < least && ruleset.mode_names().contains(&mode) {
        let who = match floor {
            Some(floor) if floor == least && floor > own => "this server".to_owned(),
            _ => format!("{} in {mode} mode", ruleset.name),
        };
        return invalid(
            format!(", but {who} requires at least {least}"),
            format!("Omit it, or set it to {least} or more."),
        );
    }
    Ok(asked)
}

fn problems(ruleset: &Ruleset, problems: &mut Problems) {
    if !BOUNDS.contains(&ruleset.end.min_rounds) {
        let reason = format!("minRounds is {}", ruleset.end.min_rounds);
        problems.add("minRounds", reason, "use 1 to 20");
    }
}

fn end(rules: &EffectiveRules) -> Option<String> {
    Some(format!("Round {} is reached.", rules.min_rounds))
}

fn blockers(investigation: &Investigation, rules: &EffectiveRules, _: &[Lacking]) -> Vec<Diagnostic> {
    let mut blockers = Vec::new();
    let (round, least) = (investigation.current_round(), rules.min_rounds);
    if rules.recovery_required(investigation) {
        let is_pending = investigation.pending().next().is_some();
        let message = format!("Every node is closed, but round {least} has not been reached.");
        blockers.push(
            Diagnostic::new(Code::RecoveryRequired, message).suggest(match is_pending {
                true => Wording::from("Commit what is pending; if that is closed too, propose a new root."),
                false => Wording::both(
                    "reclassify a closed node to an open state",
                    "reopen a node with `tot amend --state`",
                )
                .map(|or| format!("Propose a new root, or {or}.")),
            }),
        );
    }
    if round < least {
        let stands = match investigation.committed().next() {
            Some(_) => format!("the deepest committed node is in round {round}"),
            None => "nothing is committed yet".to_owned(),
        };
        let message = format!("Round {least} must be reached; {stands}.");
        let mut blocker = Diagnostic::new(Code::MinRounds, message);
        // If no node is open, the previous blocker contains the remedy.
        if investigation.committed().any(|(_, state)| !rules.is_terminal(state)) {
            let deep_enough = investigation.pending().any(|node| node.round() >= least);
            blocker = blocker.suggest(match deep_enough {
                true => format!("Commit what is pending in round {least} or deeper."),
                false => {
                    format!("Propose more nodes below open ones until one in round {least} is committed.")
                }
            });
        }
        blockers.push(blocker);
    }
    blockers
}

/// Checks for a minimum that `tot_start` would have rejected.
fn stored_checks(investigation: &Investigation, rules: &EffectiveRules, violations: &mut Vec<Violation>) {
    let (ruleset, meta) = (rules.ruleset(), investigation.meta());
    let (least, lowest) = bounds(ruleset, &meta.mode);
    if meta.min_rounds < lowest {
        let message =
            format!("minRounds is {}, but {} requires at least {least}.", meta.min_rounds, ruleset.name);
        violations.push(Violation::error(StoredFact::Setting("minRounds"), Code::MinRoundsLowered, message));
    }
}
