//! How sure an answer is, for drawings and pages: a word of the style sheet, and a sign beside the colour.

use serde::Serialize;

use crate::domain::{Investigation, Node};
use crate::ruleset::rules::verification::Grade;
use crate::ruleset::{EffectiveRules, Role};

/// How sure an answer is, or that it is none any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Sure {
    /// `confirmed`, `self-checked`, `unconfirmed`, `refuted`: for the style sheet.
    pub class: &'static str,
    /// A sign beside the colour.
    pub sign: &'static str,
    /// `confirmed independently`, …
    pub label: &'static str,
}

impl Sure {
    /// What another node has refuted.
    pub const REFUTED: Sure = Sure { class: "refuted", sign: "✗", label: "refuted" };

    /// An answer.
    pub fn of(grade: Grade) -> Sure {
        let (class, sign) = match grade {
            Grade::Independent | Grade::SecondAgent => ("confirmed", "✓"),
            Grade::SelfChecked => ("self-checked", "~"),
            Grade::None => ("unconfirmed", "?"),
        };
        Sure { class, sign, label: grade.label() }
    }

    /// How sure a node is: nothing where it is no answer and nobody has refuted it.
    pub fn of_node(investigation: &Investigation, rules: &EffectiveRules<'_>, node: &Node) -> Option<Sure> {
        if !rules.refuted_by(investigation, node).is_empty() {
            return Some(Sure::REFUTED);
        }
        let is_solution = rules.role(node.state()?) == Role::Solution;
        is_solution.then(|| Sure::of(rules.grade(investigation, node)))
    }

    /// Whether another than who found the answer confirms it.
    pub fn is_confirmed(&self) -> bool {
        self.class == "confirmed"
    }

    /// Whether a node confirms the answer, if only by who found it.
    pub fn is_checked(&self) -> bool {
        self.is_confirmed() || self.class == "self-checked"
    }
}
