//! Nodes: the proposal, its result, and every later change.
//!
//! # Adding a stored field of a node
//!
//! Follow an existing field such as `verification_method`:
//!
//! 1. `src/core/domain/node.rs`: add the field to [`Classification`], with its form in the file, and visit it in
//!    `visit_texts`, which withheld nodes and `tot check` depend on. If state changes have it too, do the same in
//!    [`Reclassification`].
//! 2. `src/core/decide/commit.rs`: accept and validate it, in `NewVerification` if state changes have it too.
//! 3. `src/core/fields.rs`: add its heading. Resources, pages, search, history and comparisons get it from there.
//!    `investigation.json` and `tot_read` serialize the type itself.
//! 4. `tests/it/fuzz/committed.yaml`: add it to the initial file for fuzzing.
//!
//! To let people give it with `tot amend --state`, also add an option to that command.

use std::collections::HashSet;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Caller, Citation, ClaimHash, Code, CommentId, NodeId, Person, Pin, RunId, StateName, Timestamp, stored,
};

/// A node. Without a classification, it is a pending proposal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Node {
    /// The id, which contains the round.
    pub id: NodeId,
    /// The parent; absent for a root.
    pub parent: Option<NodeId>,
    /// The title, on one line.
    pub title: String,
    /// The agent's planned action.
    pub planned_action: String,
    /// The time at which the node was most recently proposed.
    pub proposed_at: Timestamp,
    /// The values of what varies that the node covers, as its proposal gave them: `engine=gix`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub covers: Vec<String>,
    /// The earlier proposals with the same short id, which its author withdrew or proposed again.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replaces: Vec<NodeId>,
    /// The claim on a pending proposal, if an agent made one.
    pub claim: Option<Claim>,
    /// The withdrawal of the proposal, if it was withdrawn. A node with a result counts as not withdrawn.
    pub withdrawn: Option<Withdrawal>,
    /// The result and its later changes; absent while the node is pending.
    #[serde(flatten)]
    pub classification: Option<Classification>,
}

/// An agent's claim on a pending proposal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Claim {
    /// The time of the claim.
    pub at: Timestamp,
    /// The agent that made the claim.
    pub agent_id: String,
    /// The time at which the claim expires.
    pub until: Timestamp,
    /// The number of expired claims that this claim and its predecessors replaced.
    #[serde(default, skip_serializing_if = "stored::is_zero")]
    pub earlier: usize,
}

/// The withdrawal of a proposal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Withdrawal {
    /// The time of the withdrawal.
    pub at: Timestamp,
    /// The client that withdrew the proposal.
    #[serde(rename = "by", default, skip_serializing_if = "Caller::is_absent")]
    pub caller: Caller,
}

impl fmt::Display for Withdrawal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.caller.who(None) {
            Some(who) => write!(f, "withdrawn by {who}"),
            None => f.write_str("withdrawn"),
        }
    }
}

impl Claim {
    /// Returns whether the claim is still valid and was made by another agent. An unnamed agent counts as another
    /// agent.
    pub fn is_of_other(&self, agent: Option<&str>, now: Timestamp) -> bool {
        now < self.until && agent != Some(self.agent_id.as_str())
    }
}

/// A result committed for a node, with its later changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Classification {
    /// The state stored by the commit. Entries in `reclassified` change it.
    pub state: StateName,
    /// The state that the agent requested, if a rule replaced it with another state.
    pub requested_state: Option<StateName>,
    /// True if the result refutes the parent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub refutes: bool,
    /// The parent's claim as the author saw it, if the state may confirm it.
    pub saw: Option<ClaimHash>,
    /// The agent that did the research.
    pub agent_id: Option<String>,
    /// The client that sent the result.
    #[serde(rename = "by", default, skip_serializing_if = "Caller::is_absent")]
    pub caller: Caller,
    /// The time at which the research started, as reported by the agent. It may precede the proposal.
    pub started_at: Option<Timestamp>,
    /// The time of the commit.
    pub committed_at: Timestamp,
    /// The finding in one sentence. The title was written before the research.
    pub headline: Option<String>,
    /// The findings in Markdown, as written.
    pub findings: String,
    /// The evidence for the findings.
    pub evidence: Option<String>,
    /// The author's verification method.
    pub verification_method: Option<String>,
    /// The alternatives that the agent considered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alternatives_considered: Vec<String>,
    /// The limitations of the research, one sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub caveats: Vec<String>,
    /// The commands that the agent ran.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<Command>,
    /// The runs cited as evidence, in addition to runs made for the node itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<RunId>,
    /// The sources, including those recognized in the text fields.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<Citation>,
    /// Links to nodes elsewhere in the tree.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
    /// The warnings issued for the commit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    /// All later state changes, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reclassified: Vec<Reclassification>,
    /// All later text changes, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub amended: Vec<Amendment>,
    /// Other results for the same proposal, oldest first. They come from a merge or were committed late, after another
    /// agent had claimed the proposal. They have no other results themselves.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "stored::other_results")]
    pub other_results: Vec<Classification>,
}

/// A command that the agent ran for a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Command {
    /// The command as typed.
    pub command: String,
    /// The exit status.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The output, or the relevant part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<String>,
}

/// A link to a node other than the parent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Link {
    /// The other node.
    pub to: NodeId,
    /// The kind of link.
    pub kind: LinkKind,
    /// The other node's claim as the author saw it, if the result depends on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub saw: Option<ClaimHash>,
    /// The other node's state at that time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<StateName>,
}

/// The kind of link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum LinkKind {
    /// The node supports the linked node.
    Supports,
    /// The two nodes contradict each other.
    Contradicts,
    /// The node duplicates the linked node.
    Duplicates,
    /// The node depends on the linked node.
    Depends,
}

/// A change to a node's text after the commit. It stores the previous text of each changed field, or an empty string if
/// there was none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Amendment {
    /// The time of the amendment.
    pub at: Timestamp,
    /// The agent that amended the node.
    pub agent_id: Option<String>,
    /// The client that sent the amendment.
    #[serde(rename = "by", default, skip_serializing_if = "Caller::is_absent")]
    pub caller: Caller,
    /// The reason.
    pub reason: String,
    /// The correction that the amendment accepts.
    pub correction: Option<CommentId>,
    /// The previous title.
    pub title: Option<String>,
    /// The previous headline.
    pub headline: Option<String>,
    /// The previous findings.
    pub findings: Option<String>,
    /// The previous evidence.
    pub evidence: Option<String>,
    /// The previous alternatives.
    pub alternatives_considered: Option<Vec<String>>,
    /// The previous limitations of the research.
    pub caveats: Option<Vec<String>>,
    /// The previous commands.
    pub commands: Option<Vec<Command>>,
    /// The previous sources.
    pub references: Option<Vec<Citation>>,
}

/// A warning stored with a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Warning {
    /// The kind of warning.
    #[schemars(with = "String")]
    pub code: Code,
    /// The message, in one sentence.
    pub message: String,
}

/// A text field of a node, its results or their later changes. Absent strings are not visited.
#[derive(Debug)]
pub enum NodeText<'a> {
    /// The title.
    Title(&'a mut String),
    /// Any other string.
    One(&'a mut String),
    /// The values that the node covers.
    Covers(&'a mut Vec<String>),
    /// A list of strings.
    List(&'a mut Vec<String>),
    /// The limitations of the research.
    Caveats(&'a mut Vec<String>),
    /// The commands, with their output.
    Commands(&'a mut Vec<Command>),
    /// The sources.
    Citations(&'a mut Vec<Citation>),
    /// The warnings, which are worded by the rules.
    Warnings(&'a mut Vec<Warning>),
}

/// The author of a state change. In a file, a string is a child.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected the id of a child or a caller")]
pub enum Author {
    /// A child whose state confirmed or refuted the node.
    Child(NodeId),
    /// The client that sent the change.
    Caller(Caller),
}

/// A change to a node's state after the commit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Reclassification {
    /// The previous state.
    pub from: StateName,
    /// The new state.
    pub to: StateName,
    /// The time of the change.
    pub at: Timestamp,
    /// The agent that requested the change.
    pub agent_id: Option<String>,
    /// The child that caused the change or, without one, the client that sent it.
    #[serde(default, skip_serializing_if = "Author::is_absent")]
    pub by: Author,
    /// The reason, in the agent's words.
    pub reason: Option<String>,
    /// The evidence for the change.
    pub evidence: Option<String>,
    /// The author's verification method.
    pub verification_method: Option<String>,
    /// The alternatives that the agent considered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alternatives_considered: Vec<String>,
    /// The warnings issued for the state change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    /// The parent's claim as the author saw it, if the new state may confirm it.
    pub saw: Option<ClaimHash>,
    /// The links of the kind `depends`, as the author saw the other nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
    /// The number of other results when the state was changed. The change decides between these results.
    #[serde(default, skip_serializing_if = "stored::is_zero")]
    pub settles: usize,
}

impl Warning {
    /// Formats the warning as `CODE: message`.
    pub fn line(&self) -> String {
        format!("{}: {}", self.code, self.message)
    }
}

impl Default for Author {
    fn default() -> Self {
        Author::Caller(Caller::default())
    }
}

impl Author {
    fn is_absent(&self) -> bool {
        *self == Author::default()
    }
}

impl Reclassification {
    /// Returns the author for display: the agent, the child or the person.
    pub fn who(&self) -> Option<String> {
        self.child().map(ToString::to_string).or_else(|| self.caller()?.who(self.agent()))
    }

    /// Returns the child, if a child caused the change.
    pub fn child(&self) -> Option<&NodeId> {
        match &self.by {
            Author::Child(child) => Some(child),
            Author::Caller(_) => None,
        }
    }

    /// Returns the caller, unless a child caused the change.
    pub fn caller(&self) -> Option<&Caller> {
        match &self.by {
            Author::Child(_) => None,
            Author::Caller(caller) => Some(caller),
        }
    }

    /// Returns the agent, if an agent caused the change.
    pub fn agent(&self) -> Option<&str> {
        self.agent_id.as_deref().filter(|_| self.child().is_none())
    }
}

impl Amendment {
    /// Returns the author for display.
    pub fn who(&self) -> Option<String> {
        self.caller.who(self.agent_id.as_deref())
    }

    /// Creates an amendment without changes.
    pub fn new(at: Timestamp, reason: impl Into<String>) -> Self {
        Amendment { at, reason: reason.into(), ..Amendment::default() }
    }

    /// Returns the keys of the changed parts.
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

    /// Swaps the text with that of a committed node. Afterwards, the amendment contains only the previous text of the
    /// changed parts.
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

    /// Swaps all text with the node's, whether changed or not. A second call restores both.
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

pub(super) fn swap<T>(held: &mut Option<T>, there: &mut T) {
    if let Some(held) = held {
        std::mem::swap(held, there);
    }
}

impl Link {
    /// Creates a link that does not say what its author saw.
    pub fn new(to: NodeId, kind: LinkKind) -> Self {
        Link { to, kind, saw: None, state: None }
    }
}

impl LinkKind {
    /// All link kinds.
    pub const ALL: [LinkKind; 4] =
        [LinkKind::Supports, LinkKind::Contradicts, LinkKind::Duplicates, LinkKind::Depends];

    /// Returns the name used in files and calls.
    pub fn as_str(self) -> &'static str {
        match self {
            LinkKind::Supports => "supports",
            LinkKind::Contradicts => "contradicts",
            LinkKind::Duplicates => "duplicates",
            LinkKind::Depends => "depends",
        }
    }

    /// Returns the label shown before the other node, as in "`R3.A1` _supports_ `R2.B`".
    pub fn label(self) -> &'static str {
        match self {
            LinkKind::Depends => "depends on",
            kind => kind.as_str(),
        }
    }

    /// Returns the label shown on the other node's side, as in "`R2.B` _is supported by_ `R3.A1`".
    pub fn inverse(self) -> &'static str {
        match self {
            LinkKind::Supports => "is supported by",
            LinkKind::Contradicts => "is contradicted by",
            LinkKind::Duplicates => "is duplicated by",
            LinkKind::Depends => "is needed by",
        }
    }
}

impl Reclassification {
    /// Creates a state change without any text.
    pub fn new(from: StateName, to: StateName, at: Timestamp) -> Self {
        Reclassification { from, to, at, ..Reclassification::default() }
    }
}

impl Node {
    /// Creates a proposal with only a title.
    pub fn new(id: NodeId, parent: Option<NodeId>, title: impl Into<String>, proposed_at: Timestamp) -> Self {
        Node {
            id,
            parent,
            title: title.into(),
            planned_action: String::new(),
            proposed_at,
            covers: Vec::new(),
            replaces: Vec::new(),
            claim: None,
            withdrawn: None,
            classification: None,
        }
    }

    /// Returns whether the proposal was withdrawn and has no result.
    pub fn is_withdrawn(&self) -> bool {
        self.withdrawn.is_some() && self.is_pending()
    }

    /// Returns the headline, or the title if there is none.
    pub fn name(&self) -> &str {
        let headline = self.classification.as_ref().and_then(|it| it.headline.as_deref());
        headline.unwrap_or(&self.title)
    }

    /// Returns the time of the last proposal, commit or state change.
    pub fn last_research(&self) -> Timestamp {
        let result = self.classification.as_ref();
        let result = result.map(|result| result.current_since().max(result.committed_at));
        result.map_or(self.proposed_at, |at| at.max(self.proposed_at))
    }

    /// Returns the round, which is part of the id.
    pub fn round(&self) -> u32 {
        self.id.round()
    }

    /// Returns the current state; `None` while the node is pending.
    pub fn state(&self) -> Option<&StateName> {
        self.classification.as_ref().map(Classification::current_state)
    }

    /// Returns the node's own result and the other results for the same proposal.
    pub fn results(&self) -> impl Iterator<Item = &Classification> {
        self.classification.iter().flat_map(|own| std::iter::once(own).chain(&own.other_results))
    }

    /// Returns the recorded states of the project files that the results cite, without duplicates.
    pub fn pins(&self) -> impl Iterator<Item = &Pin> {
        let mut seen = HashSet::new();
        let pins =
            self.results().flat_map(|result| &result.references).filter_map(|cited| cited.pinned.as_ref());
        pins.filter(move |pin| seen.insert(*pin))
    }

    /// Returns the callers that wrote a part of the file, each with the time at which that part was written.
    pub fn written_by(&self) -> impl Iterator<Item = (Timestamp, &Caller)> {
        self.results().flat_map(|result| {
            let changed = result.reclassified.iter().filter_map(|it| Some((it.at, it.caller()?)));
            let amended = result.amended.iter().map(|it| (it.at, &it.caller));
            std::iter::once((result.committed_at, &result.caller)).chain(changed).chain(amended)
        })
    }

    /// Calls `visit` with a mutable reference to each caller in [`Node::written_by`].
    pub fn visit_callers(&mut self, mut visit: impl FnMut(Timestamp, &mut Caller)) {
        let mut of = |result: &mut Classification| {
            visit(result.committed_at, &mut result.caller);
            for change in &mut result.reclassified {
                if let Author::Caller(caller) = &mut change.by {
                    visit(change.at, caller);
                }
            }
            result.amended.iter_mut().for_each(|it| visit(it.at, &mut it.caller));
        };
        if let Some(own) = &mut self.classification {
            of(own);
            own.other_results.iter_mut().for_each(of);
        }
    }

    /// Calls `visit` with each claim of another node that an author saw: of the parent, with the agent and the caller who
    /// gave the state, or of a node that a link names.
    pub fn visit_seen(
        &mut self,
        mut visit: impl FnMut(&NodeId, Option<(Option<&str>, &Caller)>, &mut ClaimHash),
    ) {
        let Node { parent, classification: Some(own), .. } = self else { return };
        let mut of = |result: &mut Classification| {
            let mut of_parent = |by: Option<(Option<&str>, &Caller)>, saw: &mut Option<ClaimHash>| {
                parent.iter().zip(saw).for_each(|(parent, saw)| visit(parent, by, saw));
            };
            for Reclassification { agent_id, by, saw, .. } in &mut result.reclassified {
                let caller = if let Author::Caller(caller) = by { Some(&*caller) } else { None };
                of_parent(caller.map(|caller| (agent_id.as_deref(), caller)), saw);
            }
            of_parent(Some((result.agent_id.as_deref(), &result.caller)), &mut result.saw);
            let again = result.reclassified.iter_mut().flat_map(|change| &mut change.links);
            for Link { to, saw, .. } in result.links.iter_mut().chain(again) {
                saw.iter_mut().for_each(|saw| visit(to, None, saw));
            }
        };
        of(own);
        own.other_results.iter_mut().for_each(of);
    }

    /// Calls `visit` with the id of the node and of each node that it names.
    pub fn visit_ids(&mut self, visit: &mut impl FnMut(&mut NodeId)) {
        visit(&mut self.id);
        self.parent.iter_mut().chain(&mut self.replaces).for_each(&mut *visit);
        let Some(own) = &mut self.classification else { return };
        let mut of = |result: &mut Classification| {
            result.links.iter_mut().for_each(|link| visit(&mut link.to));
            for change in &mut result.reclassified {
                change.links.iter_mut().for_each(|link| visit(&mut link.to));
                if let Author::Child(child) = &mut change.by {
                    visit(child);
                }
            }
        };
        of(own);
        own.other_results.iter_mut().for_each(of);
    }

    /// Returns whether the node is proposed but not committed.
    pub fn is_pending(&self) -> bool {
        self.classification.is_none()
    }
}

// Each function names every field of its type, so that a new one can't be forgotten.
impl Node {
    /// Calls `visit` with each text of the proposal, its results and their later changes. Readers visit a clone.
    pub fn visit_texts(&mut self, visit: &mut impl FnMut(NodeText<'_>)) {
        let Node {
            id: _,
            parent: _,
            title,
            planned_action,
            proposed_at: _,
            covers,
            replaces: _,
            claim: _,
            withdrawn: _,
            classification,
        } = self;
        visit(NodeText::Title(title));
        visit(NodeText::One(planned_action));
        visit(NodeText::Covers(covers));
        classification.iter_mut().for_each(|result| result.visit_texts(visit));
    }
}

impl Classification {
    fn visit_texts(&mut self, visit: &mut impl FnMut(NodeText<'_>)) {
        let Classification {
            state: _,
            requested_state: _,
            refutes: _,
            saw: _,
            agent_id: _,
            caller: _,
            started_at: _,
            committed_at: _,
            headline,
            findings,
            evidence,
            verification_method,
            alternatives_considered,
            caveats,
            commands,
            runs: _,
            references,
            links: _,
            warnings,
            reclassified,
            amended,
            other_results,
        } = self;
        visit(NodeText::One(findings));
        let texts = [headline, evidence, verification_method].into_iter().flatten();
        texts.for_each(|text| visit(NodeText::One(text)));
        visit(NodeText::List(alternatives_considered));
        visit(NodeText::Caveats(caveats));
        visit(NodeText::Commands(commands));
        visit(NodeText::Citations(references));
        visit(NodeText::Warnings(warnings));
        reclassified.iter_mut().for_each(|change| change.visit_texts(visit));
        amended.iter_mut().for_each(|amendment| amendment.visit_texts(visit));
        other_results.iter_mut().for_each(|other| other.visit_texts(visit));
    }
}

impl Reclassification {
    /// Calls `visit` with each text of the change.
    pub fn visit_texts(&mut self, visit: &mut impl FnMut(NodeText<'_>)) {
        let Reclassification {
            from: _,
            to: _,
            at: _,
            agent_id: _,
            by: _,
            reason,
            evidence,
            verification_method,
            alternatives_considered,
            warnings,
            saw: _,
            links: _,
            settles: _,
        } = self;
        let texts = [reason, evidence, verification_method].into_iter().flatten();
        texts.for_each(|text| visit(NodeText::One(text)));
        visit(NodeText::List(alternatives_considered));
        visit(NodeText::Warnings(warnings));
    }
}

impl Amendment {
    /// Calls `visit` with the reason and each previous text.
    pub fn visit_texts(&mut self, visit: &mut impl FnMut(NodeText<'_>)) {
        let Amendment {
            at: _,
            agent_id: _,
            caller: _,
            reason,
            correction: _,
            title,
            headline,
            findings,
            evidence,
            alternatives_considered,
            caveats,
            commands,
            references,
        } = self;
        visit(NodeText::One(reason));
        let texts = [title, headline, findings, evidence].into_iter().flatten();
        texts.for_each(|text| visit(NodeText::One(text)));
        alternatives_considered.iter_mut().for_each(|list| visit(NodeText::List(list)));
        caveats.iter_mut().for_each(|list| visit(NodeText::Caveats(list)));
        commands.iter_mut().for_each(|list| visit(NodeText::Commands(list)));
        references.iter_mut().for_each(|list| visit(NodeText::Citations(list)));
    }
}

impl Classification {
    /// Returns the author for display.
    pub fn who(&self) -> Option<String> {
        self.caller.who(self.agent_id.as_deref())
    }

    /// Creates a result with only a state and findings.
    pub fn new(state: StateName, findings: impl Into<String>, committed_at: Timestamp) -> Self {
        Classification { state, findings: findings.into(), committed_at, ..Classification::default() }
    }

    /// Returns whether the proposal has another result with a different state and no state change has decided between
    /// the results. An author of one of them does not decide.
    pub fn is_contested(&self) -> bool {
        let results = || std::iter::once(self).chain(&self.other_results);
        let is_by_author = |change: &Reclassification, result: &Classification| {
            let Some(caller) = change.caller() else { return false };
            let is_unnamed = change.agent().is_none() && caller.person.is_none();
            Caller::is_same_author((change.agent(), caller), (result.agent_id.as_deref(), &result.caller))
                || (is_unnamed && caller.session.is_some() && caller.session == result.caller.session)
        };
        let decides = |change: &&Reclassification| {
            change.settles > 0 && !results().any(|result| is_by_author(change, result))
        };
        let last = self.reclassified.iter().rev().find(decides);
        let (since, decided) = last.map_or((None, 0), |change| (Some(change.at), change.settles));
        let (before, after): (Vec<_>, Vec<_>) = self
            .other_results
            .iter()
            .partition(|other| since.is_some_and(|since| other.committed_at <= since));
        // More results than the change decided between: a merge brought an earlier one.
        let before = if before.len() > decided { before } else { Vec::new() };
        // A child that confirms one of two equal results does not set them against each other.
        let differs = |other: &&Classification| {
            other.current_state() != self.current_state() && other.stated() != self.stated()
        };
        after.iter().chain(&before).any(differs)
    }

    /// Returns the last state that was set by an author, not by a child.
    fn stated(&self) -> &StateName {
        self.last_given().map_or(&self.state, |change| &change.to)
    }

    /// Returns the last state change by an author, not by a child.
    pub fn last_given(&self) -> Option<&Reclassification> {
        self.reclassified.iter().rev().find(|change| change.child().is_none())
    }

    /// Returns the links of the kind `depends`, as the author of the state saw the other nodes.
    pub fn depends(&self) -> impl Iterator<Item = &Link> {
        let again = self.last_given().map(|change| &change.links).filter(|links| !links.is_empty());
        again.unwrap_or(&self.links).iter().filter(|link| link.kind == LinkKind::Depends)
    }

    /// Returns the parent's claim as the author of the state saw it, if it is stored.
    pub fn saw(&self) -> Option<ClaimHash> {
        self.last_given().map_or(self.saw, |change| change.saw)
    }

    /// Returns the current state, which is set by the last state change or, if the state never changed, by the commit.
    pub fn current_state(&self) -> &StateName {
        self.reclassified.last().map_or(&self.state, |change| &change.to)
    }

    /// Returns all states that it has had.
    pub fn states(&self) -> impl Iterator<Item = &StateName> {
        std::iter::once(&self.state).chain(self.reclassified.iter().map(|change| &change.to))
    }

    /// Returns the most recently committed result: the last of the other results or, without any, this one.
    pub fn newest(&self) -> &Classification {
        self.other_results.last().unwrap_or(self)
    }

    /// Returns a mutable reference to the newest result.
    pub fn newest_mut(&mut self) -> &mut Classification {
        match self.other_results.len().checked_sub(1) {
            Some(last) => &mut self.other_results[last],
            None => self,
        }
    }

    /// Returns the time at which the current state was set.
    pub fn current_since(&self) -> Timestamp {
        self.reclassified.last().map_or(self.committed_at, |change| change.at)
    }

    /// Returns the child that caused the current state, if any.
    pub fn promoted_by(&self) -> Option<&NodeId> {
        self.reclassified.last()?.child()
    }

    /// Returns all warnings issued for the commit and for later changes, oldest first.
    pub fn all_warnings(&self) -> impl Iterator<Item = &Warning> {
        self.warnings.iter().chain(self.reclassified.iter().flat_map(|change| &change.warnings))
    }

    /// Returns the agents that have set this node's state.
    pub fn agents(&self) -> impl Iterator<Item = &str> {
        self.callers().filter_map(|(agent, _)| agent)
    }

    /// Returns the people who have set this node's state.
    pub fn people(&self) -> impl Iterator<Item = &Person> {
        self.callers().filter(|(agent, _)| agent.is_none()).filter_map(|(_, caller)| caller.person.as_ref())
    }

    /// Returns the callers that have set this node's state, oldest first.
    fn callers(&self) -> impl Iterator<Item = (Option<&str>, &Caller)> {
        let later = self.reclassified.iter().filter_map(|change| Some((change.agent(), change.caller()?)));
        std::iter::once((self.agent_id.as_deref(), &self.caller)).chain(later)
    }
}

/// Returns whether the text is blank, a single short word such as "ok", or a placeholder such as `<findings>`.
pub fn says_nothing(text: &str) -> bool {
    /// The maximum length of a word. Longer words are paths or URLs.
    const WORD: usize = 15;
    /// The maximum length of a word in a script without spaces. Longer words are sentences.
    const IDEOGRAPHS: usize = 4;
    let text = text.trim();
    let is_left_open = text.starts_with('<') && text.ends_with('>') && !text.contains(['\n', '/']);
    let mut words = text.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric));
    let first = words.next().unwrap_or_default();
    let ideographs = first.chars().filter(|c| is_without_spaces(*c)).count();
    is_left_open || (words.next().is_none() && first.chars().count() <= WORD && ideographs <= IDEOGRAPHS)
}

/// Returns whether the character belongs to a script without spaces between words: Thai, Lao, Burmese, Khmer, Japanese
/// or Chinese.
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
