//! How sure an answer is, for drawings and pages: a word of the style sheet, and a sign beside the colour.

use serde::Serialize;

use crate::domain::{Classification, Investigation, Node};
use crate::ruleset::rules::objections::Objection;
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
    /// Whether somebody objects to it, to what it rests on or to what confirms it, or has another result.
    pub contested: bool,
}

impl Sure {
    /// What another node has refuted.
    pub const REFUTED: Sure = Sure { class: "refuted", sign: "✗", label: "refuted", contested: false };

    /// An answer.
    pub fn of(grade: Grade) -> Sure {
        let (class, sign) = match grade {
            Grade::Independent | Grade::SecondAgent => ("confirmed", "✓"),
            Grade::SelfChecked => ("self-checked", "~"),
            Grade::None => ("unconfirmed", "?"),
        };
        Sure { class, sign, label: grade.label(), contested: false }
    }

    /// How sure a node is: nothing where it is no answer and nobody has refuted it. `open` are the objections that nobody has
    /// resolved.
    pub fn of_node(
        investigation: &Investigation,
        rules: &EffectiveRules<'_>,
        open: &[Objection],
        node: &Node,
    ) -> Option<Sure> {
        if !rules.refuted_by(investigation, node).is_empty() {
            return Some(Sure::REFUTED);
        }
        let is_solution = rules.role(node.state()?) == Role::Solution;
        is_solution.then(|| Sure {
            contested: node.classification.as_ref().is_some_and(Classification::is_contested)
                || !rules.against(investigation, node, open).is_empty(),
            ..Sure::of(rules.grade(investigation, node))
        })
    }

    /// Whether another than who found the answer confirms it.
    pub fn is_confirmed(&self) -> bool {
        self.class == "confirmed"
    }

    /// The best first: how well it is confirmed, and whether it is contested.
    pub fn rank(&self) -> (usize, bool) {
        let place = match self.class {
            "confirmed" if self.label == Grade::Independent.label() => 0,
            "confirmed" => 1,
            "self-checked" => 2,
            "unconfirmed" => 3,
            _ => 4,
        };
        (place, self.contested)
    }

    /// Whether a node confirms the answer, if only by who found it.
    pub fn is_checked(&self) -> bool {
        self.is_confirmed() || self.class == "self-checked"
    }
}
