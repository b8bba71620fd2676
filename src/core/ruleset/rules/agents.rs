//! `checks`: each is `"off"` (quoted, because some YAML parsers read a bare off as false), `warn` (the default; the
//! warning stays in the history) or `reject`.
//!
//! - `suspicious`: a commit less than `minResearchSeconds` after its proposal (`SUSPICIOUS`)
//! - `missingAgent`, `reusedAgent`: a result without an agent, or by an agent with other results (`MISSING_AGENT`,
//!   `REUSED_AGENT`)
//! - `noReason`: a state change without a reason (`NO_REASON`)
//! - `missingConclusion`: ending without a conclusion (`MISSING_CONCLUSION`)
//! - `missingBottomLine`: ending without the answer in one or two sentences (`MISSING_BOTTOM_LINE`; `off` by default).
//!   Unless it is off, a draft is told which of its numbers have no source (`NO_SOURCE`)
//! - `conclusionUnbound`: ending without naming any of several answers (`CONCLUSION_UNBOUND`)
//! - `underminedAnswer`: ending with an answer that rests on a refuted one (`UNDERMINED_ANSWER`)
//!
//! ```yaml
//! checks: {minResearchSeconds: 30, suspicious: reject, missingAgent: warn, reusedAgent: "off"}
//! ```

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CallDiagnostics, ReclassificationCheck, ResultCheck, RuleKind, SILENT, Verb};
use crate::domain::node::says_nothing;
use crate::domain::{Code, Diagnostic, Investigation, Wording};
use crate::ruleset::effective::EffectiveRules;
use crate::text::shorten;

/// Checks on agents' calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Checks {
    /// Commits made sooner than this after the proposal are suspicious.
    pub min_research_seconds: u32,
    /// `SUSPICIOUS`: a commit too soon after its proposal, and not by a person.
    pub suspicious: Enforcement,
    /// `MISSING_AGENT`: no `agentId`.
    pub missing_agent: Enforcement,
    /// `REUSED_AGENT`: the `agentId` already appears on another node.
    pub reused_agent: Enforcement,
    /// `NO_REASON`: a state change without a reason.
    pub no_reason: Enforcement,
    /// `MISSING_CONCLUSION`: the investigation ended without a conclusion.
    pub missing_conclusion: Enforcement,
    /// `MISSING_BOTTOM_LINE`: the investigation ended without a bottom line.
    pub missing_bottom_line: Enforcement,
    /// `CONCLUSION_UNBOUND`: a conclusion that does not say which of several answers it rests on.
    pub conclusion_unbound: Enforcement,
    /// `UNDERMINED_ANSWER`: an answer that rests on a refuted one.
    pub undermined_answer: Enforcement,
    /// `SECRET_SUSPECTED`: text that looks like a credential.
    pub secret_suspected: Enforcement,
}

impl Default for Checks {
    fn default() -> Self {
        Checks {
            min_research_seconds: 10,
            suspicious: Enforcement::Warn,
            missing_agent: Enforcement::Warn,
            reused_agent: Enforcement::Warn,
            no_reason: Enforcement::Warn,
            missing_conclusion: Enforcement::Warn,
            missing_bottom_line: Enforcement::Off,
            conclusion_unbound: Enforcement::Warn,
            undermined_answer: Enforcement::Warn,
            secret_suspected: Enforcement::Warn,
        }
    }
}

/// The effect of a check.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Enforcement {
    /// No effect.
    #[default]
    Off,
    /// The call succeeds with a warning.
    Warn,
    /// The call is refused.
    Reject,
}

impl Enforcement {
    /// The default where a check is on unless the ruleset says otherwise.
    pub(super) fn warn() -> Self {
        Enforcement::Warn
    }

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
    pub(super) fn is_warn(&self) -> bool {
        *self == Enforcement::Warn
    }

    /// Describes the consequence in a sentence; `None` for [`Enforcement::Off`].
    pub(super) fn sentence(self, what: &str) -> Option<String> {
        match self {
            Enforcement::Off => None,
            Enforcement::Warn => Some(format!("{what} triggers a warning, which stays in the history.")),
            Enforcement::Reject => Some(format!("{what} is refused.")),
        }
    }
}

/// Reports `SUSPICIOUS`, `MISSING_AGENT`, `REUSED_AGENT`, `NO_REASON` and `UNDERMINED_ANSWER`. `tot_end` checks the
/// conclusion itself.
pub(super) const KIND: RuleKind = RuleKind {
    key: "checks",
    warnings: &[
        (Verb::Commit, Code::Suspicious),
        (Verb::Commit, Code::MissingAgent),
        (Verb::Commit, Code::ReusedAgent),
        (Verb::Reclassify, Code::NoReason),
        (Verb::End, Code::UnderminedAnswer),
    ],
    errors: &[(Verb::End, Code::UnderminedAnswer)],
    sentences,
    commit,
    reclassify,
    end_checks,
    ..SILENT
};

fn sentences(rules: &EffectiveRules) -> Vec<String> {
    let checks = &rules.ruleset().checks;
    let early = format!("An agent's commit less than {} s after its proposal", checks.min_research_seconds);
    let each = [
        checks.suspicious.sentence(&early),
        checks.missing_agent.sentence("An agent's result without agentId"),
        checks.reused_agent.sentence("An agentId that is already on another node"),
        checks.no_reason.sentence("A state change without a reason"),
        checks.missing_conclusion.sentence("Ending without a conclusion"),
        checks.missing_bottom_line.sentence("Ending without a bottom line"),
        checks.conclusion_unbound.sentence("Ending without naming any of several answers"),
        checks.undermined_answer.sentence("Ending with an answer that rests on one that fell"),
    ];
    each.into_iter().flatten().collect()
}

/// Returns the answers that rest on refuted ones, if the ruleset applies this enforcement to them.
fn end_checks(investigation: &Investigation, rules: &EffectiveRules, asked: Enforcement) -> Vec<Diagnostic> {
    if rules.ruleset().checks.undermined_answer != asked {
        return Vec::new();
    }
    let undermined = rules.answers(investigation).filter_map(|answer| {
        let (premise, by) = rules.undermined(investigation, &answer.id)?;
        let message = format!("{} rests on {premise}, which {by} refutes.", answer.id);
        let how = "Refute it as well, with a child that says what falls with its premise; an answer that still holds needs \
                   other ground.";
        Some(Diagnostic::new(Code::UnderminedAnswer, message).about(&answer.id).suggest(how))
    });
    undermined.collect()
}

fn reclassify(change: &ReclassificationCheck, diagnostics: &mut CallDiagnostics) {
    // A word such as “obsolete” says why; “ok” does not.
    let is_word = |reason: &str| reason.chars().all(char::is_alphabetic) && reason.chars().count() > 4;
    let reason = change.stored.reason.as_deref();
    if reason.map(str::trim).is_none_or(|reason| says_nothing(reason) && !is_word(reason)) {
        let message = format!("{} becomes {} without a reason.", change.node.id, change.stored.to);
        let doubt = Diagnostic::new(Code::NoReason, message)
            .about(&change.node.id)
            .suggest("Say in `reason` what was learned since its commit.")
            .for_people("Say with -m what was learned since its commit.");
        diagnostics.add(change.rules.ruleset().checks.no_reason, doubt);
    }
}

fn commit(result: &ResultCheck, diagnostics: &mut CallDiagnostics) {
    let checks = &result.rules.ruleset().checks;
    let (node, stored) = (result.node, result.stored);
    let doubt = |code: Code, message: Wording, how: Wording| {
        Diagnostic::new(code, message).about(&node.id).suggest(how)
    };
    let least = f64::from(checks.min_research_seconds);
    let seconds = result.now.seconds_since(node.proposed_at);
    // Research may begin before the proposal. In that case, the result states when it began or which commands were run.
    let began_before = stored.started_at.is_some_and(|began| result.now.seconds_since(began) >= least);
    let has_commands = !(stored.commands.is_empty() && stored.runs.is_empty());
    // A result that proposes itself does not say when its research began.
    let is_unknown = result.proposes_itself && checks.suspicious != Enforcement::Reject;
    if seconds < least && !is_unknown && !result.is_person && !began_before && !has_commands {
        let message = format!(
            "{} was committed {seconds:.1} s after it was proposed; research takes {} s or more.",
            node.id, checks.min_research_seconds
        );
        let how = "Research a node between its proposal and its commit, or say when it began (`startedAt`) or what was \
                   run (`commands`).";
        diagnostics.add(checks.suspicious, doubt(Code::Suspicious, message.into(), how.into()));
    }
    match (stored.agent_id.as_deref(), result.agents_other) {
        (None, _) if result.is_person => {}
        (None, _) => {
            let message = Wording::both("an agentId", "a name")
                .map(|name| format!("{} was committed without {name}.", node.id));
            let how = Wording::both(
                "Give the id of the agent that did the research.",
                "`git config --global user.name` gives you one.",
            );
            diagnostics.add(checks.missing_agent, doubt(Code::MissingAgent, message, how));
        }
        (Some(agent), Some(other)) => {
            let message = format!(
                "{} was committed by {}, who already researched {other}.",
                node.id,
                shorten(agent, 60)
            );
            let how = "If you have sub-agents, give each one a node; if not, name yourself: an invented name convinces nobody.";
            diagnostics.add(checks.reused_agent, doubt(Code::ReusedAgent, message.into(), how.into()));
        }
        (Some(_), None) => {}
    }
}
