//! The rules in force for one investigation: the ruleset, its mode, and the choices made with `tot_start`. Each rule
//! kind adds its own methods in [`rules`](super::rules).

use super::rules::Ruleset;
use super::rules::agents::Enforcement;
use super::rules::modes::Mode;
use crate::domain::Meta;

/// The rules in force for one investigation.
#[derive(Clone, Copy, Debug)]
pub struct EffectiveRules<'a> {
    pub(super) ruleset: &'a Ruleset,
    pub(super) mode: Option<&'a Mode>,
    /// The round that must be reached before ending.
    pub min_rounds: u32,
    /// The minimum number of roots.
    pub min_roots: u32,
    pub(super) allow_early_terminal: bool,
    /// The enforcement for suspected credentials. The operator's may be stricter than the ruleset's.
    pub secrets: Enforcement,
    /// The maximum size of an attachment in bytes, as set by the operator.
    pub attachment_max: u64,
}

/// The default maximum size of an attachment in bytes.
pub const ATTACHMENT_MAX: u64 = 1 << 20;

impl<'a> EffectiveRules<'a> {
    /// Returns the rules in force for an investigation.
    pub fn new(ruleset: &'a Ruleset, meta: &Meta) -> Self {
        EffectiveRules {
            mode: ruleset.mode(&meta.mode),
            min_rounds: meta.min_rounds,
            min_roots: meta.min_roots,
            allow_early_terminal: meta.allow_early_terminal,
            ..EffectiveRules::by_default(ruleset)
        }
    }

    /// Returns the rules for an investigation with default settings.
    pub fn by_default(ruleset: &'a Ruleset) -> Self {
        let mode = ruleset.modes.first();
        let min_rounds = mode.and_then(|mode| mode.min_rounds).unwrap_or(ruleset.end.min_rounds);
        EffectiveRules {
            ruleset,
            mode,
            min_rounds,
            min_roots: ruleset.roots.min,
            allow_early_terminal: ruleset.keeps_early_states(min_rounds),
            secrets: ruleset.checks.secret_suspected,
            attachment_max: ATTACHMENT_MAX,
        }
    }

    /// Returns whether the rules are less strict than the ruleset, because early states are kept or the mode requires
    /// less.
    pub fn is_relaxed(&self) -> bool {
        let keeps_early = self.allow_early_terminal && self.ruleset.has_conversions();
        let asks_less = |mode: &Mode| mode.max_children_owed.is_some() || mode.without_breadth;
        keeps_early || self.mode.is_some_and(asks_less)
    }

    /// Returns the ruleset.
    pub fn ruleset(&self) -> &'a Ruleset {
        self.ruleset
    }
}

/// Joins names with commas: `EXPLORE, FOUND, VERIFY`.
pub fn list<T: ToString>(names: impl IntoIterator<Item = T>) -> String {
    names.into_iter().map(|name| name.to_string()).collect::<Vec<_>>().join(", ")
}

/// Joins names with commas, and the last with `word`: `EXPLORE, FOUND and VERIFY`.
pub fn joined<T: ToString>(names: &[T], word: &str) -> String {
    match names {
        [first @ .., last] if !first.is_empty() => {
            format!("{} {word} {}", list(first.iter().map(T::to_string)), last.to_string())
        }
        names => list(names.iter().map(T::to_string)),
    }
}
