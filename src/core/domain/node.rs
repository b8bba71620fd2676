//! One node: a proposal, what was found, and every later change of its state.
//!
//! # To add a stored field of a node
//!
//! Follow one that is there, such as `verification_method`, which says how a result was verified:
//!
//! 1. `src/core/domain/node.rs`: the field; and `src/core/domain/stored.rs`: its key, where a change of state has it, too.
//! 2. `src/core/format/node_file.rs`: its key in the node's file, and its place among the others.
//! 3. `src/mcp/tools/commit.rs` and `src/core/decide/commit.rs`: who gives it, and what is asked of it.
//! 4. `src/mcp/tools/reclassify.rs` and `src/core/decide/reclassify.rs`: whether it can change later.
//! 5. `src/core/view.rs`: its name in JSON and its heading. `investigation.json`, `tot_read`, resources, pages, search, history
//!    and comparison have it from there.
//! 6. `src/withhold.rs`: what stands in its place where the node is not to be public.
//! 7. `src/import/ancestor.rs`: only if files of the program's ancestor have it, too.
//! 8. `src/check/stored.rs`: that a merge has to leave it as it is.
//! 9. `tests/it/fuzz.rs`: the field in the files and the inputs that it begins from.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

use super::stored::{self, StoredReclassification};
use super::{Citation, Code, NodeId, Pin, RunId, StateName, Timestamp};
use crate::yaml;

/// A node, from its proposal on. Without a classification it is a pending proposal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its id, which contains its round.
    pub id: NodeId,
    /// The node it extends; `None` for a root.
    pub parent: Option<NodeId>,
    /// One line.
    pub title: String,
    /// What the agent means to do.
    pub planned_action: String,
    /// When it was proposed, or proposed again.
    pub proposed_at: Timestamp,
    /// Which values of what varies it covers, each as `engine=gix`.
    pub covers: Vec<String>,
    /// The id that it was proposed under, where a merge has given it another.
    pub renamed_from: Option<NodeId>,
    /// The claim of the agent that means to research it, while it is pending.
    pub claim: Option<Claim>,
    /// What became of it; absent while it is pending.
    pub classification: Option<Classification>,
}

/// The claim of an agent on a pending proposal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Claim {
    /// When it was made.
    pub at: Timestamp,
    /// The claimant.
    #[serde(serialize_with = "yaml::text")]
    pub agent_id: String,
    /// When it lapses.
    pub until: Timestamp,
}

impl Claim {
    /// Whether at that time it keeps the node from this agent, or from one without a name.
    pub fn is_of_other(&self, agent: Option<&str>, now: Timestamp) -> bool {
        now < self.until && agent != Some(self.agent_id.as_str())
    }
}

/// The result that an agent committed for a node, and the later changes of its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Classification {
    /// The state stored by the commit. The state in force is [`Node::state`].
    pub state: StateName,
    /// What the agent asked for, where a rule stored another state.
    pub requested_state: Option<StateName>,
    /// Whether it refutes its parent.
    pub refutes: bool,
    /// The agent that did the research.
    pub agent_id: Option<String>,
    /// The client that the result came through.
    pub caller: Caller,
    /// When the research began, as the agent says: it may have come before the proposal.
    pub started_at: Option<Timestamp>,
    /// When it was committed.
    pub committed_at: Timestamp,
    /// What was found, in one sentence. The title was written before the work.
    pub headline: Option<String>,
    /// Markdown, as it came.
    pub findings: String,
    /// What proves it.
    pub evidence: Option<String>,
    /// How it was verified.
    pub verification_method: Option<String>,
    /// What else was considered.
    pub alternatives_considered: Vec<String>,
    /// What it did not try, in a sentence each.
    pub caveats: Vec<String>,
    /// What was run for it.
    pub commands: Vec<Command>,
    /// The runs that are its evidence, beside those that were made for the node itself.
    pub runs: Vec<RunId>,
    /// Its sources, beside those that the findings name.
    pub references: Vec<Citation>,
    /// What it has to do with nodes elsewhere in the tree.
    pub links: Vec<Link>,
    /// What the commit was warned of.
    pub warnings: Vec<Warning>,
    /// Every later change of state, oldest first.
    pub reclassified: Vec<Reclassification>,
    /// Every later change of its texts, oldest first.
    pub amended: Vec<Amendment>,
    /// Other results for the same proposal: committed elsewhere before a merge, or late, after another agent had claimed it;
    /// by time. They have no other results themselves.
    pub other_results: Vec<Classification>,
}

/// The caller, as far as it is known. The client says so itself, and nothing proves it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Caller {
    /// The person, if the call came through that person's own command (which an agent can run, too); `None` if it came
    /// through a tool.
    #[serde(flatten)]
    pub person: Option<Person>,
    /// The person whom the file names although git names another author. No rule counts this person, and only the file keeps
    /// the name.
    #[serde(skip)]
    pub disowned: Option<Person>,
    /// The program and its version, as `claude-code/2.1.154`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// The session: one run of the client.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// The model, as the agent says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// A person, by the name and address that git has. In JSON the person is marked with `kind: person`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(tag = "kind", rename = "person", rename_all = "camelCase")]
pub struct Person {
    /// The name.
    pub name: String,
    /// The address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub email: Option<String>,
}

/// A command that was run for a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Command {
    /// As it was typed.
    #[serde(serialize_with = "yaml::text")]
    pub command: String,
    /// Its exit status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Its output, or the part that matters.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "yaml::some_text")]
    pub output: Option<String>,
}

/// A link from a node to one that is not its parent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Link {
    /// The other node.
    pub to: NodeId,
    /// The kind of the link.
    pub kind: LinkKind,
}

/// The kind of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum LinkKind {
    /// It makes the other more likely.
    Supports,
    /// Both can't be true.
    Contradicts,
    /// It says the same.
    Duplicates,
    /// It holds only if the other does.
    Depends,
}

/// One change of what a node says, after its commit. It keeps the former texts: an empty text where there was none, and
/// nothing of what did not change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Amendment {
    /// When.
    pub at: Timestamp,
    /// The agent that made it.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "yaml::some_text")]
    pub agent_id: Option<String>,
    /// Through which client it came.
    #[serde(
        rename = "by",
        default,
        skip_serializing_if = "stored::caller::is_absent",
        with = "stored::caller"
    )]
    pub caller: Caller,
    /// Why.
    #[serde(serialize_with = "yaml::text")]
    pub reason: String,
    /// The title before.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "yaml::some_text")]
    pub title: Option<String>,
    /// The headline before.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "yaml::some_text")]
    pub headline: Option<String>,
    /// The findings before.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "yaml::some_text")]
    pub findings: Option<String>,
    /// The evidence before.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "yaml::some_text")]
    pub evidence: Option<String>,
    /// What else was considered before.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "yaml::some_texts")]
    pub alternatives_considered: Option<Vec<String>>,
    /// What it did not try before.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "yaml::some_texts")]
    pub caveats: Option<Vec<String>>,
    /// The commands before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commands: Option<Vec<Command>>,
    /// The sources before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub references: Option<Vec<Citation>>,
}

/// One change of the conclusion after it was given. It keeps the former texts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AmendedConclusion {
    /// When.
    pub at: Timestamp,
    /// The agent that made it.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "yaml::some_text")]
    pub agent_id: Option<String>,
    /// Through which client it came.
    #[serde(
        rename = "by",
        default,
        skip_serializing_if = "stored::caller::is_absent",
        with = "stored::caller"
    )]
    pub caller: Caller,
    /// Why.
    #[serde(serialize_with = "yaml::text")]
    pub reason: String,
    /// The conclusion before; absent where it was left as it was.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "yaml::some_text")]
    pub conclusion: Option<String>,
    /// The answers that it rested on before; absent where they were left as they were.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answers: Option<Vec<BoundAnswer>>,
    /// What it did not cover before; absent where that was left as it was.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "yaml::some_texts")]
    pub not_covered: Option<Vec<String>>,
}

/// An answer that a conclusion rests on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BoundAnswer {
    /// The node.
    pub id: NodeId,
    /// How it belongs to the conclusion.
    #[serde(rename = "as")]
    pub role: BoundAs,
}

/// How an answer belongs to a conclusion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum BoundAs {
    /// It is the conclusion.
    Main,
    /// It and other parts together are.
    Part,
    /// It is possible beside the conclusion.
    Rival,
}

/// A warning as it is stored with a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Warning {
    /// What kind.
    pub code: Code,
    /// What was wrong, in one sentence.
    #[serde(serialize_with = "yaml::text")]
    pub message: String,
}

/// The author of a change of state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Author {
    /// An agent, by its id.
    Agent(String),
    /// A child whose own state confirmed or refuted the node.
    Child(NodeId),
    /// Nobody who gave a name.
    Unknown,
}

/// One change of a node's state after its commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredReclassification", into = "StoredReclassification")]
pub struct Reclassification {
    /// The state before.
    pub from: StateName,
    /// The state after.
    pub to: StateName,
    /// When.
    pub at: Timestamp,
    /// The author.
    pub by: Author,
    /// Through which client it came.
    pub caller: Caller,
    /// Why, in the agent's words.
    pub reason: Option<String>,
    /// What proves it.
    pub evidence: Option<String>,
    /// How it was verified.
    pub verification_method: Option<String>,
    /// What else was considered.
    pub alternatives_considered: Vec<String>,
    /// What the change was warned of.
    pub warnings: Vec<Warning>,
    /// Between how many other results it decides; see [`Classification::is_contested`].
    pub settles: usize,
}

/// The end of an investigation, as `tot_end` stores it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conclusion {
    /// When it was ended.
    pub ended_at: Timestamp,
    /// The agent that ended it.
    pub agent_id: Option<String>,
    /// Through which client it came.
    pub caller: Caller,
    /// Why it was ended before the rules were met, if it was.
    pub stopped: Option<Stopped>,
    /// The person's answer to the question whether it may end, if the server was to ask.
    pub asked: Option<Asked>,
    /// When the conclusion was given, if that was after the end.
    pub concluded_at: Option<Timestamp>,
    /// The answer, in Markdown.
    pub conclusion: Option<String>,
    /// The answers that it rests on. Older files name none: then a single answer counts as named.
    pub answers: Vec<BoundAnswer>,
    /// What it does not cover, in a sentence each.
    pub not_covered: Vec<String>,
    /// Later ends of the same investigation that were stored elsewhere, before a merge; by time. They have no other ends
    /// themselves.
    pub other_conclusions: Vec<Conclusion>,
    /// Every later change of the answer, oldest first.
    pub amended: Vec<AmendedConclusion>,
}

/// Why an investigation was ended before the rules were met.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Stopped {
    /// What kind of reason.
    pub reason: StopReason,
    /// A note on it.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "yaml::some_text")]
    pub note: Option<String>,
}

/// The outcome of asking the person in front of the client whether an investigation may end. A client can claim any outcome,
/// so it is not a sign-off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Asked {
    /// What was chosen.
    pub answer: PersonsAnswer,
    /// In the person's own words.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "yaml::some_text")]
    pub said: Option<String>,
}

/// The person's choice, or why there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PersonsAnswer {
    /// To let it end.
    Accepted,
    /// To go on. No file stores this answer, since the investigation does not end.
    Declined,
    /// Nothing: the question was put aside.
    Cancelled,
    /// Nothing in time.
    Unanswered,
    /// Nothing: the client has no way to ask.
    NotOffered,
}

/// The kind of a reason to stop early.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum StopReason {
    /// No time, money or calls are left.
    Budget,
    /// What was found is enough for the person who asked.
    Enough,
    /// No possible step leads on.
    Stuck,
}

impl Author {
    /// The agent.
    pub fn agent(&self) -> Option<&str> {
        match self {
            Author::Agent(agent) => Some(agent),
            Author::Child(_) | Author::Unknown => None,
        }
    }

    /// The child.
    pub fn child(&self) -> Option<&NodeId> {
        match self {
            Author::Child(child) => Some(child),
            Author::Agent(_) | Author::Unknown => None,
        }
    }
}

impl Reclassification {
    /// Returns the name of the author for people: the agent, the child or the person.
    pub fn who(&self) -> Option<String> {
        let child = self.by.child().map(ToString::to_string);
        child.or_else(|| self.caller.who(self.by.agent()))
    }
}

impl AmendedConclusion {
    /// Returns the name of the author for people.
    pub fn who(&self) -> Option<String> {
        self.caller.who(self.agent_id.as_deref())
    }

    /// The names of the changed parts.
    pub fn parts(&self) -> impl Iterator<Item = &'static str> {
        let parts = [
            ("conclusion", self.conclusion.is_some()),
            ("answers", self.answers.is_some()),
            ("notCovered", self.not_covered.is_some()),
        ];
        parts.into_iter().filter(|(_, is_changed)| *is_changed).map(|(name, _)| name)
    }

    /// Exchanges its texts with those of an end. It then keeps the former texts, but only the ones that changed.
    pub fn exchange(&mut self, end: &mut Conclusion) {
        self.swap(end);
        self.answers.take_if(|held| *held == end.answers);
        self.not_covered.take_if(|held| *held == end.not_covered);
        self.conclusion.take_if(|held| end.conclusion.as_ref() == Some(held));
    }

    /// Exchanges all texts with those of the end, changed or not. A second call undoes the first.
    pub fn swap(&mut self, end: &mut Conclusion) {
        swap(&mut self.answers, &mut end.answers);
        swap(&mut self.not_covered, &mut end.not_covered);
        if let Some(text) = &mut end.conclusion {
            swap(&mut self.conclusion, text);
        }
    }
}

impl Amendment {
    /// Returns the name of the author for people.
    pub fn who(&self) -> Option<String> {
        self.caller.who(self.agent_id.as_deref())
    }

    /// An amendment that changes nothing yet.
    pub fn new(at: Timestamp, reason: impl Into<String>) -> Self {
        Amendment {
            at,
            agent_id: None,
            caller: Caller::default(),
            reason: reason.into(),
            title: None,
            headline: None,
            findings: None,
            evidence: None,
            alternatives_considered: None,
            caveats: None,
            commands: None,
            references: None,
        }
    }

    /// The names of the changed parts.
    pub fn parts(&self) -> impl Iterator<Item = &'static str> {
        let parts = [
            ("title", self.title.is_some()),
            ("headline", self.headline.is_some()),
            ("findings", self.findings.is_some()),
            ("evidence", self.evidence.is_some()),
            ("alternativesConsidered", self.alternatives_considered.is_some()),
            ("caveats", self.caveats.is_some()),
            ("commands", self.commands.is_some()),
            ("references", self.references.is_some()),
        ];
        parts.into_iter().filter(|(_, is_changed)| *is_changed).map(|(name, _)| name)
    }

    /// Exchanges its texts with those of a committed node. It then keeps the former texts, but only the ones that changed.
    pub fn exchange(&mut self, node: &mut Node) {
        self.swap(node);
        let Some(result) = &node.classification else { return };
        let is_text = |text: &Option<String>, held: &String| text.as_deref().unwrap_or_default() == held;
        self.title.take_if(|held| *held == node.title);
        self.headline.take_if(|held| is_text(&result.headline, held));
        self.findings.take_if(|held| *held == result.findings);
        self.evidence.take_if(|held| is_text(&result.evidence, held));
        self.alternatives_considered.take_if(|held| *held == result.alternatives_considered);
        self.caveats.take_if(|held| *held == result.caveats);
        self.commands.take_if(|held| *held == result.commands);
        self.references.take_if(|held| *held == result.references);
    }

    /// Exchanges all texts with those of the node, changed or not. A second call undoes the first.
    pub fn swap(&mut self, node: &mut Node) {
        let Some(result) = &mut node.classification else { return };
        swap(&mut self.title, &mut node.title);
        swap(&mut self.findings, &mut result.findings);
        swap(&mut self.alternatives_considered, &mut result.alternatives_considered);
        swap(&mut self.caveats, &mut result.caveats);
        swap(&mut self.commands, &mut result.commands);
        swap(&mut self.references, &mut result.references);
        for (held, there) in
            [(&mut self.headline, &mut result.headline), (&mut self.evidence, &mut result.evidence)]
        {
            if held.is_some() {
                let mut text = there.take().unwrap_or_default();
                swap(held, &mut text);
                *there = Some(text).filter(|text| !text.is_empty());
            }
        }
    }
}

fn swap<T>(held: &mut Option<T>, there: &mut T) {
    if let Some(held) = held {
        std::mem::swap(held, there);
    }
}

impl Caller {
    /// A person.
    pub fn of_person(name: impl Into<String>, email: Option<String>) -> Self {
        Caller { person: Some(Person { name: name.into(), email }), ..Caller::default() }
    }

    /// Returns the name of the caller for people: the agent of that name, or else the person.
    pub fn who(&self, agent: Option<&str>) -> Option<String> {
        let person = self.person.as_ref().map(|person| format!("{}, a person", person.name));
        agent.map(str::to_owned).or(person)
    }

    /// Whether nothing is known.
    pub fn is_unknown(&self) -> bool {
        Caller { disowned: None, ..self.clone() } == Caller::default()
    }

    /// Drops the person.
    pub fn disown(&mut self) {
        self.disowned = self.person.take().or(self.disowned.take());
    }
}

impl BoundAs {
    /// For people, before the answer.
    pub fn label(self) -> &'static str {
        match self {
            BoundAs::Main => "answer",
            BoundAs::Part => "part of the answer",
            BoundAs::Rival => "also possible",
        }
    }
}

impl LinkKind {
    /// All of them.
    pub const ALL: [LinkKind; 4] =
        [LinkKind::Supports, LinkKind::Contradicts, LinkKind::Duplicates, LinkKind::Depends];

    /// As it is written in files and calls, and read by people: `R3.A1 supports R2.B`.
    pub fn as_str(self) -> &'static str {
        match self {
            LinkKind::Supports => "supports",
            LinkKind::Contradicts => "contradicts",
            LinkKind::Duplicates => "duplicates",
            LinkKind::Depends => "depends",
        }
    }

    /// For people, before the other node: `R3.A1` _supports_ `R2.B`.
    pub fn label(self) -> &'static str {
        match self {
            LinkKind::Depends => "depends on",
            kind => kind.as_str(),
        }
    }

    /// Returns the verb as read from the other node: `R2.B` _is supported by_ `R3.A1`.
    pub fn inverse(self) -> &'static str {
        match self {
            LinkKind::Supports => "is supported by",
            LinkKind::Contradicts => "is contradicted by",
            LinkKind::Duplicates => "is duplicated by",
            LinkKind::Depends => "is needed by",
        }
    }
}

impl StopReason {
    /// For people, as the end of a sentence.
    pub fn label(self) -> &'static str {
        match self {
            StopReason::Budget => "the budget was spent",
            StopReason::Enough => "what was found is enough",
            StopReason::Stuck => "nothing led on",
        }
    }
}

impl PersonsAnswer {
    /// For people, as the beginning of a sentence.
    pub fn label(self) -> &'static str {
        match self {
            PersonsAnswer::Accepted => "accepted",
            PersonsAnswer::Declined => "declined",
            PersonsAnswer::Cancelled => "asked, and nobody chose",
            PersonsAnswer::Unanswered => "asked, and nobody answered in time",
            PersonsAnswer::NotOffered => "nobody was asked: the client has no way to",
        }
    }
}

impl Conclusion {
    /// Returns the name of its author for people.
    pub fn who(&self) -> Option<String> {
        self.caller.who(self.agent_id.as_deref())
    }

    /// The callers who have written a part of its file, each with the time of that part.
    pub fn written_by(&self) -> impl Iterator<Item = (Timestamp, &Caller)> {
        std::iter::once(self).chain(&self.other_conclusions).flat_map(|end| {
            let amended = end.amended.iter().map(|it| (it.at, &it.caller));
            std::iter::once((end.ended_at, &end.caller)).chain(amended)
        })
    }

    /// Visits the callers of [`Conclusion::written_by`], to change them.
    pub fn visit_callers(&mut self, mut visit: impl FnMut(Timestamp, &mut Caller)) {
        let mut of = |end: &mut Conclusion| {
            visit(end.ended_at, &mut end.caller);
            end.amended.iter_mut().for_each(|it| visit(it.at, &mut it.caller));
        };
        of(self);
        self.other_conclusions.iter_mut().for_each(of);
    }

    /// An end without any text.
    pub fn new(ended_at: Timestamp) -> Self {
        Conclusion {
            ended_at,
            agent_id: None,
            caller: Caller::default(),
            stopped: None,
            asked: None,
            concluded_at: None,
            conclusion: None,
            answers: Vec::new(),
            not_covered: Vec::new(),
            other_conclusions: Vec::new(),
            amended: Vec::new(),
        }
    }
}

impl Reclassification {
    /// A change of state without any text.
    pub fn new(from: StateName, to: StateName, at: Timestamp, by: Author) -> Self {
        Reclassification {
            from,
            to,
            at,
            by,
            caller: Caller::default(),
            reason: None,
            evidence: None,
            verification_method: None,
            alternatives_considered: Vec::new(),
            warnings: Vec::new(),
            settles: 0,
        }
    }
}

impl Node {
    /// A proposal with a title and no other text.
    pub fn new(id: NodeId, parent: Option<NodeId>, title: impl Into<String>, proposed_at: Timestamp) -> Self {
        Node {
            id,
            parent,
            title: title.into(),
            planned_action: String::new(),
            proposed_at,
            covers: Vec::new(),
            renamed_from: None,
            claim: None,
            classification: None,
        }
    }

    /// The name in lists: the headline, or else the title.
    pub fn name(&self) -> &str {
        let headline = self.classification.as_ref().and_then(|it| it.headline.as_deref());
        headline.unwrap_or(&self.title)
    }

    /// When it was last proposed, committed or given another state.
    pub fn last_research(&self) -> Timestamp {
        let result = self.classification.as_ref();
        let result = result.map(|result| result.current_since().max(result.committed_at));
        result.map_or(self.proposed_at, |at| at.max(self.proposed_at))
    }

    /// The round: the number in the id.
    pub fn round(&self) -> u32 {
        self.id.round()
    }

    /// The state in force; `None` while the node is a pending proposal.
    pub fn state(&self) -> Option<&StateName> {
        self.classification.as_ref().map(Classification::current_state)
    }

    /// Its own result, and then the others of the same proposal.
    pub fn results(&self) -> impl Iterator<Item = &Classification> {
        self.classification.iter().flat_map(|own| std::iter::once(own).chain(&own.other_results))
    }

    /// The files of the project that its results cite, each once, as they were then.
    pub fn pins(&self) -> impl Iterator<Item = &Pin> {
        let mut seen = HashSet::new();
        let pins =
            self.results().flat_map(|result| &result.references).filter_map(|cited| cited.pinned.as_ref());
        pins.filter(move |pin| seen.insert(*pin))
    }

    /// The callers who have written a part of its file, each with the time of that part.
    pub fn written_by(&self) -> impl Iterator<Item = (Timestamp, &Caller)> {
        self.results().flat_map(|result| {
            let changed = result.reclassified.iter().map(|it| (it.at, &it.caller));
            let amended = result.amended.iter().map(|it| (it.at, &it.caller));
            std::iter::once((result.committed_at, &result.caller)).chain(changed).chain(amended)
        })
    }

    /// Visits the callers of [`Node::written_by`], to change them.
    pub fn visit_callers(&mut self, mut visit: impl FnMut(Timestamp, &mut Caller)) {
        let mut of = |result: &mut Classification| {
            visit(result.committed_at, &mut result.caller);
            result.reclassified.iter_mut().for_each(|it| visit(it.at, &mut it.caller));
            result.amended.iter_mut().for_each(|it| visit(it.at, &mut it.caller));
        };
        if let Some(own) = &mut self.classification {
            of(own);
            own.other_results.iter_mut().for_each(of);
        }
    }

    /// Whether it is proposed and not yet committed.
    pub fn is_pending(&self) -> bool {
        self.classification.is_none()
    }
}

impl Reclassification {
    /// Its texts, those of its warnings among them.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let own = [&self.reason, &self.evidence, &self.verification_method].into_iter().flatten();
        let warnings = self.warnings.iter().map(|warning| &warning.message);
        own.chain(&self.alternatives_considered).chain(warnings).map(String::as_str)
    }
}

impl Classification {
    /// Returns the name of its author for people.
    pub fn who(&self) -> Option<String> {
        self.caller.who(self.agent_id.as_deref())
    }

    /// A result of a state and findings alone.
    pub fn new(state: StateName, findings: impl Into<String>, committed_at: Timestamp) -> Self {
        Classification {
            state,
            requested_state: None,
            refutes: false,
            agent_id: None,
            caller: Caller::default(),
            started_at: None,
            committed_at,
            headline: None,
            findings: findings.into(),
            evidence: None,
            verification_method: None,
            alternatives_considered: Vec::new(),
            caveats: Vec::new(),
            commands: Vec::new(),
            runs: Vec::new(),
            references: Vec::new(),
            links: Vec::new(),
            warnings: Vec::new(),
            reclassified: Vec::new(),
            amended: Vec::new(),
            other_results: Vec::new(),
        }
    }

    /// Whether another result of the same proposal has another state, and no change of state has decided between them.
    pub fn is_contested(&self) -> bool {
        let decided = self.reclassified.iter().map(|change| change.settles).max().unwrap_or(0);
        self.other_results.len() > decided
            && self.other_results.iter().any(|other| other.current_state() != self.current_state())
    }

    /// The state in force: the last change's, or the committed one.
    pub fn current_state(&self) -> &StateName {
        self.reclassified.last().map_or(&self.state, |change| &change.to)
    }

    /// The result that was committed last: this one, or the last other one.
    pub fn newest(&self) -> &Classification {
        self.other_results.last().unwrap_or(self)
    }

    /// Returns the newest result for changes.
    pub fn newest_mut(&mut self) -> &mut Classification {
        match self.other_results.len().checked_sub(1) {
            Some(last) => &mut self.other_results[last],
            None => self,
        }
    }

    /// When the state in force was set.
    pub fn current_since(&self) -> Timestamp {
        self.reclassified.last().map_or(self.committed_at, |change| change.at)
    }

    /// The child that caused the state in force, if one did.
    pub fn promoted_by(&self) -> Option<&NodeId> {
        self.reclassified.last()?.by.child()
    }

    /// All warnings, of the commit and of later changes, oldest first.
    pub fn all_warnings(&self) -> impl Iterator<Item = &Warning> {
        self.warnings.iter().chain(self.reclassified.iter().flat_map(|change| &change.warnings))
    }

    /// Every agent who put its name to this node.
    pub fn agents(&self) -> impl Iterator<Item = &str> {
        self.callers().filter_map(|(agent, _)| agent)
    }

    /// Every person who put a name to this node.
    pub fn people(&self) -> impl Iterator<Item = &Person> {
        self.callers().filter(|(agent, _)| agent.is_none()).filter_map(|(_, caller)| caller.person.as_ref())
    }

    /// The callers that gave the node its states, oldest first.
    fn callers(&self) -> impl Iterator<Item = (Option<&str>, &Caller)> {
        let later = self.reclassified.iter().map(|change| (change.by.agent(), &change.caller));
        std::iter::once((self.agent_id.as_deref(), &self.caller)).chain(later)
    }
}

/// The name of a client without its version: `claude-code` of `claude-code/2.1.154`.
pub fn program_of(client: &str) -> &str {
    client.split_once('/').map_or(client, |(program, _)| program)
}

/// Whether a text says nothing of what was done or found: it is blank, a single short word such as "ok", or what stands in
/// for a text that is still to be written.
pub fn says_nothing(text: &str) -> bool {
    /// Longer than this, a word is a path or an address.
    const WORD: usize = 15;
    /// Longer than this, it is a sentence in a script without spaces.
    const IDEOGRAPHS: usize = 4;
    let text = text.trim();
    let is_left_open = text.starts_with('<') && text.ends_with('>') && !text.contains(['\n', '/']);
    let mut words = text.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric));
    let first = words.next().unwrap_or_default();
    let ideographs = first.chars().filter(|c| is_without_spaces(*c)).count();
    is_left_open || (words.next().is_none() && first.chars().count() <= WORD && ideographs <= IDEOGRAPHS)
}

/// Whether the sign is of a script that has no spaces between words: Thai and Lao, Burmese, Khmer, Japanese, Chinese.
fn is_without_spaces(sign: char) -> bool {
    matches!(
        sign,
        '\u{e00}'..='\u{eff}'
            | '\u{1000}'..='\u{109f}'
            | '\u{1780}'..='\u{17ff}'
            | '\u{3040}'..='\u{30ff}'
            | '\u{3400}'..='\u{9fff}'
            | '\u{20000}'..='\u{3ffff}'
    )
}
