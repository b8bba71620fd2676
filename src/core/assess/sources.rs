//! How each passage with a source is known. The state is computed, so what a text says of itself can't contradict the runs.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;

use super::{Assessment, CapturedRun, InputState, RunStanding, Verdict};
use crate::decide::citing::lines_of;
use crate::decide::sources::{figures, found_run, number_doubt, was_taken_back};
use crate::domain::run::{Ended, Ran, RunComparison};
use crate::domain::{Citation, Lines, NamedIn, Node, NodeId, NotFound, Pin, Run, RunKind};
use crate::markdown::{How, Mention, Parsed, Source, SourceTarget, with_known};
use crate::text::{last_bytes, one_line, shorten};

/// The number of characters of a run's id that are shown.
const RUN: usize = 6;
/// The maximum length of a target that is shown, in characters.
const NAME: usize = 40;
/// The state of a place or an investigation that its author could not have read.
const NOT_CITED: &str = "not there when it was cited";

/// A source with its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceState<'a> {
    /// The sign shown beside the passage.
    pub sign: &'static str,
    /// The CSS class: `same`, `differs` or `quiet`.
    pub class: &'static str,
    /// The state in words: `ran as expected`.
    pub words: String,
    /// The source in short: `run 4c7d8f`, `R1.A`, `wheel.py:88`. Empty if the words say it all.
    pub name: String,
    /// What the source names.
    pub at: SourceAt<'a>,
}

/// What a source names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceAt<'a> {
    /// A command that was run.
    Run(&'a Run),
    /// A node.
    Node(&'a NodeId),
    /// A place in the project, as it was when it was cited.
    Place(&'a Pin),
    /// Nothing that can be shown.
    Nowhere,
}

impl SourceState<'_> {
    /// Returns the sign and the words: `✓ ran as expected`.
    pub fn known(&self) -> String {
        format!("{} {}", self.sign, self.words)
    }
}

/// The text that a source is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SourceIn {
    /// The findings of a node.
    Findings,
    /// The conclusion or its bottom line.
    Conclusion,
    /// The draft of the report or its bottom line.
    Draft,
}

/// A passage with its source and its state, for programs.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SourceUse<'a> {
    /// The text that it is in.
    pub r#in: SourceIn,
    /// The node, if it is in findings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node_id: Option<&'a NodeId>,
    /// The passage.
    pub text: String,
    /// The target as written.
    pub target: String,
    /// How the passage is known, in words: `ran as expected`.
    pub state: String,
    /// `same`, `differs` or `quiet`: whether the source still says it, no longer does, or that is unknown.
    pub class: &'static str,
}

/// The sign, the class and the words of a state.
type Shown = (&'static str, &'static str, String);

impl<'a> Assessment<'a> {
    /// Returns all sources with their states: those of the draft, of the conclusion and of the findings.
    pub fn sources(&self, drift: &dyn Fn(&Pin) -> Option<&'static str>) -> Vec<SourceUse<'a>> {
        let draft = self.investigation.draft().map(|draft| (SourceIn::Draft, draft.report()));
        let end = self.end().map(|end| (SourceIn::Conclusion, end.report()));
        let reports = draft.into_iter().chain(end).map(|(r#in, text)| (r#in, None, Cow::Owned(text)));
        let findings = self.investigation.nodes().flat_map(|node| {
            let results = node.results();
            results.map(|it| (SourceIn::Findings, Some(&node.id), Cow::Borrowed(&*it.findings)))
        });
        let texts = reports.chain(findings).filter(|(.., text)| text.contains(']'));
        texts.flat_map(|(r#in, node_id, text)| self.sources_in(&text, r#in, node_id, drift)).collect()
    }

    /// Returns the sources of one text with their states.
    pub fn sources_in<'n>(
        &self,
        text: &str,
        r#in: SourceIn,
        node_id: Option<&'n NodeId>,
        drift: &dyn Fn(&Pin) -> Option<&'static str>,
    ) -> Vec<SourceUse<'n>> {
        let uses = Parsed::new(text).sources().into_iter().map(|source| {
            let SourceState { words, class, .. } = self.source(&source, node_id, drift);
            let Source { text, written: target, .. } = source;
            SourceUse { r#in, node_id, text, target, state: words, class }
        });
        uses.collect()
    }

    /// Returns the state of a source in the findings of `own`, or in the conclusion. `drift` says what became of a cited place:
    /// `unchanged`, `moved`, `changed` or `gone`; `None` if it is unknown.
    pub fn source(
        &self,
        source: &Source,
        own: Option<&NodeId>,
        drift: &dyn Fn(&Pin) -> Option<&'static str>,
    ) -> SourceState<'a> {
        let state = |(sign, class, words): Shown, name: String, at| SourceState {
            sign,
            class,
            words,
            name: shorten(&one_line(&name), NAME),
            at,
        };
        let not_there = |words: &str| {
            state(("✗", "differs", words.to_owned()), source.written.clone(), SourceAt::Nowhere)
        };
        let node = |named: &str| match self.investigation.find(named) {
            Ok(node) => state(self.node_state(node), node.id.to_string(), SourceAt::Node(&node.id)),
            Err(NotFound::Ambiguous(_)) => not_there("several nodes have this id"),
            Err(NotFound::Unknown) => {
                let is_withdrawn = self.investigation.find_withdrawn(named).is_some();
                not_there(if is_withdrawn { "withdrawn" } else { "not there" })
            }
        };
        match &source.target {
            SourceTarget::Run(named) => match found_run(self.investigation, named) {
                Ok(run) => {
                    let id = run.id.to_string();
                    let mut shown = self.run_state(run);
                    if let Some((is_wrong, doubt)) = self.number_doubt(run, source) {
                        shown.2 = format!("{}; {doubt}", shown.2);
                        (shown.0, shown.1) = match shown.1 {
                            _ if is_wrong => ("!", "differs"),
                            "same" => ("·", "quiet"),
                            _ => (shown.0, shown.1),
                        };
                    }
                    state(shown, format!("run {}", last_bytes(&id, RUN)), SourceAt::Run(run))
                }
                Err(_) if was_taken_back(self.investigation, named) => not_there("taken back"),
                Err(several) if several.is_empty() => not_there("not there"),
                Err(_) => not_there("several runs have such an id"),
            },
            SourceTarget::Node(named) => node(named),
            SourceTarget::Address(address) => {
                let path = address.trim_start_matches("tot://");
                match path.split_once("/nodes/") {
                    Some((session, named)) if self.investigation.meta().id.matches(session) => node(named),
                    _ if self.cited(own, &|it| is_missing(it, address, None)).is_some() => {
                        not_there(NOT_CITED)
                    }
                    _ => {
                        let words = "in another investigation, not checked here".to_owned();
                        state(("·", "quiet", words), path.to_owned(), SourceAt::Nowhere)
                    }
                }
            }
            SourceTarget::Place(place) => {
                let cited = self.cited_place(place, own);
                let pin = cited.and_then(|it| it.pinned.as_ref());
                let lines = lines_of(place).map(|lines| format!(":{lines}")).unwrap_or_default();
                let file =
                    place.target.trim_end_matches(['/', '\\']).rsplit(['/', '\\']).next().unwrap_or_default();
                let shown = match pin.and_then(drift) {
                    Some("unchanged") => ("✓", "same", "read and still there"),
                    Some("moved") => ("✓", "same", "read, and moved since"),
                    Some("changed") => ("!", "differs", "gone on since it was read"),
                    Some("gone") => ("!", "differs", "gone since it was read"),
                    _ if pin.is_some() => ("·", "quiet", "read, not checked here"),
                    _ if cited.is_some() => ("✗", "differs", NOT_CITED),
                    _ => ("·", "quiet", "not checked here"),
                };
                let shown = (shown.0, shown.1, shown.2.to_owned());
                state(shown, format!("{file}{lines}"), pin.map_or(SourceAt::Nowhere, SourceAt::Place))
            }
            SourceTarget::How(Some(how)) => {
                let sign = match how {
                    How::WorkedOut => "∴",
                    How::Assumed => "≈",
                    How::NotRecorded => "∅",
                };
                state((sign, "quiet", how.label().to_owned()), String::new(), SourceAt::Nowhere)
            }
            SourceTarget::How(None) => not_there("says nothing"),
        }
    }

    /// Returns the bottom line without links, with how each passage is known. `None` if there is none.
    pub fn known_bottom_line(&self) -> Option<String> {
        let line = self.end().map_or("", |end| &end.bottom_line);
        let known = |source: &Source| Some(self.source(source, None, &|_| None).known());
        Some(with_known(line, &known)).filter(|line| !line.is_empty())
    }

    /// Returns the bottom line without links, for lists: only passages that their source does not show have how they are known.
    pub fn doubted_bottom_line(&self) -> Option<String> {
        let line = self.end().map_or("", |end| &end.bottom_line);
        let known = |source: &Source| {
            Some(self.source(source, None, &|_| None)).filter(|it| it.class == "differs").map(|it| it.known())
        };
        Some(with_known(line, &known)).filter(|line| !line.is_empty())
    }

    /// Returns what the signs in the bottom line mean: `✓ ran as expected · ∅ not recorded`.
    pub fn key(&self, drift: &dyn Fn(&Pin) -> Option<&'static str>) -> String {
        let mut key: Vec<(&str, Vec<String>)> = Vec::new();
        let text = self.end().map_or("", |end| &end.bottom_line);
        for state in Parsed::new(text).sources().iter().map(|source| self.source(source, None, drift)) {
            match key.iter_mut().find(|(sign, _)| *sign == state.sign) {
                Some((_, words)) if words.contains(&state.words) => {}
                Some((_, words)) => words.push(state.words),
                None => key.push((state.sign, vec![state.words])),
            }
        }
        let key = key.iter().map(|(sign, words)| format!("{sign} {}", words.join("; or ")));
        key.collect::<Vec<_>>().join(" · ")
    }

    /// Says what is wrong or unknown about the numbers of the passage, and whether they are wrong.
    fn number_doubt(&self, run: &Run, source: &Source) -> Option<(bool, String)> {
        if !source.text.contains(|c: char| c.is_ascii_digit()) {
            return None;
        }
        match self.run(run.id) {
            Some(captured) => {
                number_doubt(run, captured.figures.get_or_init(|| figures(run)).as_ref(), source)
            }
            None => number_doubt(run, figures(run).as_ref(), source),
        }
    }

    fn run_state(&self, run: &Run) -> Shown {
        let shown = |sign, class, words: &str| (sign, class, words.to_owned());
        match &run.what {
            RunKind::Repeated { .. } => match self.comparison(run) {
                Some(RunComparison::Same) => shown("✓", "same", "a rerun, the same"),
                Some(RunComparison::Differs) => shown("!", "differs", "a rerun that differs"),
                _ => shown("?", "differs", "could not be rerun"),
            },
            RunKind::Captured(ran) => {
                let (sign, class, first) = first_state(ran);
                let captured = self.run(run.id);
                let state = match captured.map_or(RunStanding::NeverRepeated, CapturedRun::standing) {
                    RunStanding::NeverRepeated | RunStanding::NotMet => (sign, class, first),
                    RunStanding::CouldNotRun => (sign, class, format!("{first}; could not be rerun")),
                    RunStanding::Same if captured.is_some_and(CapturedRun::is_reproduced) => {
                        shown("✓✓", "same", "rerun by another, the same")
                    }
                    RunStanding::Same if captured.is_some_and(CapturedRun::is_repeated_by_author) => {
                        shown("✓", "same", "rerun by its author, the same")
                    }
                    RunStanding::Same => shown("✓", "same", "rerun, the same"),
                    RunStanding::Holds => shown("✓", "quiet", "rerun, differs, judged to hold"),
                    RunStanding::Differs => shown("!", "differs", "rerun, differs"),
                    RunStanding::Fails => shown("✗", "differs", "rerun, differs, judged to fail"),
                };
                match captured.and_then(|it| it.input_state.as_ref()) {
                    Some(InputState::Changed(_)) if state.1 == "same" => {
                        ("!", "differs", format!("{}; its inputs changed, recheck", state.2))
                    }
                    _ => state,
                }
            }
            _ => shown("✗", "differs", "not there"),
        }
    }

    fn node_state(&self, node: &Node) -> Shown {
        if let Some(answer) = self.answer(&node.id) {
            let verdict = answer.verdict;
            let class = match verdict {
                _ if verdict.is_confirmed() => "same",
                _ if verdict <= Verdict::Contested => "differs",
                _ => "quiet",
            };
            return (verdict.sign(), class, answer.words().into_owned());
        }
        // What refutes another node stands itself.
        let mark = self.mark(node);
        let label = if mark.refutes.is_some() { mark.label } else { mark.label.to_lowercase() };
        ("·", "quiet", label)
    }

    /// Returns how a place was cited: with a pin if it was there, for the node that names it or else for any node.
    fn cited_place(&self, place: &Mention, own: Option<&NodeId>) -> Option<&'a Citation> {
        let lines = lines_of(place);
        let is_pinned = |it: &Citation| {
            let pin = it.pinned.as_ref();
            pin.is_some_and(|pin| {
                (pin.path == place.target || it.target == place.target) && pin.lines == lines
            })
        };
        let of_others = || self.investigation.nodes().find_map(|node| cited_by(node, &is_pinned));
        let pinned = self.cited(own, &is_pinned).or_else(of_others);
        pinned.or_else(|| self.cited(own, &|it| is_missing(it, &place.target, lines)))
    }

    /// Returns what was recorded of a source for the node that names it, or without one for the report.
    fn cited(&self, own: Option<&NodeId>, is_it: &dyn Fn(&Citation) -> bool) -> Option<&'a Citation> {
        match own {
            Some(id) => cited_by(self.investigation.node(id)?, is_it),
            None => self.investigation.reports().flat_map(|it| &it.references).find(|it| is_it(it)),
        }
    }
}

fn cited_by<'a>(node: &'a Node, is_it: &dyn Fn(&Citation) -> bool) -> Option<&'a Citation> {
    node.results().flat_map(|it| &it.references).find(|it| is_it(it))
}

/// Returns whether a citation says that this source was not there. A reference of the same name says nothing of it.
fn is_missing(citation: &Citation, target: &str, lines: Option<Lines>) -> bool {
    citation.named_in == Some(NamedIn::Source)
        && citation.pinned.is_none()
        && citation.target == target
        && citation.lines == lines.map(|lines| lines.to_string())
}

/// Returns the state of a command that nobody ran again.
fn first_state(ran: &Ran) -> Shown {
    let is_met = ran.expectations.iter().all(|it| it.held);
    match &ran.ended {
        Ended::NotRun(_) | Ended::TimedOut => ("?", "differs", "could not run".to_owned()),
        ended if !is_met || ran.expected_exit.is_some_and(|status| *ended != Ended::Exit(status)) => {
            ("!", "differs", "ran, but not as expected".to_owned())
        }
        Ended::Signal(_) => ("!", "differs", format!("did not finish ({})", ran.ended)),
        Ended::Exit(0) => ("✓", "same", "ran as expected".to_owned()),
        ended if ran.expected_exit.is_some() || !ran.expectations.is_empty() => {
            ("✓", "same", format!("ran as expected ({ended})"))
        }
        ended => ("·", "quiet", format!("ran, nothing was expected of it ({ended})")),
    }
}
