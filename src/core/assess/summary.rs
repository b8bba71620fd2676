//! The overall verdict in a sentence, with up to seven lines of supporting facts. The front page of a report begins
//! with these lines.

use std::collections::HashSet;

use serde::Serialize;

use super::report::ReportStanding;
use super::{
    Answer, Assessment, BY_HAND, CapturedRun, DoubtKind, InputState, Outcome, Repetition, RunStanding,
    Verdict,
};
use crate::domain::wording::command;
use crate::domain::{BoundAs, Classification, CommentId, Commenter, NodeId};
use crate::markdown;
use crate::ruleset::effective::joined;
use crate::ruleset::rules::objections::Objection;
use crate::ruleset::rules::shortened;
use crate::text::{counted, one_line, sentence, shorten};

/// The maximum length of a quotation, in characters.
const QUOTED: usize = 160;
/// The maximum length of a title in a list, in characters.
const TITLE: usize = 60;
/// The maximum length of all uncovered points together, in characters.
const NOT_COVERED: usize = 120;
/// The maximum number of alternatives that a line names.
const NAMED: usize = 3;

/// How a line bears on the verdict.
///
/// Serializes to `class` for style sheets, `sign` to accompany the color, and `label` for readers who see neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(into = "SignView")]
pub enum Sign {
    /// Supports the answer.
    For,
    /// Raises a doubt.
    Doubt,
    /// Speaks against the answer.
    Against,
    /// Information only.
    Note,
}

#[derive(Serialize)]
struct SignView {
    class: &'static str,
    sign: &'static str,
    label: &'static str,
}

impl From<Sign> for SignView {
    fn from(sign: Sign) -> SignView {
        let (class, sign, label) = match sign {
            Sign::For => ("for", "✓", "For it"),
            Sign::Doubt => ("doubt", "!", "Doubt"),
            Sign::Against => ("against", "×", "Against it"),
            Sign::Note => ("note", "·", "Note"),
        };
        SignView { class, sign, label }
    }
}

/// The subject of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum VerdictSubject {
    /// Checks of the answer.
    Checked,
    /// Reruns of the evidence.
    Evidence,
    /// Changes of what the evidence reads, since.
    Since,
    /// Alternatives that were ruled out.
    RuledOut,
    /// Open objections.
    Objections,
    /// Points that the conclusion does not cover.
    NotCovered,
    /// The names behind the work, and sign-offs.
    Names,
}

/// A line that explains the verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VerdictLine {
    /// The subject of the line.
    pub subject: VerdictSubject,
    /// How the line bears on the verdict.
    pub sign: Sign,
    /// The fact in a few words.
    pub text: String,
    /// Names or details. May be empty.
    pub detail: String,
    /// The node to read for details.
    pub node: Option<NodeId>,
    /// The comment to read.
    pub comment: Option<CommentId>,
}

/// A decision signed by a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signed {
    /// The decision and the signer: `Approved by Ada`.
    pub label: String,
    /// True if the signature covers the assessed state.
    pub is_valid: bool,
    /// True if the decision is an approval.
    pub is_approval: bool,
    /// True if it is known to be about an earlier state.
    pub is_earlier: bool,
}

impl VerdictLine {
    fn new(subject: VerdictSubject, sign: Sign, text: impl Into<String>) -> VerdictLine {
        VerdictLine { subject, sign, text: text.into(), detail: String::new(), node: None, comment: None }
    }

    fn with(self, detail: impl Into<String>) -> VerdictLine {
        VerdictLine { detail: detail.into(), ..self }
    }
}

/// Returns whether a report has a passage about what it does not cover, as the instructions teach it.
fn names_limits(report: &str) -> bool {
    let is_named = |line: &str| {
        line.trim_start_matches(['#', '*', '_', '-', ' ']).to_lowercase().starts_with("not covered")
    };
    report.lines().any(is_named)
}

/// Returns what can be done about an open objection, with the commands. `named` is the id for the commands, if they need one.
pub fn reactions(open: &Objection, named: Option<&str>) -> [(&'static str, String); 2] {
    let id = open.comment.id.short();
    let settle = match open.is_correction() && !open.is_outdated {
        true => ("Accept", command("tot amend", named, &format!("--accept {id}"))),
        false => ("Resolve", command("tot resolve", named, &id)),
    };
    [("Answer", command("tot comment", named, &format!("--reply-to {id}"))), settle]
}

/// Returns the sign-off that counts, with its words: the first that covers this state or, without one, the first.
pub(super) fn sign_off(signed: &[Signed]) -> Option<(&Signed, String)> {
    let by = signed.iter().find(|it| it.is_valid).or(signed.first())?;
    let words = match by.is_earlier {
        false => by.label.clone(),
        true => format!("{}, which does not cover this state", by.label),
    };
    Some((by, words))
}

impl<'a> Assessment<'a> {
    /// Returns the overall verdict in up to three sentences: the confirmations with the strength of the evidence, the state of
    /// the report, and the sign-off.
    pub fn sentence(&self, signed: &[Signed]) -> String {
        let verdict = self.top().verdict;
        let evidence = verdict.and_then(|verdict| self.evidence_clause(verdict)).unwrap_or_default();
        let report = self.report();
        let mut more: Vec<String> = report.iter().map(|report| report.words.clone()).collect();
        match (sign_off(signed), report.map(|report| report.standing)) {
            (Some((_, words)), _) => more.push(words),
            (None, _) if !self.outcome.is_ended() => {}
            (None, Some(ReportStanding::NotAttacked)) => more[0].push_str(" or signed it off"),
            (None, _) => more.push("Nobody has signed it off".to_owned()),
        }
        more.extend(self.corrections_of_report().map(|it| {
            let by = shorten(&one_line(&it.comment.author.label()), TITLE);
            format!("A correction of the report by {by} is open")
        }));
        let verdict = sentence(&format!("{}{evidence}", self.in_short()));
        more.into_iter().fold(verdict, |text, more| format!("{text} {more}."))
    }

    /// Returns the beginning of the [sentence](Self::sentence): `Confirmed by Ada`.
    pub fn in_short(&self) -> String {
        let top = self.top();
        let words = match (self.outcome, self.owed.len()) {
            _ if top.verdict.is_some() && top.what == "Conclusion" => top.words.into_owned(),
            (Outcome::Running, _) if self.answers.len() > 1 => {
                format!("{}, of {} answers: {}", top.what, self.answers.len(), top.words)
            }
            _ if top.verdict.is_some() => format!("{}: {}", top.what, top.words),
            _ if self.rules.is_none() => "Unknown: the ruleset can't be read".to_owned(),
            (Outcome::Running, 0) => "Unfinished".to_owned(),
            (Outcome::Running, owed) => format!("Unfinished: {} left", counted(owed, "required step")),
            _ => top.what.to_owned(),
        };
        sentence(&words).trim_end_matches('.').to_owned()
    }

    /// As [`in_short`](Self::in_short), with what has changed since, if that is known: `Confirmed by Ada; inputs of 1 command changed`.
    pub fn in_short_now(&self) -> String {
        let inputs = |number| format!("; inputs of {} changed", counted(number, "command"));
        self.in_short() + &self.total_inputs_changed().map(inputs).unwrap_or_default()
    }

    fn evidence_clause(&self, verdict: Verdict) -> Option<String> {
        // Evidence does not strengthen a contested or refuted answer.
        match verdict {
            _ if self.supporting().is_empty() => return None,
            Verdict::Contested if self.top().words == verdict.label() => return self.contested_by(),
            _ if verdict <= Verdict::Contested => return None,
            _ => {}
        }
        let standings: Vec<RunStanding> = self.whole_runs().map(|run| run.standing()).collect();
        let is_same = !standings.is_empty() && standings.iter().all(|it| *it == RunStanding::Same);
        let is_again = is_same && self.whole_runs().all(|run| run.is_shown_again());
        let what = match standings.as_slice() {
            [] => "no command was captured for it",
            _ if is_same && self.whole_runs().any(|run| !run.ran.is_met()) => {
                "its evidence shows what it was expected to only since it was run again"
            }
            _ if is_same && !is_again => "not all of its evidence was run again by another",
            _ if is_same => "its evidence was run again",
            all if all.contains(&RunStanding::NotMet) => "its evidence did not show what it was expected to",
            all if all.iter().any(|it| matches!(it, RunStanding::Same | RunStanding::Holds)) => {
                "only part of its evidence was run again"
            }
            all if all.contains(&RunStanding::CouldNotRun) => {
                let mut failed = self.whole_runs().filter_map(|run| run.repetitions.last());
                let why = failed.find_map(Repetition::why_not).unwrap_or_default();
                return Some(format!(", but its evidence could not be rerun: {why}"));
            }
            _ => "its evidence has not been rerun yet",
        };
        let and = if verdict.is_confirmed() == is_again { "and" } else { "but" };
        Some(format!(", {and} {what}"))
    }

    /// Returns what contests the answers: `, because a rerun by Ada differs`.
    fn contested_by(&self) -> Option<String> {
        let name = |by: &Commenter| shorten(&one_line(&by.label()), TITLE);
        let (objection, results) = self.against();
        let rerun = self.whole_runs().filter(|run| run.is_contesting()).find_map(|run| run.counts());
        let reasons = [
            objection.map(|it| format!("{} objects", name(&it.comment.author))),
            results.map(|id| format!("results of {id} differ")),
            rerun.map(|it| format!("a rerun by {} differs", name(&it.run.author))),
        ];
        let reasons: Vec<String> = reasons.into_iter().flatten().collect();
        (!reasons.is_empty()).then(|| format!(", because {}", joined(&reasons, "and")))
    }

    /// Returns the first open objection to the answers, and the first node on their way with results that differ.
    fn against(&self) -> (Option<&Objection>, Option<&NodeId>) {
        let supporting = self.supporting();
        let is_against = |it: &&Objection| supporting.iter().any(|of| of.against.contains(&it.comment.id));
        let objection = self.open.iter().find(is_against);
        (objection, supporting.into_iter().find_map(|answer| answer.differing.first()))
    }

    /// Returns the grounds for the verdict and its open points in up to seven lines. `cited` says what became of the places that
    /// the answers cite, if that is known, and whether one is lost: `3 cited places unchanged`.
    pub fn verdict_lines(&self, signed: &[Signed], cited: (Vec<String>, bool)) -> Vec<VerdictLine> {
        let mut lines = vec![
            self.checked_line(),
            self.evidence_line(),
            self.since_line(cited),
            self.ruled_out_line(),
            self.objections_line(),
        ];
        if !self.open.is_empty() {
            lines.rotate_right(1);
        }
        lines.into_iter().chain([self.limits_line(), Some(self.names_line(signed))]).flatten().collect()
    }

    /// Returns the line about attempts to refute the answer.
    fn checked_line(&self) -> Option<VerdictLine> {
        self.rules?;
        let line = |sign, text: String| VerdictLine::new(VerdictSubject::Checked, sign, text);
        let gone = self.bound().find(|bound| bound.role != BoundAs::Rival && bound.answer.is_none());
        if let Some(gone) = gone {
            return Some(line(Sign::Against, format!("{} is no longer an answer", gone.id)));
        }
        let supporting = self.supporting();
        let is_refuted = |answer: &&&Answer<'_>| answer.verdict == Verdict::Refuted;
        if let Some(by) = supporting.iter().find(is_refuted).and_then(|answer| answer.refuted_by.first()) {
            let refuted =
                line(Sign::Against, "Another step refutes it".to_owned()).with(self.attributed_name(by));
            return Some(VerdictLine { node: Some(by.clone()), ..refuted });
        }
        let weak = supporting.iter().filter(|it| it.weakest.is_some()).min_by_key(|it| it.verdict);
        if let Some(weak) = weak {
            let sign = if weak.verdict == Verdict::Undermined { Sign::Against } else { Sign::Doubt };
            let text = sentence(&weak.words()).trim_end_matches('.').to_owned();
            return Some(VerdictLine {
                node: weak.because_of().first().map(|id| (*id).clone()),
                ..line(sign, text)
            });
        }
        let worst = supporting.iter().min_by_key(|answer| answer.checked())?;
        if !self.method_confirms {
            return Some(line(Sign::Note, "This method does not confirm answers".to_owned()));
        }
        let best = worst.confirming.first();
        let (sign, text) = match (worst.checked(), best.and_then(|best| best.person.as_deref())) {
            (Verdict::Person, Some(name)) => {
                (Sign::For, format!("{} tried to refute it and could not", one_line(name)))
            }
            (Verdict::Person | Verdict::OtherSession, _) => {
                (Sign::For, "An agent in another session tried to refute it and could not".to_owned())
            }
            (Verdict::Corrected | Verdict::SecondAgent, _)
                if best.is_some_and(|it| !it.corrected.is_empty()) =>
            {
                (Sign::For, sentence(&worst.words()))
            }
            (Verdict::SecondAgent, _) => {
                (Sign::For, "Another agent in the same session tried to refute it and could not".to_owned())
            }
            (Verdict::AuthorOnly, _) => (Sign::Doubt, "Only its author checked it".to_owned()),
            _ if worst.is_by_hand => (Sign::Doubt, sentence(BY_HAND).trim_end_matches('.').to_owned()),
            _ if best.is_some() => {
                (Sign::Doubt, "Nobody has checked it: its confirmation does not count".to_owned())
            }
            _ => (Sign::Doubt, "Nobody has checked it".to_owned()),
        };
        let text = match supporting.len() {
            1 => text,
            all => {
                let confirmed = supporting.iter().filter(|answer| answer.grade.is_confirmed()).count();
                let weak = supporting.iter().filter(|it| self.weakly_confirmed(it).is_some()).count();
                let weakly = match weak {
                    0 => String::new(),
                    weak if weak == confirmed => ", but weakly".to_owned(),
                    weak => format!(", {weak} of them weakly"),
                };
                format!("{confirmed} of {all} answers confirmed by others{weakly}")
            }
        };
        // A tick would outweigh what is said below of the confirmation.
        let is_weak = supporting.iter().any(|answer| self.weakly_confirmed(answer).is_some());
        let sign = if is_weak && sign == Sign::For { Sign::Note } else { sign };
        // What makes a confirmation weak, if it is one of several.
        if let Some(weak) = self.stated(DoubtKind::Confirmation).filter(|_| supporting.len() > 1) {
            return Some(VerdictLine { node: weak.node, ..line(sign, text).with(weak.text) });
        }
        let detail = best.map_or_else(String::new, |best| self.attributed_name(&best.node));
        Some(VerdictLine { node: best.map(|best| best.node.clone()), ..line(sign, text).with(detail) })
    }

    /// Returns a node's author and name: `verify-1: 164,302 transactions over 55 s, 0 errors`.
    pub(super) fn attributed_name(&self, id: &NodeId) -> String {
        let Some(node) = self.investigation.node(id) else { return String::new() };
        let by = node.classification.as_ref().and_then(Classification::who);
        let by = by.map_or_else(|| id.to_string(), |by| shorten(&one_line(&by), TITLE));
        format!("{by}: {}", shorten(&one_line(node.name()), QUOTED))
    }

    /// Returns the line about reruns of the evidence, if anything was run.
    fn evidence_line(&self) -> Option<VerdictLine> {
        let words = self.reruns_in_words(&self.whole_runs().collect::<Vec<_>>())?;
        let standings: Vec<RunStanding> = self.whole_runs().map(|run| run.standing()).collect();
        let fits = |run: &CapturedRun<'_>| run.is_shown_again() || run.standing() == RunStanding::Holds;
        let sign = match standings.iter().any(|it| matches!(it, RunStanding::Differs | RunStanding::Fails)) {
            true => Sign::Against,
            false if self.whole_runs().all(fits) => Sign::For,
            false => Sign::Doubt,
        };
        let words = sentence(&words);
        let differing = self.whole_runs().find(|run| run.is_contesting()).map(|run| run.command());
        let lost = self.stated(DoubtKind::Alone).map(|doubt| doubt.text);
        let detail = differing.into_iter().chain(lost).collect::<Vec<_>>().join(". ");
        let line = VerdictLine::new(VerdictSubject::Evidence, sign, words.trim_end_matches('.'));
        Some(line.with(detail))
    }

    /// Returns the line about what changed of what the commands read and the answers cite.
    fn since_line(&self, (cited, is_lost): (Vec<String>, bool)) -> Option<VerdictLine> {
        let line = |sign, text: &str| Some(VerdictLine::new(VerdictSubject::Since, sign, text));
        let runs: Vec<_> = self.whole_runs().collect();
        let is_checked =
            |run: &&CapturedRun<'_>| !matches!(run.input_state, None | Some(InputState::NotChecked));
        let read = self.inputs_in_words(&runs).filter(|_| runs.iter().any(is_checked));
        let known: Vec<String> = read.into_iter().chain(cited).collect();
        if known.is_empty() {
            let has_sources = match self.supporting().as_slice() {
                [] if self.end().is_none() => return None,
                [] => self.runs().next().is_some() || self.investigation.pins().next().is_some(),
                _ => !runs.is_empty() || self.whole_nodes().iter().any(|node| node.pins().next().is_some()),
            };
            let why = if has_sources {
                "is not checked here"
            } else {
                "can't be told: no command was captured, and no file cited"
            };
            return line(Sign::Note, &format!("Whether the code changed since {why}"));
        }
        let has_changed =
            is_lost || runs.iter().any(|run| matches!(run.input_state, Some(InputState::Changed(_))));
        line(if has_changed { Sign::Doubt } else { Sign::Note }, &format!("Since then: {}", known.join("; ")))
    }

    /// Returns the line about refuted answers and alternatives that were ruled out, with what the ruleset means by that.
    fn ruled_out_line(&self) -> Option<VerdictLine> {
        let rules = self.rules?;
        let line = |text: String| VerdictLine::new(VerdictSubject::RuledOut, Sign::Note, text);
        let refuted: Vec<&NodeId> = self.refuted_answers().map(|it| &it.node.id).collect();
        let ruled_out: Vec<_> = self.ruled_out().collect();
        let answers = (!refuted.is_empty())
            .then(|| format!("{} refuted: {}", counted(refuted.len(), "answer"), shortened(&refuted, NAMED)));
        let steps = (!ruled_out.is_empty()).then(|| {
            let state = ruled_out.iter().find_map(|node| rules.ruleset().state(node.state()?));
            let meaning = state.map(|state| state.meaning.as_str()).filter(|it| *it != "Ruled out");
            let meaning = meaning.map(|it| format!(": “{it}”")).unwrap_or_default();
            format!("{} ruled out{meaning}", counted(ruled_out.len(), "step"))
        });
        let names = ruled_out.iter().take(NAMED).map(|node| shorten(&one_line(node.name()), TITLE));
        let names: Vec<String> = names.map(|name| name.trim_end_matches('.').to_owned()).collect();
        let more = if ruled_out.len() > NAMED { " …" } else { "" };
        let said: Vec<String> = answers.into_iter().chain(steps).collect();
        match said.is_empty() {
            false => Some(line(said.join("; ")).with(format!("{}{more}", names.join("; ")))),
            // Steps that were refuted, but were no answers, stand among the other steps.
            true => self.dead_ends.is_empty().then(|| line("No step was ruled out".to_owned())),
        }
    }

    /// Returns the line that quotes the first open objection, giving priority to objections against the answer.
    fn objections_line(&self) -> Option<VerdictLine> {
        let supporting = self.supporting();
        let (against, differing) = self.against();
        let differing =
            differing.map(|node| format!("Results of {node} differ, and nobody has decided between them"));
        let Some(first) = against.or(self.open.first()) else {
            let line = |sign, text: &str| VerdictLine::new(VerdictSubject::Objections, sign, text);
            // Nobody may have looked, so it is no support.
            return Some(match differing {
                Some(text) => line(Sign::Against, &text),
                None if self.end().is_none()
                    && supporting.iter().any(|it| it.verdict > Verdict::Contested) =>
                {
                    line(Sign::Note, "No objection is open, and nothing else speaks against it yet")
                }
                None => line(Sign::Note, "No objection is open"),
            });
        };
        let by = shorten(&one_line(&first.comment.author.label()), TITLE);
        let is_correction = first.is_correction();
        let is_near = |answer: &&Answer<'_>| {
            answer.against.contains(&first.comment.id) || answer.corrections.contains(&first.comment.id)
        };
        let place = match &first.comment.node {
            Some(node) if supporting.iter().any(|answer| answer.node.id == *node) => String::new(),
            Some(node) if supporting.is_empty() => format!(" to {node}"),
            Some(node) if supporting.iter().any(is_near) => format!(" to {node}, on its path"),
            Some(node) => format!(" to {node}, outside its path"),
            None if is_correction => " to the conclusion".to_owned(),
            None => " to the whole investigation".to_owned(),
        };
        let said = markdown::excerpt(&first.comment.text, QUOTED);
        let text = match is_correction {
            true => format!("{by} proposes a correction{place}: {}", first.comment.edits_in_short()),
            false => format!("{by} objects{place}: “{said}”"),
        };
        let accept = is_correction.then(|| match first.is_outdated {
            true => "The passage has changed since: answer it".to_owned(),
            false => format!("Accept it with `tot amend --accept {}`, or answer it", first.comment.id),
        });
        let more = (self.open.len() > 1).then(|| match self.open.len() - 1 {
            1 => "1 more objection is open".to_owned(),
            more => format!("{more} more objections are open"),
        });
        let is_contested = against.is_some() || differing.is_some();
        let sign = if is_contested { Sign::Against } else { Sign::Doubt };
        let detail: Vec<String> = accept.into_iter().chain(more).chain(differing).collect();
        let line = VerdictLine::new(VerdictSubject::Objections, sign, text).with(detail.join(". "));
        Some(VerdictLine { node: first.comment.node.clone(), comment: Some(first.comment.id), ..line })
    }

    /// Returns the line about points that the conclusion does not cover.
    fn limits_line(&self) -> Option<VerdictLine> {
        let line = |sign, text: &str| VerdictLine::new(VerdictSubject::NotCovered, sign, text);
        match self.limits().as_slice() {
            [] if self.end().is_none() => {
                self.first().map(|_| line(Sign::Note, "What it does not cover is not said yet"))
            }
            [] if self.end().and_then(|end| end.conclusion.as_deref()).is_some_and(names_limits) => {
                Some(line(Sign::Doubt, "Not covered: see the report"))
            }
            [] => Some(line(Sign::Note, "Nothing listed as not covered")),
            limits => {
                let own = limits.iter().map(|limit| one_line(limit.text).trim_end_matches('.').to_owned());
                let own = own.collect::<Vec<_>>().join("; ");
                let all = match limits.len() {
                    number if number > 1 && own.chars().count() > NOT_COVERED => {
                        format!(" ({number} in all)")
                    }
                    _ => String::new(),
                };
                let shown = shorten(&own, NOT_COVERED - all.len());
                Some(line(Sign::Doubt, &format!("Not covered: {shown}{all}")))
            }
        }
    }

    /// Returns the line about the names behind the work and the sign-offs.
    fn names_line(&self, signed: &[Signed]) -> VerdictLine {
        let results = || self.investigation.committed().filter_map(|(node, _)| node.classification.as_ref());
        let agents: HashSet<&str> = results().flat_map(Classification::agents).collect();
        let said = self.investigation.comments().map(|comment| &comment.author.caller);
        let ran = self.investigation.counted_runs().map(|run| &run.author.caller);
        let callers = said.chain(ran).chain(self.end().map(|end| &end.caller));
        let people =
            results().flat_map(Classification::people).chain(callers.filter_map(|it| it.person.as_ref()));
        let people: HashSet<&str> = people.map(|person| person.name.as_str()).collect();
        let unnamed = results().filter(|result| result.who().is_none()).count();
        let took_part = match people.len() {
            0 => "no person took part".to_owned(),
            1 => "1 person took part".to_owned(),
            people => format!("{people} people took part"),
        };
        let names = format!("Names are not verified; {took_part}");
        let name = |who: String| shorten(&one_line(&who), TITLE);
        let found = self.first().and_then(|first| first.node.classification.as_ref()?.who());
        let parts = [
            (!signed.is_empty()).then(|| names.clone()),
            (!agents.is_empty()).then(|| counted(agents.len(), "agent")),
            found.map(|by| format!("found by {}", name(by))),
            self.end().and_then(|end| end.who()).map(|by| format!("concluded by {}", name(by))),
            (unnamed > 0).then(|| counted(unnamed, "unsigned result")),
        ];
        let detail = parts.into_iter().flatten().collect::<Vec<_>>().join("; ");
        let labels: Vec<&str> = signed.iter().take(NAMED).map(|it| it.label.as_str()).collect();
        let (sign, text) = match signed.iter().find(|it| it.is_valid) {
            Some(by) => (if by.is_approval { Sign::For } else { Sign::Against }, labels.join("; ")),
            None if !signed.is_empty() => (Sign::Doubt, labels.join("; ")),
            None => (Sign::Doubt, names),
        };
        VerdictLine::new(VerdictSubject::Names, sign, text).with(detail)
    }
}
