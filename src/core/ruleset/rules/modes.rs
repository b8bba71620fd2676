//! `modes`: variants that `tot_start` may choose. The first is the default; without any, the only mode is `deep`. Each
//! has a `name` and a `meaning`. `minRounds` overrides the ruleset's own (with `minRoundsMayBeLowered`, `tot_start` may
//! go below), `maxChildrenOwed` limits the children that any node needs, `withoutBreadth` drops `breadth`, and
//! `childrenAsked` is the number of children that `tot_next` asks for below each open node.
//!
//! ```yaml
//! modes:
//! - {name: deep, meaning: The whole method, childrenAsked: 3}
//! - {name: quick, meaning: A first look, minRounds: 3, minRoundsMayBeLowered: true, maxChildrenOwed: 1, withoutBreadth: true}
//! ```

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{RuleKind, SILENT, StoredFact, Violation, min_rounds};
use crate::domain::{Code, Investigation};
use crate::ruleset::Ruleset;
use crate::ruleset::effective::{EffectiveRules, list};
use crate::ruleset::validity::{PLAIN_NAME, Problems, is_plain_name};

/// The mode name for rulesets that define no modes.
pub const ONLY_MODE: &str = "deep";

/// A stricter or more lenient variant of the method.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Mode {
    /// The name.
    pub name: String,
    /// The purpose, in one line.
    pub meaning: String,
    /// The minimum number of rounds, instead of the ruleset's.
    pub min_rounds: Option<u32>,
    /// True if `minRounds` in `tot_start` may be lower than this mode's minimum.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub min_rounds_may_be_lowered: bool,
    /// The maximum number of children that a node must have.
    pub max_children_owed: Option<u32>,
    /// True if the recommended breadth is ignored.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_breadth: bool,
    /// The minimum number of children per open node that `tot_next` asks for.
    pub children_asked: Option<u32>,
}

/// Modes never reject a call themselves.
pub(super) const KIND: RuleKind = RuleKind { key: "modes", problems, sentences, stored_checks, ..SILENT };

impl Ruleset {
    /// Returns the mode names, the default first.
    pub fn mode_names(&self) -> Vec<&str> {
        if self.modes.is_empty() {
            vec![ONLY_MODE]
        } else {
            self.modes.iter().map(|mode| mode.name.as_str()).collect()
        }
    }

    /// Returns the mode with this name, if the ruleset defines it.
    pub fn mode(&self, name: &str) -> Option<&Mode> {
        self.modes.iter().find(|mode| mode.name == name)
    }
}

impl<'a> EffectiveRules<'a> {
    /// Returns the name of the mode.
    pub fn mode_name(&self) -> &'a str {
        self.mode.map_or(ONLY_MODE, |mode| &mode.name)
    }

    /// Returns the purpose of the mode, in one line.
    pub fn mode_meaning(&self) -> &'a str {
        self.mode.map_or(self.ruleset.summary.as_str(), |mode| &mode.meaning)
    }

    /// Returns the minimum number of children per open node that `tot_next` requests.
    pub fn children_asked(&self) -> u32 {
        self.mode.and_then(|mode| mode.children_asked).unwrap_or(0)
    }
}

fn problems(ruleset: &Ruleset, problems: &mut Problems) {
    let mut seen = HashSet::new();
    for (at, mode) in ruleset.modes.iter().enumerate() {
        problems.item = Some(at);
        if !is_plain_name(&mode.name) {
            problems.add(&mode.name, format!("`{}` is not a mode name", mode.name), PLAIN_NAME);
        }
        if !seen.insert(&mode.name) {
            let reason = format!("the mode {} is repeated", mode.name);
            problems.add(&mode.name, reason, "each mode has one entry");
        }
        if let Some(rounds) = mode.min_rounds.filter(|rounds| !min_rounds::BOUNDS.contains(rounds)) {
            problems.add("minRounds", format!("minRounds is {rounds}"), "use 1 to 20");
        }
        if mode.max_children_owed == Some(0) {
            let reason = "maxChildrenOwed 0 would allow ending with open nodes";
            problems.add("maxChildrenOwed", reason, "use at least 1");
        }
    }
}

fn sentences(rules: &EffectiveRules) -> Vec<String> {
    let sentence = |number| format!("tot_next asks for {number} or more children for each open node.");
    Some(rules.children_asked()).filter(|number| *number > 0).map(sentence).into_iter().collect()
}

/// Checks for a mode that `tot_start` would have rejected.
fn stored_checks(investigation: &Investigation, rules: &EffectiveRules, violations: &mut Vec<Violation>) {
    let (ruleset, mode) = (rules.ruleset(), &investigation.meta().mode);
    if !ruleset.mode_names().contains(&mode.as_str()) {
        let modes = list(ruleset.mode_names());
        let message = format!("{} has no mode `{mode}`; it has {modes}.", ruleset.name);
        violations.push(Violation::error(StoredFact::Setting("mode"), Code::UnknownMode, message));
    }
}
