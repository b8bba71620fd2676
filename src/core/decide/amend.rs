//! `tot_amend` corrects the text of a committed node or the conclusion, or accepts somebody's correction of it. The stored
//! file retains the earlier text.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use super::backing::{self, LINE_MAX, NewCitation, NewCommand};
use super::citing;
use super::commit::unreadable_references;
use super::edits::edited;
use super::end::{Bind, BindSchema, bottom_line, bound_answers, check_bound, pin_changed, source_warnings};
use super::{
    Decision, Rejection, TITLE_MAX, check_line, check_texts, comment, given, means_report, not_blank, quoted,
    refuse_ambiguous, refuse_if_ended, sources, title, trimmed,
};
use crate::domain::{
    AmendedConclusion, Amendment, Caller, Citation, Classification, Code, Comment, CommentId, CommentKind,
    Conclusion, Diagnostic, Event, Investigation, LookedUp, LookedUpPaths, NamedIn, Node, TextEdit,
    Timestamp, Wording,
};
use crate::markdown::Parsed;
use crate::ruleset::EffectiveRules;
use crate::ruleset::corrections;
use crate::ruleset::rules::confirmation::stamp;
use crate::ruleset::rules::objections::{self, corrected_text};
use crate::ruleset::rules::verification::ClaimedAuthor;
use crate::ruleset::rules::{AmendmentCheck, CallDiagnostics, KINDS};

/// The unvalidated input of `tot_amend`. Agents see the field docs in the schema.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Amend {
    /// A committed node; absent for the conclusion.
    #[schemars(extend("examples" = ["R3.A1a"]))]
    pub node_id: Option<String>,
    /// The reason.
    #[serde(default)]
    pub reason: String,
    /// Id of a correction to accept.
    pub correction: Option<String>,
    /// In findings or conclusion; each `old` occurs once.
    #[serde(default)]
    pub edits: Vec<TextEdit>,
    /// One sentence.
    pub headline: Option<String>,
    /// The full text.
    pub findings: Option<String>,
    /// One line.
    pub title: Option<String>,
    /// The proof.
    pub evidence: Option<String>,
    /// All of them.
    pub alternatives_considered: Option<Vec<String>>,
    /// All of them.
    pub caveats: Option<Vec<String>>,
    /// As in tot_commit.
    #[schemars(extend("x-elsewhere" = true))]
    pub commands: Option<Vec<NewCommand>>,
    /// As in tot_commit.
    #[schemars(extend("x-elsewhere" = true))]
    pub references: Option<Vec<NewCitation>>,
    /// As in tot_end.
    pub bottom_line: Option<String>,
    /// As in tot_end.
    pub conclusion: Option<String>,
    /// As in tot_end.
    #[schemars(with = "Option<Vec<BindSchema>>", extend("x-elsewhere" = true))]
    pub answers: Option<Vec<Bind>>,
    /// As in tot_end.
    pub not_covered: Option<Vec<String>>,
    /// Lists to empty.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub clear: Vec<ClearedList>,
    /// The amending agent.
    pub agent_id: Option<String>,
}

/// A list that a request empties. An empty list alone does not: agents send one for each field they don't use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ClearedList {
    /// The alternatives.
    AlternativesConsidered,
    /// The limitations.
    Caveats,
    /// The commands.
    Commands,
    /// The sources.
    References,
    /// The answers of the conclusion.
    Answers,
    /// The open questions of the conclusion.
    NotCovered,
}

impl ClearedList {
    /// Returns the new list, or `None` if the list does not change.
    fn list<T>(self, given: Option<Vec<T>>, clear: &[ClearedList]) -> Option<Vec<T>> {
        let given = given.filter(|list| !list.is_empty());
        given.or_else(|| clear.contains(&self).then(Vec::new))
    }
}

/// Error codes for rejected amendments, besides those common to all calls.
pub const CODES: &[Code] = &[
    Code::NodeNotFound,
    Code::CommentNotFound,
    Code::ResolvedByAuthor,
    Code::MissingReason,
    Code::EmptyBatch,
    Code::InvestigationEnded,
];

/// Validates an amendment. `known` contains the lookup results for the paths collected by [`citing`].
///
/// Skips unchanged fields. If nothing changes, the decision has no event.
///
/// # Errors
///
/// - `EMPTY_BATCH`: the request contains no new text.
/// - `INVALID_ARGUMENT`: the request mixes text for a node and for the conclusion, or there is no conclusion to amend.
/// - `COMMENT_NOT_FOUND`: there is no such correction, or it was resolved.
/// - `RESOLVED_BY_AUTHOR`: the caller wrote the correction to accept.
/// - `INVESTIGATION_ENDED`: the node belongs to an ended investigation, and the request accepts no correction.
/// - `NODE_NOT_FOUND`, `MISSING_REASON` or `TEXT_TOO_LONG`.
/// - `SECRET_SUSPECTED`: the text seems to contain credentials, and the rules reject them.
pub fn amend(
    investigation: &Investigation,
    rules: &EffectiveRules,
    request: Amend,
    caller: &Caller,
    known: &LookedUpPaths,
    now: Timestamp,
) -> Result<Decision, Rejection> {
    let mut diagnostics = CallDiagnostics::default();
    let Some(request) = request.with_edits_made(investigation, caller)? else {
        return Ok(Decision { event: None, warnings: Vec::new() });
    };
    let request = Amend {
        node_id: not_blank(request.node_id),
        conclusion: not_blank(request.conclusion),
        answers: ClearedList::Answers.list(request.answers, &request.clear),
        not_covered: ClearedList::NotCovered.list(request.not_covered.map(without_blanks), &request.clear),
        ..request
    };
    let about = request.node_id.clone().unwrap_or_default();
    if request.reason.trim().is_empty() {
        let what = if about.is_empty() { "the conclusion" } else { &about };
        let message = format!("The change to {what} has no reason.");
        diagnostics.refuse(
            Code::MissingReason,
            &about,
            message,
            Wording::both("Say in `reason` what was wrong.", "Say with -m what was wrong."),
        );
    }
    check_texts(rules, &about, texts(&request), &mut diagnostics);
    match request.node_id {
        Some(_) => of_node(investigation, rules, request, (known, now), diagnostics),
        None => of_conclusion(investigation, rules, request, (known, now), diagnostics),
    }
}

impl Amend {
    /// Returns the request with the whole text instead of the edits, which are its own or those of the correction that it
    /// accepts. `None` if that correction has been accepted already.
    ///
    /// # Errors
    ///
    /// Returns `COMMENT_NOT_FOUND`, `RESOLVED_BY_AUTHOR` or `INVALID_ARGUMENT`.
    pub fn with_edits_made(
        mut self,
        investigation: &Investigation,
        caller: &Caller,
    ) -> Result<Option<Amend>, Rejection> {
        let Some(named) = trimmed(self.correction.take()) else {
            let edits = std::mem::take(&mut self.edits);
            return self.with_edits(investigation, &edits).map(Some);
        };
        let not_found = |message: String| {
            let how = Wording::both("tot_read", "`tot show NODE`")
                .map(|call| format!("{call} lists the comments of a node."));
            Rejection::from(Diagnostic::new(Code::CommentNotFound, message).suggest(how))
        };
        let is_correction = |it: &Comment, is_named| is_named && it.kind == CommentKind::Correction;
        let correction =
            comment::find(investigation, &named, "correction", is_correction).map_err(not_found)?;
        let about = correction.node.as_ref().map(ToString::to_string);
        let refuse = |code, message: String, how: Wording| {
            let error = Diagnostic::new(code, message).suggest(how);
            Rejection::from(about.iter().fold(error, |error, about| error.about(about)))
        };
        let named_node = not_blank(self.node_id.take());
        let is_same = named_node.as_ref().is_none_or(|node| {
            investigation.find(node).is_ok_and(|node| Some(&node.id) == correction.node.as_ref())
        });
        let is_other =
            |(field, text): (&str, &str)| !["reason", "agentId"].contains(&field) && !text.trim().is_empty();
        let is_more = texts(&self).any(is_other)
            || !(self.edits.is_empty() && self.clear.is_empty())
            || self.answers.iter().flatten().next().is_some()
            || self.not_covered.iter().flatten().next().is_some();
        if is_more || !is_same {
            let message = format!("The correction {} is accepted as it is.", correction.id);
            let how = Wording::both(
                "Leave out everything but `correction` and `agentId`; amend the rest by another call.",
                "Give --accept alone; amend the rest by another command.",
            );
            return Err(refuse(Code::InvalidArgument, message, how));
        }
        if objections::is_accepted(investigation, correction) {
            return Ok(None);
        }
        if !objections::open(investigation).iter().any(|it| it.comment.id == correction.id) {
            return Err(not_found(format!("The correction {} was resolved.", correction.id)));
        }
        let agent = trimmed(self.agent_id.clone());
        if !corrections::may_accept(
            corrections::author(correction),
            ClaimedAuthor::of(agent.as_deref(), caller),
        ) {
            let message = format!(
                "The correction {} must be accepted under a name other than its author's.",
                correction.id
            );
            let how = "Let the author of the text or somebody else accept it.".into();
            return Err(refuse(Code::ResolvedByAuthor, message, how));
        }
        if self.reason.trim().is_empty() {
            self.reason.clone_from(&correction.text);
        }
        let request =
            Amend { node_id: about, reason: self.reason, agent_id: self.agent_id, ..Amend::default() };
        let request = request.with_edits(investigation, &correction.edits).map_err(|rejection| {
            let suggest = |error: Diagnostic| error.suggest(objections::outdated(correction.id));
            Rejection { errors: rejection.errors.into_iter().map(suggest).collect() }
        })?;
        Ok(Some(Amend { correction: Some(correction.id.to_string()), ..request }))
    }

    fn with_edits(mut self, investigation: &Investigation, edits: &[TextEdit]) -> Result<Amend, Rejection> {
        let node = not_blank(self.node_id.clone());
        let found = node.as_ref().map(|node| investigation.find(node)).transpose();
        // Whoever names no node that there is learns it from the checks below.
        let (false, Ok(found)) = (edits.is_empty(), found) else { return Ok(self) };
        let about = node.unwrap_or_default();
        let whole = if found.is_some() { &mut self.findings } else { &mut self.conclusion };
        if whole.take().is_some_and(|text| !text.trim().is_empty()) {
            let message = "The call has a whole text and edits of it.";
            return Err(Diagnostic::new(Code::InvalidArgument, message).suggest("Give one of them.").into());
        }
        *whole = match corrected_text(investigation, found.map(|node| &node.id)) {
            Some(text) => Some(edited(&about, text, edits)?),
            // The checks below say what is missing.
            None => edits.first().map(|edit| edit.new.clone()),
        };
        Ok(self)
    }

    /// Returns the correction that the request accepts.
    fn accepted(&self) -> Option<CommentId> {
        self.correction.as_ref()?.parse().ok()
    }
}

fn of_node(
    investigation: &Investigation,
    rules: &EffectiveRules,
    request: Amend,
    (known, now): (&LookedUpPaths, Timestamp),
    mut diagnostics: CallDiagnostics,
) -> Result<Decision, Rejection> {
    let is_report = request.node_id.as_deref().is_some_and(means_report);
    if is_report || names_conclusion(&request) {
        let message = if is_report { "The report is not a node." } else { "A node has no conclusion." };
        return Err(Diagnostic::new(Code::InvalidArgument, message)
            .suggest(
                "Leave out `nodeId` to amend the conclusion, its `bottomLine`, `answers` or `notCovered`.",
            )
            .for_people("Use --conclusion to amend the conclusion.")
            .into());
    }
    let correction = request.accepted();
    let about = request.node_id.unwrap_or_default();
    // Like the conclusion, a node may be corrected after the end. What confirmed it then counts as far as before the end.
    let refused = if correction.is_some() { Ok(()) } else { refuse_if_ended(investigation) };
    refused.map_err(|rejection| {
        let node = quoted(&about);
        let how = Wording::both(
            format!(
                "To reopen it, tot_reclassify {node} to an open state, then amend it. Its confirmations lapse; tot_step \
                 proposes new checks."
            ),
            format!(
                "To reopen it, move {node} to an open state with `tot amend --state`, then amend it. Its confirmations \
                 lapse; `tot propose --next` proposes new checks."
            ),
        );
        Rejection { errors: rejection.errors.into_iter().map(|error| error.suggest(how.clone())).collect() }
    })?;
    refuse_ambiguous(investigation, [about.as_str()])?;
    let Some(node) = investigation.find(&about).ok().filter(|node| !node.is_pending()) else {
        return Err(Diagnostic::new(
            Code::NodeNotFound,
            format!("{} is not a committed node.", quoted(&about)),
        )
        .about(&about)
        .suggest("Amend a committed node; to change a pending one, propose it again.")
        .into());
    };
    let about = node.id.to_string();
    let clear = &request.clear;
    let alternatives = request.alternatives_considered.map(without_blanks);
    let caveats = request.caveats.map(|given| backing::caveats(&about, given, &mut diagnostics));
    let commands = request.commands.map(|given| backing::commands(&about, given, &mut diagnostics));
    let references = request.references.map(|given| backing::references(&about, given, &mut diagnostics));
    let mut amendment = Amendment {
        agent_id: trimmed(request.agent_id),
        title: title(request.title),
        headline: title(request.headline),
        findings: not_blank(request.findings),
        evidence: not_blank(request.evidence),
        alternatives_considered: ClearedList::AlternativesConsidered.list(alternatives, clear),
        caveats: ClearedList::Caveats.list(caveats, clear),
        commands: ClearedList::Commands.list(commands, clear),
        references: ClearedList::References.list(references, clear),
        correction,
        ..Amendment::new(stamp(investigation, node, now), request.reason)
    };
    check_line(&about, "title", amendment.title.as_deref(), TITLE_MAX, "the findings", &mut diagnostics);
    check_line(&about, "headline", amendment.headline.as_deref(), LINE_MAX, "the findings", &mut diagnostics);
    let is_faulty = diagnostics.errors.iter().any(|error| error.code == Code::InvalidArgument);
    if amendment.parts().next().is_none() && !is_faulty {
        diagnostics.errors.push(nothing_given().about(&about));
    }
    Rejection::unless_empty(std::mem::take(&mut diagnostics.errors))?;
    let parsed = amendment.findings.as_deref().map(Parsed::new);
    if let Some(text) = &parsed {
        diagnostics.warnings.extend(unreadable_references(&about, text));
        diagnostics.warnings.extend(sources::warnings(investigation, &about, text, known));
    }
    if let Some(result) = &node.classification {
        let missing = pin(result, &mut amendment, parsed.as_ref(), known);
        diagnostics.warnings.extend(citing::not_found(&about, missing));
    }
    let mut after = Node::clone(node);
    amendment.exchange(&mut after);
    if amendment.parts().next().is_none() {
        return Ok(Decision { event: None, warnings: Vec::new() });
    }
    let amended = AmendmentCheck { investigation, rules, node: &after, amendment: &amendment };
    for kind in &KINDS {
        (kind.amend)(&amended, &mut diagnostics);
    }
    Rejection::unless_empty(diagnostics.errors)?;
    if let Some(result) = &mut after.classification {
        result.amended.push(amendment);
    }
    Ok(Decision { event: Some(Event::Amended { node: Arc::new(after) }), warnings: diagnostics.warnings })
}

/// Pins the files cited in amended text and returns the lookups to warn about. Retains the pins for unchanged text.
fn pin(
    result: &Classification,
    amendment: &mut Amendment,
    findings: Option<&Parsed>,
    known: &LookedUpPaths,
) -> Vec<LookedUp> {
    let mut missing = Vec::new();
    let mut references = result.references.clone();
    let before = Citation::given(&references);
    if let Some(mut given) = amendment.references.take().filter(|given| *given != before) {
        missing.extend(citing::pin_given(&mut given, known));
        references.retain(|citation| citation.named_in.is_some());
        references.splice(..0, given);
    }
    let is_new = |before: Option<&str>, after: &Option<String>| after.is_some() && before != after.as_deref();
    let findings = findings.filter(|_| is_new(Some(&result.findings), &amendment.findings));
    let evidence = is_new(result.evidence.as_deref(), &amendment.evidence);
    let evidence = amendment.evidence.as_deref().filter(|_| evidence).map(Parsed::new);
    for (named_in, text) in citing::named([findings, evidence.as_ref()]) {
        let earlier = match named_in {
            NamedIn::Evidence => result.evidence.as_deref().unwrap_or_default(),
            NamedIn::Findings | NamedIn::Source => &result.findings,
        };
        missing.extend(citing::pin_named(&mut references, named_in, (text, earlier), known));
    }
    amendment.references = Some(references).filter(|references| *references != result.references);
    missing
}

fn of_conclusion(
    investigation: &Investigation,
    rules: &EffectiveRules,
    request: Amend,
    (known, now): (&LookedUpPaths, Timestamp),
    mut diagnostics: CallDiagnostics,
) -> Result<Decision, Rejection> {
    if !names_conclusion(&request) {
        diagnostics.errors.push(nothing_given());
        return Err(Rejection { errors: diagnostics.errors });
    }
    let end = investigation.draft().or_else(|| investigation.end());
    let Some(end) = end.filter(|end| end.conclusion.is_some()) else {
        return Err(Diagnostic::new(Code::InvalidArgument, "There is no conclusion to amend.")
            .suggest("Give one with tot_end, or name a node in `nodeId`.")
            .for_people("Give one with `tot end`, or name a node.")
            .into());
    };
    let (correction, conclusion) = (request.accepted(), request.conclusion);
    let bottom_line = request.bottom_line.map(|line| bottom_line(rules, Some(&line), &mut diagnostics));
    let named = request.answers.as_deref().unwrap_or_default();
    let (covers, is_named) = (request.not_covered.is_some(), request.answers.is_some());
    let (answers, not_covered) =
        bound_answers(investigation, rules, named, request.not_covered.unwrap_or_default(), &mut diagnostics);
    if is_named {
        check_bound(investigation, rules, &answers, &mut diagnostics);
    }
    Rejection::unless_empty(diagnostics.errors)?;
    let mut end = Conclusion::clone(end);
    let mut amendment = AmendedConclusion {
        at: now.max(end.last_change().next()),
        agent_id: trimmed(request.agent_id),
        reason: request.reason,
        correction,
        bottom_line,
        conclusion,
        answers: is_named.then_some(answers),
        not_covered: covers.then_some(not_covered),
        ..AmendedConclusion::default()
    };
    amendment.exchange(&mut end);
    if amendment.parts().next().is_none() {
        return Ok(Decision { event: None, warnings: Vec::new() });
    }
    pin_changed(&mut end, &mut amendment, known);
    let is_new = amendment.conclusion.is_some() || amendment.bottom_line.is_some();
    if let Some(text) = end.conclusion.as_ref().filter(|_| is_new) {
        diagnostics.warnings.extend(source_warnings(investigation, &end.bottom_line, text, known));
        diagnostics.warnings.extend(sources::preview(rules, [&end.bottom_line, text], known));
    }
    end.amended.push(amendment);
    Ok(Decision { event: Some(Event::Ended { conclusion: Arc::new(end) }), warnings: diagnostics.warnings })
}

/// Returns whether the request changes the conclusion.
fn names_conclusion(request: &Amend) -> bool {
    let texts = request.conclusion.is_some() || request.bottom_line.is_some();
    texts || request.answers.is_some() || request.not_covered.is_some()
}

fn nothing_given() -> Diagnostic {
    Diagnostic::new(Code::EmptyBatch, "The call changes nothing.")
        .suggest(
            "Give `edits`, `headline` or another part of a node, or, without `nodeId`, `conclusion`, `bottomLine`, \
             `answers` or `notCovered`. To empty a list, name it in `clear`.",
        )
        .for_people("Change at least one text, or name answers with --answer.")
}

fn without_blanks(texts: Vec<String>) -> Vec<String> {
    texts.into_iter().filter(|text| !text.trim().is_empty()).collect()
}

/// Returns the text fields of the request with their names.
fn texts(request: &Amend) -> impl Iterator<Item = (&str, &str)> + Clone {
    let optional = [
        ("headline", &request.headline),
        ("findings", &request.findings),
        ("title", &request.title),
        ("evidence", &request.evidence),
        ("bottomLine", &request.bottom_line),
        ("conclusion", &request.conclusion),
        ("agentId", &request.agent_id),
    ];
    let alternatives = request.alternatives_considered.iter().flatten();
    std::iter::once(("reason", request.reason.as_str()))
        .chain(optional.into_iter().filter_map(given))
        .chain(alternatives.map(|text| ("alternativesConsidered", text.as_str())))
        .chain(request.caveats.iter().flatten().map(|text| ("caveats", text.as_str())))
        .chain(request.commands.iter().flatten().flat_map(NewCommand::texts))
        .chain(request.references.iter().flatten().flat_map(NewCitation::texts))
}
