//! `tot_end` concludes an investigation once no required steps remain.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use super::backing::{LINE_MAX, check_number};
use super::blockers::{blockers, file_problems, missing_steps, nothing_committed};
use super::citing::pin_report;
use super::{
    Decision, Rejection, check_line, check_texts, given, not_blank, quoted, refuse_ambiguous, sources,
    trimmed,
};
use crate::domain::node::says_nothing;
use crate::domain::{
    AmendedConclusion, Asked, BoundAnswer, BoundAs, Caller, Code, Conclusion, Diagnostic, Drafted, Event,
    Investigation, LookedUpPaths, NodeId, PersonsAnswer, StopReason, Stopped, Timestamp, Wording,
};
use crate::markdown::{Parsed, without_links};
use crate::ruleset::rules::{CallDiagnostics, KINDS, shortened};
use crate::ruleset::{EffectiveRules, Enforcement};
use crate::text::one_line;

/// The unvalidated input of `tot_end`. Agents see the field docs in the schema.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct End {
    /// What to do, or what is so, in one or two sentences.
    pub bottom_line: Option<String>,
    /// For the colleague who asked. Links say how a number is known: `[29 windows](run:4c7d8f)`.
    pub conclusion: Option<String>,
    /// The answers behind the conclusion.
    #[serde(default)]
    #[schemars(with = "Vec<BindSchema>")]
    pub answers: Vec<Bind>,
    /// Open questions, one sentence each.
    #[serde(default)]
    pub not_covered: Vec<String>,
    /// Stores a draft, lists gaps; tot_end without text accepts it.
    #[serde(default)]
    pub draft: bool,
    /// The agent's name.
    pub agent_id: Option<String>,
    /// Ends early, which every page shows.
    pub stopped: Option<EarlyStop>,
    /// The person's reply, if the client had to ask a question. Not an argument of the call, so agents can't forge it.
    #[serde(skip)]
    pub asked: Option<Asked>,
}

/// An answer that supports a conclusion, given as an id with an optional role.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Bind {
    /// An id without a role: a `main` answer if all other answers are rivals, otherwise a `part`.
    Id(String),
    /// An id with a role.
    As {
        /// The id of the answer.
        #[serde(rename = "nodeId", alias = "id")]
        id: String,
        /// The role; if absent, it is chosen as for [`Bind::Id`].
        #[serde(rename = "as")]
        role: Option<BoundAs>,
    },
}

impl Bind {
    fn id(&self) -> &str {
        match self {
            Bind::Id(id) | Bind::As { id, .. } => id,
        }
    }
}

/// Schema for [`Bind`]. The schema shows only the second form, because a choice between forms confuses clients.
#[derive(JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
#[expect(dead_code, reason = "it stands for both forms")]
pub(super) struct BindSchema {
    /// An answer.
    node_id: String,
    /// `part`: one of several that form the conclusion; `rival`: also possible.
    #[schemars(with = "Option<String>", extend("enum" = ["main", "part", "rival", null]))]
    r#as: Option<BoundAs>,
}

/// An early stop.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub struct EarlyStop {
    /// Out of time or money; enough found; no way forward.
    #[schemars(with = "String", extend("enum" = ["budget", "enough", "stuck"]))]
    pub reason: StopReason,
    /// Details.
    pub note: Option<String>,
}

/// Error codes for rejected conclusions, besides those common to all calls and those of the rule kinds.
pub const CODES: &[Code] = &[
    Code::NoNodes,
    Code::PendingProposals,
    Code::Contested,
    Code::MissingConclusion,
    Code::MissingBottomLine,
    Code::ConclusionUnbound,
    Code::EndDeclined,
    Code::UnreadableNode,
    Code::UnknownState,
    Code::TerminalParent,
    Code::InvalidChildState,
];

/// Warning codes for conclusions, besides those of the rule kinds.
pub const WARNINGS: &[Code] = &[
    Code::AlreadyEnded,
    Code::MissingConclusion,
    Code::MissingBottomLine,
    Code::ConclusionUnbound,
    Code::SourceNotThere,
    Code::NumberNotThere,
    Code::NoSource,
    Code::PlacesNotChecked,
    Code::InsiderWords,
    Code::NotAccepted,
];

/// Validates a request to end an investigation.
///
/// An ended investigation changes only if the request adds its first conclusion. With `stopped`, missing required steps
/// don't prevent ending. A person's reply counts only if there are no other blockers. `known` contains the lookup results for
/// the places that the conclusion names.
///
/// What the request leaves out is taken from the draft, so an end without any text accepts the draft as it is. Whatever
/// replaces the text of a draft keeps the earlier text, as an amendment does.
///
/// # Errors
///
/// Returns all blockers, `TEXT_TOO_LONG` or `END_DECLINED`.
pub fn end(
    investigation: &Investigation,
    rules: &EffectiveRules,
    request: End,
    known: &LookedUpPaths,
    now: Timestamp,
) -> Result<Decision, Rejection> {
    if let Some(ended) = investigation.end_in_force() {
        return end_again(investigation, rules, ended, request, (known, now));
    }
    let draft = investigation.draft();
    let is_new =
        [&request.conclusion, &request.bottom_line].into_iter().any(|it| not_blank(it.clone()).is_some());
    let current = current_answers(investigation, rules);
    let is_gone = |it: &&BoundAnswer| request.answers.is_empty() && !current.contains(&&it.id);
    let gone = draft.into_iter().flat_map(|draft| &draft.answers).find(is_gone).filter(|_| !request.draft);
    let request = match draft {
        Some(draft) => request.with(draft, &current),
        None => request,
    };
    let is_early = !missing_steps(investigation, rules).is_empty();
    let errors = match request.stopped {
        _ if request.draft => nothing_committed(investigation).into_iter().collect(),
        // An investigation without nodes can't be stopped.
        Some(_) => {
            nothing_committed(investigation).into_iter().chain(file_problems(investigation, rules)).collect()
        }
        None => blockers(investigation, rules),
    };
    let mut diagnostics = CallDiagnostics { errors, warnings: Vec::new() };
    if let Some(gone) = gone {
        let message = format!("The draft rests on {}, which is no longer an answer.", gone.id);
        let how = Wording::both(
            "Change the draft: tot_end with `draft: true` and the new text.",
            "Change the draft with `tot end --draft`.",
        );
        diagnostics.refuse(Code::InvalidArgument, gone.id.as_str(), message, how);
    }
    // A merge keeps both drafts, and only whoever ends it can say which text stands.
    let others = draft.into_iter().flat_map(|draft| std::iter::once(draft).chain(&draft.other_conclusions));
    let others: Vec<_> = others.filter(|it| it.draft).collect();
    if others.len() > 1 && !is_new {
        let by = |it: &&Conclusion| format!("{} (“{}”)", it.who().unwrap_or_default(), it.bottom_line);
        let by = others.iter().map(by).collect::<Vec<_>>().join(" and ");
        let message = format!("There is more than one draft of the report: by {by}.");
        let how = Wording::both("Give the `conclusion` that stands.", "Give the text that stands with -m.");
        diagnostics.refuse(Code::InvalidArgument, "", message, how);
    }
    let note = request.stopped.as_ref().and_then(|stop| stop.note.clone());
    let said = request.asked.as_ref().and_then(|asked| asked.said.clone());
    let texts = [
        ("conclusion", &request.conclusion),
        ("agentId", &request.agent_id),
        ("stopped.note", &note),
        ("what the person said", &said),
    ];
    check_texts(rules, "", texts.into_iter().filter_map(given), &mut diagnostics);
    let conclusion = not_blank(request.conclusion);
    if conclusion.as_deref().is_none_or(says_nothing) {
        let is_dropped = !(request.answers.is_empty() && request.not_covered.is_empty());
        let message = match &conclusion {
            Some(_) => "The conclusion is too short to say anything.",
            None if is_dropped => {
                "It ends without a conclusion, so its answers and open questions are not stored."
            }
            None => "It ends without a conclusion.",
        };
        let doubt = Diagnostic::new(Code::MissingConclusion, message)
            .suggest("Call tot_end with `conclusion`: the answer, how sure it is, what was ruled out.")
            .for_people("Give it with -m, or as a file: the answer, how sure it is, what was ruled out.");
        let enforcement = rules.ruleset().checks.missing_conclusion;
        diagnostics.add(if request.draft { Enforcement::Reject } else { enforcement }, doubt);
    }
    let bottom_line = bottom_line(rules, request.bottom_line.as_deref(), &mut diagnostics);
    let (answers, not_covered) =
        bound_answers(investigation, rules, &request.answers, request.not_covered, &mut diagnostics);
    let mut doubts = CallDiagnostics::default();
    check_bottom_line(rules, &bottom_line, &mut doubts);
    if conclusion.is_some() {
        check_bound(investigation, rules, &answers, &mut doubts);
    }
    // A draft may be completed later.
    let refused = if request.draft { &mut diagnostics.warnings } else { &mut diagnostics.errors };
    refused.append(&mut doubts.errors);
    diagnostics.warnings.append(&mut doubts.warnings);
    diagnostics
        .warnings
        .extend(KINDS.iter().flat_map(|kind| (kind.end_checks)(investigation, rules, Enforcement::Warn)));
    Rejection::unless_empty(diagnostics.errors)?;
    // What an accepted draft lacks was told when it was stored.
    if let Some(text) = conclusion.as_ref().filter(|_| is_new || request.draft) {
        diagnostics.warnings.extend(source_warnings(investigation, &bottom_line, text, known));
        let preview = request.draft.then(|| sources::preview(rules, [&bottom_line, text], known));
        diagnostics.warnings.extend(preview.into_iter().flatten());
    }
    diagnostics.warnings.extend(request.asked.as_ref().map(check_reply).transpose()?.flatten());
    // The clock may have been set back since the last result or the last change of the draft.
    let last = investigation.last_research().into_iter().chain(draft.map(|it| it.last_change().next()));
    let at = last.max().map_or(now, |last| last.max(now));
    let agent_id = trimmed(request.agent_id);
    let mut report = Conclusion { agent_id: agent_id.clone(), ..Conclusion::new(at) };
    let mut change = AmendedConclusion {
        at,
        agent_id: agent_id.clone(),
        reason: if request.draft { "Drafted again." } else { "Changed at the end." }.to_owned(),
        bottom_line: Some(bottom_line),
        answers: conclusion.is_some().then_some(answers),
        not_covered: conclusion.is_some().then_some(not_covered),
        conclusion,
        ..AmendedConclusion::default()
    };
    if let Some(draft) = draft {
        report = draft.clone();
        change.exchange(&mut report);
        pin_changed(&mut report, &mut change, known);
        if change.parts().next().is_some() {
            report.amended.push(change);
        }
    } else {
        report.conclusion = change.conclusion.take();
        change.exchange(&mut report);
        pin_report(&mut report, "", known);
    }
    if request.draft {
        if draft == Some(&report) {
            return Ok(Decision { event: None, warnings: diagnostics.warnings });
        }
        if let Some(earlier) = investigation.report().filter(|_| draft.is_none()) {
            let alone = Conclusion { other_conclusions: Vec::new(), ..earlier.clone() };
            report.other_conclusions =
                std::iter::once(alone).chain(earlier.other_conclusions.iter().cloned()).collect();
        }
        report.draft = true;
    } else {
        report.other_conclusions.clear();
        report = Conclusion {
            ended_at: at,
            agent_id,
            caller: Caller::default(),
            draft: false,
            drafted: draft.map(Drafted::of),
            asked: request.asked,
            // If no required steps are missing, this is not an early stop.
            stopped: request
                .stopped
                .filter(|_| is_early)
                .map(|stop| Stopped { reason: stop.reason, note: not_blank(stop.note) }),
            ..report
        };
    }
    let event = Event::Ended { conclusion: Arc::new(report) };
    Ok(Decision { event: Some(event), warnings: diagnostics.warnings })
}

impl End {
    /// Takes from the draft what the request leaves out, except what is no longer an answer.
    fn with(self, draft: &Conclusion, current: &[&NodeId]) -> End {
        let bind = |it: &BoundAnswer| Bind::As { id: it.id.to_string(), role: Some(it.role) };
        let answers = if self.answers.is_empty() {
            draft.answers.iter().filter(|it| current.contains(&&it.id)).map(bind).collect()
        } else {
            self.answers
        };
        let not_covered =
            if self.not_covered.is_empty() { draft.not_covered.clone() } else { self.not_covered };
        End {
            bottom_line: not_blank(self.bottom_line).or_else(|| Some(draft.bottom_line.clone())),
            conclusion: not_blank(self.conclusion).or_else(|| draft.conclusion.clone()),
            answers,
            not_covered,
            ..self
        }
    }
}

/// Decides a request to end an investigation that has ended. Stores the first conclusion. Otherwise, a repeated call gets
/// the same reply, with a warning if it discards a different conclusion.
fn end_again(
    investigation: &Investigation,
    rules: &EffectiveRules,
    ended: &Conclusion,
    request: End,
    (known, now): (&LookedUpPaths, Timestamp),
) -> Result<Decision, Rejection> {
    let new_conclusion = not_blank(request.conclusion).filter(|text| Some(text) != ended.conclusion.as_ref());
    if let Some(text) = new_conclusion.as_ref().filter(|_| ended.conclusion.is_none() && !request.draft) {
        let mut diagnostics = CallDiagnostics::default();
        let texts = [("conclusion", &new_conclusion), ("agentId", &request.agent_id)];
        check_texts(rules, "", texts.into_iter().filter_map(given), &mut diagnostics);
        let given = not_blank(request.bottom_line).unwrap_or_else(|| ended.bottom_line.clone());
        let bottom_line = bottom_line(rules, Some(&given), &mut diagnostics);
        check_bottom_line(rules, &bottom_line, &mut diagnostics);
        let (answers, not_covered) =
            bound_answers(investigation, rules, &request.answers, request.not_covered, &mut diagnostics);
        check_bound(investigation, rules, &answers, &mut diagnostics);
        Rejection::unless_empty(diagnostics.errors)?;
        diagnostics.warnings.extend(source_warnings(investigation, &bottom_line, text, known));
        let agent_id = trimmed(request.agent_id);
        let mut conclusion = Conclusion {
            agent_id: agent_id.clone().or_else(|| ended.agent_id.clone()),
            concluded_at: Some(now.max(ended.ended_at)),
            conclusion: new_conclusion,
            answers,
            not_covered,
            ..ended.clone()
        };
        let replaced = std::mem::replace(&mut conclusion.bottom_line, bottom_line);
        pin_report(&mut conclusion, &replaced, known);
        if !replaced.is_empty() && replaced != conclusion.bottom_line {
            conclusion.amended.push(AmendedConclusion {
                at: conclusion.last_change().next(),
                agent_id,
                reason: "Concluded later.".to_owned(),
                bottom_line: Some(replaced),
                ..AmendedConclusion::default()
            });
        }
        let event = Event::Ended { conclusion: Arc::new(conclusion) };
        return Ok(Decision { event: Some(event), warnings: diagnostics.warnings });
    }
    let is_new = |line: &str| !line.trim().is_empty() && one_line(line) != ended.bottom_line;
    let adds_anything = new_conclusion.is_some()
        || request.bottom_line.as_deref().is_some_and(is_new)
        || !request.answers.is_empty()
        || !request.not_covered.is_empty();
    let unstored = adds_anything.then(|| {
        let message = format!("The investigation already ended at {}; nothing was stored.", ended.ended_at);
        Diagnostic::new(Code::AlreadyEnded, message).suggest(
            Wording::both(
                "To change it, call tot_amend with `conclusion`, `answers` or `notCovered`. To continue, call tot_propose \
                 with `reopen`, then end the investigation again.",
                "`tot amend --conclusion` changes what is stored. To continue, use `tot propose --reopen -m REASON`, then \
                 end the investigation again.",
            ),
        )
    });
    Ok(Decision { event: None, warnings: unstored.into_iter().collect() })
}

/// Pins the places that are sources of a report after a change, which keeps the earlier ones if it changed the text.
pub(super) fn pin_changed(report: &mut Conclusion, change: &mut AmendedConclusion, known: &LookedUpPaths) {
    let is_new = change.conclusion.is_some() || change.bottom_line.is_some();
    let bottom_line = change.bottom_line.as_ref().unwrap_or(&report.bottom_line);
    let conclusion = change.conclusion.as_ref().or(report.conclusion.as_ref());
    let earlier = format!("{bottom_line}\n{}", conclusion.map(String::as_str).unwrap_or_default());
    let before = report.references.clone();
    pin_report(report, &earlier, known);
    change.references = Some(before).filter(|it| is_new && *it != report.references);
}

/// Returns the warnings about the sources of a report.
pub(super) fn source_warnings(
    investigation: &Investigation,
    bottom_line: &str,
    conclusion: &str,
    known: &LookedUpPaths,
) -> impl Iterator<Item = Diagnostic> + use<> {
    let report = Parsed::new(&format!("{bottom_line}\n\n{conclusion}"));
    sources::warnings(investigation, "", &report, known)
}

/// Returns the bottom line to store, on one line.
pub(super) fn bottom_line(
    rules: &EffectiveRules,
    given: Option<&str>,
    diagnostics: &mut CallDiagnostics,
) -> String {
    let line = given.map(one_line).unwrap_or_default().trim().to_owned();
    // What a link leads to is not read.
    check_line("", "bottomLine", Some(&without_links(&line)), LINE_MAX, "the conclusion", diagnostics);
    check_texts(rules, "", [("bottomLine", line.as_str())], diagnostics);
    line
}

/// Adds a doubt about an end without a bottom line.
fn check_bottom_line(rules: &EffectiveRules, line: &str, diagnostics: &mut CallDiagnostics) {
    if says_nothing(line) {
        let doubt = Diagnostic::new(Code::MissingBottomLine, "It ends without a bottom line.")
            .suggest("Give `bottomLine`: what to do, or what is so, in one or two sentences.")
            .for_people("Give --bottom-line: what to do, or what is so, in one or two sentences.");
        diagnostics.add(rules.ruleset().checks.missing_bottom_line, doubt);
    }
}

/// Maximum number of answers named in a message.
const NAMED: usize = 5;

/// Adds a doubt about a conclusion that names none of several answers.
pub(super) fn check_bound(
    investigation: &Investigation,
    rules: &EffectiveRules,
    bound: &[BoundAnswer],
    diagnostics: &mut CallDiagnostics,
) {
    let answers = current_answers(investigation, rules);
    if !bound.is_empty() || answers.len() < 2 {
        return;
    }
    let message = format!(
        "There are {} answers ({}), and the conclusion does not say which of them it rests on.",
        answers.len(),
        shortened(&answers, NAMED)
    );
    let doubt = Diagnostic::new(Code::ConclusionUnbound, message)
        .suggest(
            "Name them in `answers`, with `as: rival` for those that are merely possible; tot_amend can name them later.",
        )
        .for_people(
            "Name each with --answer, or with --rival if it is merely possible; `tot amend --conclusion` can name them \
             later.",
        );
    diagnostics.add(rules.ruleset().checks.conclusion_unbound, doubt);
}

/// Returns the current answers, ordered by round and suffix.
fn current_answers<'i>(investigation: &'i Investigation, rules: &EffectiveRules) -> Vec<&'i NodeId> {
    rules.answers(investigation).map(|node| &node.id).collect()
}

/// Returns the answers and open questions to store with a conclusion. If no answers are named and exactly one is
/// current, that answer is used. Adds errors for names that are not current answers, for duplicates, and for a main
/// answer combined with parts.
pub(super) fn bound_answers(
    investigation: &Investigation,
    rules: &EffectiveRules,
    named: &[Bind],
    not_covered: Vec<String>,
    diagnostics: &mut CallDiagnostics,
) -> (Vec<BoundAnswer>, Vec<String>) {
    let current = current_answers(investigation, rules);
    check_number("", "answers", named.len(), diagnostics);
    check_number("", "notCovered", not_covered.len(), diagnostics);
    let not_covered: Vec<String> =
        not_covered.into_iter().filter_map(|text| not_blank(Some(one_line(&text)))).collect();
    check_texts(rules, "", not_covered.iter().map(|text| ("notCovered", text.as_str())), diagnostics);
    if named.is_empty() {
        let only = <[&NodeId; 1]>::try_from(current).ok();
        let only = only.map(|[id]| BoundAnswer { id: id.clone(), role: BoundAs::Main });
        return (only.into_iter().collect(), not_covered);
    }
    if let Err(ambiguous) = refuse_ambiguous(investigation, named.iter().map(Bind::id)) {
        diagnostics.errors.extend(ambiguous.errors);
        return (Vec::new(), not_covered);
    }
    let mut answers: Vec<BoundAnswer> = Vec::new();
    let is_rival = |bind: &&Bind| matches!(bind, Bind::As { role: Some(BoundAs::Rival), .. });
    let alone =
        if named.iter().filter(|bind| !is_rival(bind)).count() == 1 { BoundAs::Main } else { BoundAs::Part };
    let mut wrong = |about: &str, what: Wording, how: Wording| {
        diagnostics.refuse(Code::InvalidArgument, about, what, how)
    };
    for bind in named {
        let (id, role) = match bind {
            Bind::Id(id) => (id, alone),
            Bind::As { id, role } => (id, role.unwrap_or(alone)),
        };
        let found = investigation.find(id.trim()).ok().map(|node| &node.id);
        let Some(known) = current.iter().find(|known| Some(**known) == found) else {
            let how = match current.as_slice() {
                [] => Wording::both("`answers`", "--answer")
                    .map(|given| format!("There is no current answer: leave {given} out.")),
                current => format!("The current answers: {}.", shortened(current, NAMED)).into(),
            };
            wrong(id, format!("{} is not a current answer.", quoted(id)).into(), how);
            continue;
        };
        if answers.iter().any(|other| other.id == **known) {
            let what = Wording::both("in `answers`", "as an answer")
                .map(|given| format!("{id} is named twice {given}."));
            wrong(id, what, "Name it once.".into());
            continue;
        }
        answers.push(BoundAnswer { id: (*known).clone(), role });
    }
    let mains = answers.iter().filter(|it| it.role == BoundAs::Main).count();
    let parts = answers.iter().filter(|it| it.role == BoundAs::Part).count();
    if !answers.is_empty() && (mains > 1 || (mains == 1 && parts > 0) || mains + parts == 0) {
        let what = Wording::both("`answers`", "--answer").map(|given| {
            format!("{given} must name one main answer, or parts that together form the conclusion.")
        });
        let how = Wording::both(
            "Mark each of several parts with `as: part`, and other answers with `as: rival`.",
            "Give each part with --answer, and others with --rival.",
        );
        wrong("", what, how);
    }
    (answers, not_covered)
}

/// Evaluates the reply of the person who was asked to approve ending the investigation.
///
/// # Errors
///
/// Returns `END_DECLINED` if the answer is not a yes. A client may give it on its own, so it is not called a person's.
fn check_reply(asked: &Asked) -> Result<Option<Diagnostic>, Rejection> {
    match asked.answer {
        PersonsAnswer::Accepted => Ok(None),
        PersonsAnswer::Declined | PersonsAnswer::Cancelled => {
            let answer = match asked.answer {
                PersonsAnswer::Declined => "Declined through the client",
                _ => "The client returned neither yes nor no",
            };
            let said = asked.said.as_deref().map(|said| format!(": “{said}”")).unwrap_or_default();
            let message = format!("{answer}, so the investigation stays open{said}.");
            Err(Diagnostic::new(Code::EndDeclined, message)
                .suggest(
                    "Ask your user what is missing, do it, then end it. A person can also run `tot end`.",
                )
                .into())
        }
        PersonsAnswer::Unanswered | PersonsAnswer::NotOffered => {
            let message = format!("Ended without a person's approval ({}).", asked.answer.label());
            Ok(Some(Diagnostic::new(Code::NotAccepted, message)))
        }
    }
}
