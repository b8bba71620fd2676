//! What would overturn an answer: at most five doubts, strongest first, each with the command that checks it.
//!
//! Everything is read from the premises of the answers, as the verdict is. What the verdict cannot know, the files that
//! changed in the project, comes in as a value.
//!
//! Adding a kind: give it a place in the order of [`DoubtKind`], and find it in [`Assessment::doubts_about`] for an answer,
//! or in [`Assessment::doubts`] for the whole.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::Serialize;

use super::inputs::named;
use super::{Answer, Assessment, CapturedRun, InputState, RunStanding, Verdict, VerdictLimit, differs};
use crate::domain::run::Seconds;
use crate::domain::wording::command;
use crate::domain::{CommentId, Conclusion, Node, NodeId, Pin, SessionId};
use crate::ruleset::effective::joined;
use crate::ruleset::rules::objections::Objection;
use crate::ruleset::rules::shortened;
use crate::text::{counted, one_line, shorten};

/// The maximum number of doubts.
const MOST: usize = 5;
/// The maximum number of nodes that a sentence or a command names.
const NAMED: usize = 4;
/// The maximum length of a quoted title or note, in characters.
const QUOTED: usize = 100;
/// The maximum length of a sentence, in characters.
const SENTENCE: usize = 300;

/// The kinds of doubt, strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum DoubtKind {
    /// The answer is refuted, or no longer an answer.
    Refuted,
    /// The answer rests on a refuted one.
    Undermined,
    /// An open objection to the answer, or to what it rests on.
    Objection,
    /// Results that differ, between which nobody has decided.
    Results,
    /// The answer depends on a finding that is contested, not confirmed, or changed since.
    Premise,
    /// A rerun of a command differed.
    Differs,
    /// The conclusion does not name the answers that it rests on.
    Unbound,
    /// Nobody but the author has confirmed the answer.
    Unchecked,
    /// A rerun of a command differed, and somebody judged that the evidence holds.
    Judged,
    /// A file that a command reads changed since it was run.
    Inputs,
    /// Nobody but its author has run a command again.
    Alone,
    /// No command was captured.
    NotRun,
    /// A confirmation that was quick, ran nothing, or is by the same session or client.
    Confirmation,
    /// A cited passage changed, or is gone.
    Citation,
    /// A point that the conclusion does not cover, or that a confirmation did not try.
    NotCovered,
    /// An idea that was withdrawn.
    Withdrawn,
}

/// One thing that would overturn an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(into = "DoubtJson")]
pub struct Doubt {
    /// The kind.
    pub kind: DoubtKind,
    /// What it is, in a sentence.
    pub text: String,
    /// What to do about it, in a sentence. `None` if the command only shows it.
    pub todo: Option<String>,
    /// The recorded time of the commands that the command reruns. `None` for a command that reruns nothing.
    pub seconds: Option<Seconds>,
    /// The node to read.
    pub node: Option<NodeId>,
    /// The comment to read.
    pub comment: Option<CommentId>,
    /// The command, and its arguments after the investigation.
    call: (&'static str, String),
    session: SessionId,
}

/// One thing that would overturn the conclusion.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DoubtJson {
    kind: DoubtKind,
    /// What it is, in a sentence.
    text: String,
    /// The command that checks it.
    command: String,
    /// The recorded time of the commands that the command reruns.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<f64>")]
    seconds: Option<Seconds>,
    #[serde(skip_serializing_if = "Option::is_none")]
    node_id: Option<NodeId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    comment_id: Option<CommentId>,
}

impl From<Doubt> for DoubtJson {
    fn from(doubt: Doubt) -> DoubtJson {
        let command = doubt.command(Some(&doubt.session.to_string()));
        let Doubt { kind, text, seconds, node, comment, .. } = doubt;
        DoubtJson { kind, text, command, seconds, node_id: node, comment_id: comment }
    }
}

impl Doubt {
    /// Adds what to do about it, and the command for that.
    fn settled_by(self, todo: &str, call: &'static str, rest: String, seconds: Option<Seconds>) -> Doubt {
        Doubt { todo: Some(shorten(&one_line(todo), SENTENCE)), call: (call, rest), seconds, ..self }
    }

    /// Returns the command that checks it, with the investigation's id if one is given.
    pub fn command(&self, investigation: Option<&str>) -> String {
        command(self.call.0, investigation, &self.call.1)
    }
}

/// Tells what became of a cited passage that is no longer there: `changed` or `gone`.
pub type LostCitation<'l> = &'l dyn Fn(&Pin) -> Option<&'static str>;

impl<'a> Assessment<'a> {
    /// Returns what would overturn the conclusion or, while there is none, the best answer. Without rules, that is unknown.
    pub fn doubts(&self, lost: LostCitation<'_>) -> Vec<Doubt> {
        strongest(self.all_doubts(lost))
    }

    /// Returns the doubts that a command settles, rather than only showing them.
    pub fn checks(&self, lost: LostCitation<'_>) -> Vec<Doubt> {
        let mut seen = HashSet::new();
        let mut doubts = self.all_doubts(lost);
        doubts.retain(|doubt| doubt.todo.is_some() && seen.insert(doubt.call.clone()));
        strongest(doubts)
    }

    /// Returns the statement of a doubt of a kind that no command settles.
    pub(super) fn stated(&self, kind: DoubtKind) -> Option<Doubt> {
        self.all_doubts(&|_| None).into_iter().find(|doubt| doubt.kind == kind && doubt.todo.is_none())
    }

    fn all_doubts(&self, lost: LostCitation<'_>) -> Vec<Doubt> {
        if self.rules.is_none() {
            return Vec::new();
        }
        let mut answers = self.supporting();
        let gone = self.bound().filter(|bound| bound.answer.is_none());
        let gone = gone.map(|it| {
            self.doubt(DoubtKind::Refuted, Some(it.id), format!("{} is no longer an answer.", it.id))
        });
        let mut doubts: Vec<Doubt> = gone.collect();
        if self.end().is_some() && self.bound.is_empty() {
            answers = self.answers.iter().collect();
            let text = match answers.len() {
                0 => "No node is marked as an answer, so nobody has checked the conclusion.".to_owned(),
                all => {
                    format!("The conclusion does not say which of {} it rests on.", counted(all, "answer"))
                }
            };
            doubts.push(self.doubt(DoubtKind::Unbound, None, text));
        }
        if doubts.is_empty() && answers.is_empty() {
            // All are rivals.
            answers = self.bound().filter_map(|bound| bound.answer).collect();
        }
        self.doubts_about(&answers, lost, &mut doubts);
        doubts.extend(self.corrections_of_report().map(|it| self.open_objection(it)));
        let pins = self.investigation.report().into_iter().flat_map(Conclusion::pins);
        doubts.extend(self.lost_citation(None, pins, lost));
        if !doubts.is_empty() || !answers.is_empty() {
            doubts.extend(self.limits().into_iter().map(|limit| self.not_covered(limit)));
            doubts.extend(self.investigation.withdrawn().map(|node| {
                let text = format!("An idea was withdrawn without being tried: {}.", title(node));
                self.doubt(DoubtKind::Withdrawn, Some(&node.id), text)
            }));
        }
        doubts
    }

    /// Returns what would overturn an answer.
    pub fn doubts_of(&self, answer: &Answer<'a>, lost: LostCitation<'_>) -> Vec<Doubt> {
        let mut doubts = Vec::new();
        self.doubts_about(&[answer], lost, &mut doubts);
        doubts.extend(self.caveats(answer).map(|limit| self.not_covered(limit)));
        strongest(doubts)
    }

    /// Returns a doubt that reading a node settles, or without a node the investigation.
    fn doubt(&self, kind: DoubtKind, node: Option<&NodeId>, text: impl Into<String>) -> Doubt {
        Doubt {
            kind,
            text: shorten(&one_line(&text.into()), SENTENCE),
            todo: None,
            seconds: None,
            node: node.cloned(),
            comment: None,
            call: ("tot show", node.map(ToString::to_string).unwrap_or_default()),
            session: self.investigation.meta().id,
        }
    }

    fn open_objection(&self, objection: &Objection) -> Doubt {
        let comment = &objection.comment;
        let text = format!("{}.", objection.message());
        let doubt = self.doubt(DoubtKind::Objection, comment.node.as_ref(), text);
        Doubt { comment: Some(comment.id), ..doubt }
    }

    fn not_covered(&self, limit: VerdictLimit<'_>) -> Doubt {
        self.doubt(DoubtKind::NotCovered, limit.node, limit.to_string())
    }

    fn doubts_about(&self, answers: &[&Answer<'a>], lost: LostCitation<'_>, doubts: &mut Vec<Doubt>) {
        let mut seen: HashSet<&NodeId> = HashSet::new();
        for answer in answers {
            let id = &answer.node.id;
            if let (Verdict::Refuted, Some(by)) = (answer.verdict, answer.refuted_by.first()) {
                let name = self.investigation.node(by).map(|node| title(node)).unwrap_or_default();
                doubts.push(self.doubt(DoubtKind::Refuted, Some(by), format!("{by} refutes {id}: {name}.")));
            }
            if let Some(weakest) = &answer.weakest {
                let kind = match answer.verdict {
                    Verdict::Undermined => DoubtKind::Undermined,
                    _ => DoubtKind::Premise,
                };
                let node = weakest.refuted_by.as_ref().or(weakest.chain.last().copied());
                doubts.push(self.doubt(kind, node, format!("{id} {}.", answer.words())));
            }
            let is_open = |id: &CommentId| answer.against.contains(id) || answer.corrections.contains(id);
            for objection in self.open.iter().filter(|it| is_open(&it.comment.id)) {
                // An objection may concern several answers.
                if doubts.iter().all(|it| it.comment != Some(objection.comment.id)) {
                    doubts.push(self.open_objection(objection));
                }
            }
            for premise in answer.premises.iter().filter(|it| seen.insert(&it.node.id)) {
                let node = &premise.node.id;
                if differs(premise.node) {
                    let text = format!("Results of {node} differ, and nobody has decided between them.");
                    doubts.push(self.doubt(DoubtKind::Results, Some(node), text));
                }
                doubts.extend(self.lost_citation(Some(node), premise.node.pins(), lost));
            }
        }
        self.unchecked(answers, doubts);
        self.unrun(answers, doubts);
        self.weak_confirmation(answers, doubts);
    }

    /// Finds the first place that the findings of a node, or the report, cite and that is no longer there.
    fn lost_citation<'p>(
        &self,
        node: Option<&NodeId>,
        mut pins: impl Iterator<Item = &'p Pin>,
        lost: LostCitation<'_>,
    ) -> Option<Doubt> {
        let (pin, became) = pins.find_map(|pin| Some((pin, lost(pin)?)))?;
        let lines = pin.lines.map(|lines| format!(":{lines}")).unwrap_or_default();
        let who = node.map_or("The report", NodeId::as_str);
        let text = format!("{who} cites {}{lines}, which is {became}.", pin.path);
        let todo = format!("Look at {}{lines}: it was cited, and is {became}.", pin.path);
        let doubt = self.doubt(DoubtKind::Citation, node, text);
        Some(doubt.settled_by(&todo, "tot check", "--references".to_owned(), None))
    }

    fn unchecked(&self, answers: &[&Answer<'a>], doubts: &mut Vec<Doubt>) {
        let is_unchecked = |answer: &&&Answer<'_>| {
            self.method_confirms && answer.verdict != Verdict::Refuted && !answer.checked().is_confirmed()
        };
        let mut unchecked: Vec<_> = answers.iter().filter(is_unchecked).collect();
        unchecked.sort_by_key(|answer| answer.checked());
        let Some(first) = unchecked.first() else { return };
        let id = &first.node.id;
        let by = first.confirming.first().map(|by| &by.node);
        let text = match (first.checked(), by) {
            (Verdict::AuthorOnly, Some(by)) => format!("Only its author checked {id}, in {by}"),
            (_, Some(by)) => format!("Nobody has checked {id}: its confirmation {by} does not count"),
            (_, None) if first.is_by_hand => {
                format!("{id} was changed by hand, and nobody has checked it since")
            }
            (_, None) => format!("Nobody has tried to refute {id}"),
        };
        let more = match unchecked.len() - 1 {
            0 => ".".to_owned(),
            1 => "; another answer is not confirmed either.".to_owned(),
            more => format!("; {more} more of the answers are not confirmed."),
        };
        doubts.push(self.doubt(DoubtKind::Unchecked, Some(by.unwrap_or(id)), text + &more));
    }

    /// Finds the commands that differed, and those that nobody else ran.
    fn unrun(&self, answers: &[&Answer<'a>], doubts: &mut Vec<Doubt>) {
        let nodes = answers.iter().flat_map(|answer| &answer.premises).map(|it| &it.node.id);
        let (mut runs, mut found) = (HashSet::new(), Vec::<(DoubtKind, &NodeId, Vec<_>)>::new());
        let mut lost = Vec::new();
        for (node, run) in nodes.flat_map(|node| self.runs_of(node).map(move |run| (node, run))) {
            let kind = match run.standing() {
                _ if !runs.insert(run.run.id) => continue,
                RunStanding::Fails | RunStanding::Differs => DoubtKind::Differs,
                RunStanding::Holds => DoubtKind::Judged,
                _ if matches!(run.input_state, Some(InputState::Changed(_))) => DoubtKind::Inputs,
                _ if run.is_rerun_by_other() => continue,
                _ => match run.lost_script() {
                    Some(script) => {
                        lost.push((node, script));
                        continue;
                    }
                    None => DoubtKind::Alone,
                },
            };
            match found.iter_mut().find(|(one, of, _)| (*one, *of) == (kind, node)) {
                Some((.., runs)) => runs.push(run),
                None => found.push((kind, node, vec![run])),
            }
        }
        let (alone, differing): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|(kind, ..)| *kind == DoubtKind::Alone);
        for (kind, node, runs) in differing {
            let more = match (runs.len(), kind) {
                (1, _) => String::new(),
                (all, DoubtKind::Inputs) => format!("; so did those of {} more", counted(all - 1, "command")),
                (all, _) => format!("; {all} of its commands differ"),
            };
            let what = format!("{} of {node}", name(runs[0]));
            let (text, why, rest) = match (&runs[0].input_state, kind) {
                (Some(InputState::Changed(files)), DoubtKind::Inputs) => {
                    let changed = format!("changed since it was run ({}){more}", named(files));
                    let text = format!("The inputs of {what} {changed}.");
                    (text, format!("whose inputs {changed}"), format!("{node} --at HEAD"))
                }
                _ => {
                    // At the recorded commit, the command is not asked what became of a later difference.
                    let is_later = runs.iter().any(|run| run.differs_later());
                    let at = if is_later { " --at HEAD" } else { "" };
                    let was = format!("was {}{more}", runs[0].words());
                    (format!("{what} {was}."), format!("which {was}"), format!("{node}{at}"))
                }
            };
            let doubt = self.doubt(kind, Some(node), text);
            doubts.push(match runs.iter().find(|run| run.lost_script().is_none()) {
                None => doubt,
                Some(run) => {
                    let todo = format!("Rerun {} of {node}, {why}.", name(run));
                    doubt.settled_by(&todo, "tot rerun", rest, Some(self.recorded([node])))
                }
            });
        }
        if let Some((first, script)) = lost.first() {
            let scripts: HashSet<&str> = lost.iter().map(|(_, script)| *script).collect();
            let mut nodes: Vec<_> = lost.iter().map(|(node, _)| node).collect();
            nodes.dedup();
            let (commands, nodes) = (counted(lost.len(), "command"), shortened(&nodes, NAMED));
            let not_stored = match scripts.len() - 1 {
                0 => format!("{script} is not stored"),
                more => format!("{script} and {} are not stored", counted(more, "other script")),
            };
            let text = format!("Others may not be able to rerun {commands} of {nodes}: {not_stored}.");
            doubts.push(self.doubt(DoubtKind::Alone, Some(first), text));
        }
        let nodes: Vec<&NodeId> = alone.iter().map(|(_, node, _)| *node).collect();
        let all: Vec<&CapturedRun<'_>> = alone.iter().flat_map(|(.., runs)| runs).copied().collect();
        let what = match all.as_slice() {
            [] if runs.is_empty() && !answers.is_empty() => {
                let ids: Vec<_> = answers.iter().map(|answer| &answer.node.id).collect();
                let text = format!("No command was captured for {}.", shortened(&ids, NAMED));
                let doubt = self.doubt(DoubtKind::NotRun, ids.first().copied(), text);
                let todo =
                    format!("Run a command that would show {} to be wrong: none was captured.", ids[0]);
                return doubts.push(doubt.settled_by(
                    &todo,
                    "tot run",
                    format!("{} -- COMMAND", ids[0]),
                    None,
                ));
            }
            [] => return,
            [only] => name(only),
            all => counted(all.len(), "command"),
        };
        let what = format!("{what} of {}", shortened(&nodes, NAMED));
        let (rest, seconds) = match nodes.len() {
            ..=NAMED => (spaced(&nodes), self.recorded(nodes.iter().copied())),
            _ if self.whole_runs().next().is_some() => (String::new(), sum(self.whole_runs())),
            _ => ("--all".to_owned(), sum(self.runs())),
        };
        let text = format!("Nobody else has run {what}.");
        let doubt = self.doubt(DoubtKind::Alone, nodes.first().copied(), text);
        let todo = format!("Rerun {what}, which nobody else has run.");
        doubts.push(doubt.settled_by(&todo, "tot rerun", rest, Some(seconds)));
    }

    /// Returns an answer whose best confirmation is weak, with that node and the reasons.
    pub(super) fn weakly_confirmed<'s>(
        &self,
        answer: &'s Answer<'a>,
    ) -> Option<(&'s NodeId, &'s NodeId, Vec<String>)> {
        let by = answer.confirming.first()?;
        let is_confirmed = answer.verdict != Verdict::Refuted && answer.checked().is_confirmed();
        let reasons = self.distance(answer.node, by).filter(|_| is_confirmed)?.weaknesses(by.grade);
        (!reasons.is_empty()).then_some((&answer.node.id, &by.node, reasons))
    }

    fn weak_confirmation(&self, answers: &[&Answer<'a>], doubts: &mut Vec<Doubt>) {
        let mut weak: Vec<_> = answers.iter().filter_map(|answer| self.weakly_confirmed(answer)).collect();
        weak.sort_by_key(|(.., reasons)| std::cmp::Reverse(reasons.len()));
        let Some((answer, by, reasons)) = weak.first() else { return };
        let more = match weak.len() - 1 {
            0 => ".".to_owned(),
            1 => "; another confirmation is weak, too.".to_owned(),
            more => format!("; {more} more of the confirmations are weak, too."),
        };
        let text = format!("{by} confirms {answer}, but {}{more}", joined(reasons, "and"));
        doubts.push(self.doubt(DoubtKind::Confirmation, Some(by), text));
    }

    /// Returns the recorded time of all commands of the nodes.
    fn recorded<'n>(&self, nodes: impl IntoIterator<Item = &'n NodeId>) -> Seconds {
        let runs: Vec<_> = nodes.into_iter().flat_map(|node| self.runs_of(node)).collect();
        sum(runs.into_iter())
    }
}

fn strongest(mut doubts: Vec<Doubt>) -> Vec<Doubt> {
    doubts.sort_by_key(|doubt| doubt.kind);
    doubts.truncate(MOST);
    doubts
}

fn sum<'r, 'a: 'r>(runs: impl Iterator<Item = &'r CapturedRun<'a>>) -> Seconds {
    let mut seen = HashSet::new();
    let runs = runs.filter(|run| seen.insert(run.run.id));
    let milliseconds = runs.fold(0_u64, |sum, run| sum.saturating_add(run.ran.seconds.milliseconds));
    Seconds { milliseconds }
}

fn spaced(ids: &[&NodeId]) -> String {
    ids.iter().map(|id| id.as_str()).collect::<Vec<_>>().join(" ")
}

/// Returns the name of a node without a full stop.
fn title(node: &Node) -> String {
    shorten(&one_line(node.name()), QUOTED).trim_end_matches('.').to_owned()
}

/// Returns the note on a run or, without one, its command.
fn name(run: &CapturedRun<'_>) -> String {
    let note = run.run.note.as_deref().filter(|note| !note.trim().is_empty());
    let name = note.map_or_else(|| run.command(), one_line);
    format!("“{}”", shorten(&name, QUOTED).trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::domain::run::{Ran, RunComparison};
    use crate::domain::{
        BoundAnswer, BoundAs, Caller, Citation, Classification, Comment, CommentKind, Commenter, Conclusion,
        Investigation, Link, LinkKind, Meta, Run, RunId, RunKind, Timestamp, Withdrawal,
    };
    use crate::ruleset::{EffectiveRules, builtin};

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_milliseconds(1_795_000_000_000 + minute * 60_000).unwrap()
    }

    fn by(session: &str) -> Caller {
        let client = format!("client-{session}/1.0");
        Caller { session: Some(session.into()), client: Some(client), ..Caller::default() }
    }

    /// An ended investigation: R1.A answers, and R2.A1 confirms it an hour later in another session, with a run of its own.
    struct Facts {
        nodes: Vec<Node>,
        runs: Vec<Run>,
        comments: Vec<Comment>,
        end: Option<Conclusion>,
    }

    impl Facts {
        fn new() -> Facts {
            let mut facts = Facts { nodes: Vec::new(), runs: Vec::new(), comments: Vec::new(), end: None };
            facts.node("R1.A", "ANSWER", "author", 0).node("R2.A1", "CONFIRMED", "critic", 60);
            facts.run(Some("R2.A1"), "critic", None);
            let again = Some((1, RunComparison::Same));
            facts.run(None, "third", again);
            let mut end = Conclusion::new(at(100));
            end.conclusion = Some("So it is.".into());
            end.answers = vec![BoundAnswer { id: "R1.A".parse().unwrap(), role: BoundAs::Main }];
            facts.end = Some(end);
            facts
        }

        fn node(&mut self, id: &str, state: &str, session: &str, minute: i64) -> &mut Facts {
            let id: NodeId = id.parse().unwrap();
            let parent = self.nodes.first().filter(|_| id.round() > 1).map(|node| node.id.clone());
            let mut node = Node::new(id, parent, "What it says", at(0));
            let findings = "Measured ten times, with the cache cold and warm.";
            let mut result = Classification::new(state.parse().unwrap(), findings, at(minute));
            result.headline = Some(format!("The {state} of {session}."));
            (result.agent_id, result.caller) = (Some(session.into()), by(session));
            result.refutes = state == "REFUTED";
            node.classification = Some(result);
            self.nodes.push(node);
            self
        }

        fn result(&mut self, at: usize) -> &mut Classification {
            self.nodes[at].classification.as_mut().unwrap()
        }

        fn run(&mut self, node: Option<&str>, session: &str, of: Option<(u8, RunComparison)>) {
            let seconds = Seconds { milliseconds: 1_500 };
            let ran = Ran { seconds, ..Ran::new(vec!["./measure".into()], at(61)) };
            let id = |number: u8| RunId::new(1_795_000_000_000 + u64::from(number), [number; 10]);
            let what = match of {
                Some((of, verdict)) => RunKind::Repeated { of: id(of), at: None, verdict, ran },
                None => RunKind::Captured(ran),
            };
            let author = Commenter { name: session.into(), caller: by(session), ..Commenter::default() };
            let node = node.map(|node| node.parse().unwrap());
            self.runs.push(Run {
                id: id(self.runs.len() as u8 + 1),
                node,
                author,
                at: at(61),
                note: None,
                what,
            });
        }
    }

    /// Returns each doubt as its kind, text, command and cost. Citations of `src/gone.rs` are lost.
    fn told(change: impl FnOnce(&mut Facts)) -> Vec<String> {
        let mut facts = Facts::new();
        change(&mut facts);
        let meta = Meta::sample("review", at(0));
        let (investigation, faults) =
            Investigation::from_facts(meta, facts.nodes.into_iter().map(Arc::new), facts.end);
        assert!(faults.is_empty(), "{faults:?}");
        let investigation = investigation
            .with_runs(facts.runs.into_iter().map(Arc::new))
            .with_comments(facts.comments.into_iter().map(Arc::new));
        let ruleset = &builtin::all().iter().find(|it| it.ruleset.name == "review").unwrap().ruleset;
        let rules = EffectiveRules::new(ruleset, investigation.meta());
        let assessment = Assessment::new(&investigation, Some(rules));
        let doubts = assessment.doubts(&|pin| (pin.path == "src/gone.rs").then_some("gone"));
        assert!(doubts.len() <= MOST && doubts.is_sorted_by_key(|doubt| doubt.kind));
        let line = |doubt: &Doubt| {
            let cost = doubt.seconds.map(|seconds| format!(" ({seconds})")).unwrap_or_default();
            format!("{} {}{cost}", doubt.text, doubt.command(None))
        };
        doubts.iter().map(line).collect()
    }

    #[test]
    fn each_doubt_is_told_with_its_command_and_its_cost_and_the_strongest_first() {
        let objection = |facts: &mut Facts| {
            let author = Commenter { name: "Ada".into(), ..Commenter::default() };
            facts.comments.push(Comment {
                id: CommentId::new(1_795_000_000_000, [1; 10]),
                node: Some("R2.A1".parse().unwrap()),
                kind: CommentKind::Objection,
                reply_to: None,
                author,
                at: at(70),
                text: "The clock was wrong.".into(),
                saw: None,
                edits: Vec::new(),
            });
        };
        let end = |facts: &mut Facts, change: fn(&mut Conclusion)| change(facts.end.as_mut().unwrap());
        let table: Vec<(&str, Vec<String>, &[&str])> = vec![
            ("nothing", told(|_| {}), &[]),
            (
                "a refutation",
                told(|facts| {
                    facts.node("R2.A2", "REFUTED", "other", 80);
                }),
                &["R2.A2 refutes R1.A: The REFUTED of other. tot show R2.A2"],
            ),
            (
                "an objection",
                told(objection),
                &["Ada objects to R2.A1: “The clock was wrong”. tot show R2.A1"],
            ),
            (
                "a refuted premise",
                told(|facts| {
                    facts.node("R1.B", "ANSWER", "author", 0).node("R2.B1", "REFUTED", "other", 9);
                    facts.nodes[3].parent = Some("R1.B".parse().unwrap());
                    let to = "R1.B".parse().unwrap();
                    facts.result(0).links =
                        vec![Link { to, kind: LinkKind::Depends, saw: None, state: None }];
                }),
                &["R1.A rests on R1.B, refuted by R2.B1. tot show R2.B1"],
            ),
            (
                "no confirmation",
                told(|facts| facts.nodes.truncate(1)),
                &[
                    "Nobody has tried to refute R1.A. tot show R1.A",
                    "No command was captured for R1.A. tot run R1.A -- COMMAND",
                ],
            ),
            (
                "a confirmation by the author",
                told(|facts| {
                    (facts.result(1).agent_id, facts.result(1).caller) = (Some("author".into()), by("author"))
                }),
                &["Only its author checked R1.A, in R2.A1. tot show R2.A1"],
            ),
            (
                "a quick confirmation by the same client that ran nothing",
                told(|facts| {
                    facts.result(1).committed_at = at(1);
                    facts.result(1).caller.client = by("author").client;
                    facts.runs[0].node = Some("R1.A".parse().unwrap());
                }),
                &[
                    "R2.A1 confirms R1.A, but took 60 s, ran no command of its own and comes from the same client (client-author). \
                   tot show R2.A1",
                ],
            ),
            (
                "a rerun that differs",
                told(|facts| facts.run(None, "third", Some((1, RunComparison::Differs)))),
                &[
                    "“./measure” of R2.A1 was rerun by client-third on 18 Nov 2026: differs. tot rerun R2.A1 (1.5 s)",
                ],
            ),
            (
                "commands whose scripts are lost",
                told(|facts| {
                    facts.runs.truncate(1);
                    let RunKind::Captured(ran) = &mut facts.runs[0].what else { panic!("captured") };
                    ran.command = vec!["python3".into(), "../lab/replay.py".into()];
                }),
                &[
                    "Others may not be able to rerun 1 command of R2.A1: ../lab/replay.py is not stored. tot show R2.A1",
                ],
            ),
            (
                "commands that nobody else ran",
                told(|facts| {
                    facts.runs.truncate(1);
                    facts.run(Some("R1.A"), "author", None);
                }),
                &["Nobody else has run 2 commands of R1.A, R2.A1. tot rerun R1.A R2.A1 (3.0 s)"],
            ),
            (
                "a lost citation, what is not covered, and what was withdrawn",
                told(|facts| {
                    let pinned = Some(
                        serde_json::from_value(serde_json::json!({"path": "src/gone.rs", "blob": "0123"}))
                            .unwrap(),
                    );
                    facts.result(0).references = vec![Citation { pinned, ..Citation::default() }];
                    facts.result(1).caveats = vec!["The other disk.".into()];
                    end(facts, |end| end.not_covered = vec!["Windows.".into()]);
                    let mut idea = Node::new("R1.C".parse().unwrap(), None, "Another database", at(0));
                    idea.withdrawn = Some(Withdrawal { at: at(1), caller: Caller::default() });
                    facts.nodes.push(idea);
                }),
                &[
                    "R1.A cites src/gone.rs, which is gone. tot check --references",
                    "Not covered: Windows. tot show",
                    "R2.A1 did not try: The other disk. tot show R2.A1",
                    "An idea was withdrawn without being tried: Another database. tot show R1.C",
                ],
            ),
            (
                "a conclusion that does not name its answers",
                told(|facts| {
                    facts.node("R1.B", "ANSWER", "author", 0);
                    end(facts, |end| end.answers.clear());
                }),
                &[
                    "The conclusion does not say which of 2 answers it rests on. tot show",
                    "Nobody has tried to refute R1.B. tot show R1.B",
                ],
            ),
        ];
        for (what, told, expected) in table {
            assert_eq!(told, expected, "{what}");
        }
    }
}
