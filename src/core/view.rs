//! The read model of a node: all stored facts, under the names used for programs and people.
//!
//! `investigation.json` and `tot_read` serialize a [`NodeView`] as JSON. The node's resource and its page use its text
//! and headings, and comparisons use its [`NodeField`]s. [`node`](crate::domain::node) says how to add a stored field.
//!
//! Pure. The view is complete. [`shorten`] creates a short form of its JSON.

use std::borrow::Cow;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

use crate::domain::{
    AmendedConclusion, Amendment, Asked, Author, BoundAnswer, Caller, Citation, Claim, Classification,
    Command, Investigation, Link, NamedIn, Node, NodeId, PersonsAnswer, Pin, Reclassification, RunId,
    StateName, Warning,
};
use crate::ruleset::{EffectiveRules, Role};
use crate::text;

/// All facts about a node. Absent values are `null` in JSON. Times have the same form as in files.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeView<'a> {
    /// The id.
    pub id: &'a NodeId,
    /// The parent; `None` for a root.
    pub parent: Option<&'a NodeId>,
    /// The children.
    pub children: Vec<&'a NodeId>,
    /// The round.
    pub round: u32,
    /// The title, on one line.
    pub title: Cow<'a, str>,
    /// The current state; `None` while the node is pending.
    pub state: Option<&'a StateName>,
    /// The role of the current state in the ruleset; `None` if the ruleset is unreadable.
    pub role: Option<Role>,
    /// The agent's planned action.
    pub planned_action: Cow<'a, str>,
    /// The time of the proposal.
    pub proposed_at: String,
    /// The ruleset dimension values that the node covers, in the form `engine=gix`.
    pub covers: &'a [String],
    /// The id under which the node was proposed, if a merge assigned a different id.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renamed_from: Option<&'a NodeId>,
    /// The claim on a pending proposal, if an agent made one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim: Option<ClaimView<'a>>,
    /// `true` if the node's results have different states and nobody has decided between them, otherwise absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contested: Option<bool>,
    /// The state stored by the commit.
    pub committed_as: Option<&'a StateName>,
    /// The state that the agent requested, if a rule replaced it with another state.
    pub requested_state: Option<&'a StateName>,
    /// `true` if the result refutes the parent, otherwise `null`.
    pub refutes: Option<bool>,
    /// The agent that did the research.
    pub agent_id: Option<Cow<'a, str>>,
    /// The client that sent the result, as reported by the client itself.
    pub by: Option<Caller>,
    /// The start of the research, as reported by the agent.
    pub started_at: Option<String>,
    /// The time of the commit.
    pub committed_at: Option<String>,
    /// The finding in one sentence.
    pub headline: Option<Cow<'a, str>>,
    /// The findings in Markdown.
    pub findings: Option<Cow<'a, str>>,
    /// The fields that support the findings.
    #[serde(flatten)]
    pub texts: BackingTexts<'a>,
    /// The commands that the agent ran.
    pub commands: &'a [Command],
    /// The runs cited as evidence.
    #[serde(skip_serializing_if = "<[RunId]>::is_empty")]
    pub runs: &'a [RunId],
    /// The sources, including those recognized in the text fields.
    pub references: &'a [Citation],
    /// Links to nodes elsewhere in the tree.
    pub links: &'a [Link],
    /// The warnings issued for the commit.
    pub warnings: &'a [Warning],
    /// All later state changes, oldest first.
    pub reclassified: Vec<ChangeView<'a>>,
    /// All later text changes, oldest first.
    pub amended: Vec<AmendmentView<'a>>,
    /// Other results for the same proposal, from a merge or committed late.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub other_results: Vec<OtherResult<'a>>,
}

/// An agent's claim on a pending proposal.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClaimView<'a> {
    /// The agent that made the claim.
    pub agent_id: Cow<'a, str>,
    /// The time of the claim.
    pub at: String,
    /// The time at which the claim expires.
    pub until: String,
}

/// Another result for the node. Its JSON omits absent fields and the fields of the proposal.
#[derive(Clone, Debug)]
pub struct OtherResult<'a>(pub Box<NodeView<'a>>);

impl Serialize for OtherResult<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        /// The fields of the proposal, and those derived from the node's place in the tree.
        const PROPOSAL: &[&str] = &[
            "id",
            "parent",
            "children",
            "round",
            "title",
            "role",
            "plannedAction",
            "proposedAt",
            "covers",
            "renamedFrom",
        ];
        let mut value = serde_json::to_value(&*self.0).map_err(serde::ser::Error::custom)?;
        if let Some(fields) = value.as_object_mut() {
            let is_empty =
                |value: &serde_json::Value| value.is_null() || value.as_array().is_some_and(Vec::is_empty);
            fields.retain(|name, value| !PROPOSAL.contains(&name.as_str()) && !is_empty(value));
        }
        value.serialize(serializer)
    }
}

/// A change to a node's text, with the previous text of each changed field: an empty string if there was none.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AmendmentView<'a> {
    /// The time of the amendment.
    pub at: String,
    /// The agent that amended the node.
    pub agent_id: Option<Cow<'a, str>>,
    /// The client that sent the amendment.
    pub by: Option<Caller>,
    /// The reason.
    pub reason: Cow<'a, str>,
    /// The previous title.
    pub title: Option<Cow<'a, str>>,
    /// The previous headline.
    pub headline: Option<Cow<'a, str>>,
    /// The previous findings in Markdown.
    pub findings: Option<Cow<'a, str>>,
    /// The previous evidence.
    pub evidence: Option<Cow<'a, str>>,
    /// The previous alternatives.
    pub alternatives_considered: Option<Vec<String>>,
    /// The previous limitations of the research.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caveats: Option<Vec<String>>,
    /// The previous commands.
    pub commands: Option<Vec<Command>>,
    /// The previous sources.
    pub references: Option<Vec<Citation>>,
}

/// A change to the conclusion, with the previous text.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AmendedConclusionView<'a> {
    /// The time of the amendment.
    pub at: String,
    /// The agent that amended the conclusion.
    pub agent_id: Option<Cow<'a, str>>,
    /// The client that sent the amendment.
    pub by: Option<Caller>,
    /// The reason.
    pub reason: Cow<'a, str>,
    /// The previous conclusion in Markdown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conclusion: Option<Cow<'a, str>>,
    /// The answers that the conclusion previously named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answers: Option<&'a [BoundAnswer]>,
    /// The points that the conclusion previously listed as not covered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_covered: Option<&'a [String]>,
}

/// A state change.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangeView<'a> {
    /// The previous state.
    pub from: &'a StateName,
    /// The new state.
    pub to: &'a StateName,
    /// The time of the change.
    pub at: String,
    /// The agent that requested the change.
    pub agent_id: Option<Cow<'a, str>>,
    /// The child that caused the change or, without one, the client that sent it.
    pub by: Option<ChangeOrigin<'a>>,
    /// The reason.
    pub reason: Option<Cow<'a, str>>,
    /// The fields that support the change.
    #[serde(flatten)]
    pub texts: BackingTexts<'a>,
    /// The warnings issued for the state change.
    pub warnings: &'a [Warning],
    /// The number of other results between which the change decided; absent if there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settles: Option<usize>,
}

/// The origin of a state change.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum ChangeOrigin<'a> {
    /// The child that caused the change.
    Child(&'a NodeId),
    /// The client that sent the change.
    Caller(Caller),
}

/// The fields that support findings or a state change. Each becomes a field of the surrounding JSON object.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BackingTexts<'a> {
    evidence: Option<&'a str>,
    verification_method: Option<&'a str>,
    alternatives_considered: &'a [String],
    // Programs that do not know `caveats` can read exports that do not contain the key.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    caveats: &'a [String],
}

/// One of the fields in [`BackingTexts`].
#[derive(Clone, Copy, Debug)]
pub struct BackingText<'a> {
    /// The key in JSON and in files.
    pub key: &'static str,
    /// The heading for display.
    pub heading: &'static str,
    /// The text in Markdown.
    pub body: TextBody<'a>,
}

/// A string or a list of strings.
#[derive(Clone, Copy, Debug)]
pub enum TextBody<'a> {
    /// An optional string.
    One(Option<&'a str>),
    /// A list that may be empty.
    List(&'a [String]),
}

/// A node field with its value as text, for comparing two states.
#[derive(Clone, Debug)]
pub struct NodeField<'a> {
    /// The name for display.
    pub name: &'static str,
    /// The value; empty if absent.
    pub value: Cow<'a, str>,
    /// True if the field is text that the agent wrote about its work. False if it is a choice or a fact.
    pub is_text: bool,
}

/// The name of the field that lists later state changes.
pub const CHANGES_OF_STATE: &str = "Changes of state";

/// The name of the field that lists later text changes.
pub const CHANGES_OF_TEXTS: &str = "Changes of texts";

/// The heading for [`NodeView::other_results`].
pub const OTHER_RESULTS: &str = "Other results";

/// The heading for [`NodeView::headline`].
pub const HEADLINE: &str = "Found";

/// The heading for the evidence.
const EVIDENCE: &str = "Evidence";

/// The heading for the alternatives considered.
const ALTERNATIVES: &str = "Alternatives considered";

/// The heading for the limitations of the research.
const CAVEATS: &str = "Not tried";

/// The heading for [`NodeView::commands`].
pub const COMMANDS: &str = "Commands";

/// The heading for [`NodeView::references`].
pub const REFERENCES: &str = "References";

/// The heading for [`NodeView::links`].
pub const LINKS: &str = "Links";

/// The heading for [`NodeView::planned_action`].
pub const PLANNED: &str = "What was planned";

/// The heading for [`NodeView::findings`].
pub const FINDINGS: &str = "Findings";

/// A note on an answer that a person gave through a client.
pub const NO_SIGN_OFF: &str = "said through the client, which is not a sign-off";

/// Describes in a sentence how the person answered when asked whether the investigation may end.
pub fn asked_line(asked: &Asked) -> String {
    let said = asked.said.as_ref().map(|said| format!(": “{said}”")).unwrap_or_default();
    let worth = match asked.answer {
        PersonsAnswer::NotOffered | PersonsAnswer::Unanswered => String::new(),
        _ => format!(" ({NO_SIGN_OFF})"),
    };
    let label = asked.answer.label();
    format!("The person at the client: {label}{said}{worth}.")
}

impl<'a> NodeView<'a> {
    /// Creates the view of a node, with its children and the role of its state under the rules.
    pub fn new(investigation: &'a Investigation, rules: Option<EffectiveRules<'_>>, node: &'a Node) -> Self {
        let role = |state| Some(rules?.ruleset().state(state)?.role);
        NodeView {
            children: investigation.children(&node.id).map(|child| &child.id).collect(),
            role: node.state().and_then(role),
            ..NodeView::stored(node)
        }
    }

    /// Creates the view of a node's stored facts, without its children and its role.
    pub fn stored(node: &'a Node) -> Self {
        let others = node.classification.iter().flat_map(|result| &result.other_results);
        NodeView {
            other_results: others
                .map(|other| OtherResult(Box::new(NodeView::of(node, Some(other)))))
                .collect(),
            ..NodeView::of(node, node.classification.as_ref())
        }
    }

    /// Creates the view of a proposal with one of its results.
    fn of(node: &'a Node, result: Option<&'a Classification>) -> Self {
        NodeView {
            id: &node.id,
            parent: node.parent.as_ref(),
            children: Vec::new(),
            round: node.round(),
            title: Cow::from(&node.title),
            state: result.map(Classification::current_state),
            role: None,
            planned_action: Cow::from(&node.planned_action),
            proposed_at: node.proposed_at.to_string(),
            covers: &node.covers,
            renamed_from: node.renamed_from.as_ref(),
            claim: node.claim.as_ref().map(ClaimView::new),
            contested: result.and_then(|it| it.is_contested().then_some(true)),
            committed_as: result.map(|it| &it.state),
            requested_state: result.and_then(|it| it.requested_state.as_ref()),
            refutes: result.and_then(|it| it.refutes.then_some(true)),
            agent_id: result.and_then(|it| optional(&it.agent_id)),
            by: result.and_then(|it| known(&it.caller)),
            started_at: result.and_then(|it| it.started_at).map(|at| at.to_string()),
            committed_at: result.map(|it| it.committed_at.to_string()),
            headline: result.and_then(|it| optional(&it.headline)),
            findings: result.map(|it| Cow::from(&it.findings)),
            texts: result.map_or_else(BackingTexts::default, |it| BackingTexts {
                evidence: it.evidence.as_deref(),
                verification_method: it.verification_method.as_deref(),
                alternatives_considered: &it.alternatives_considered,
                caveats: &it.caveats,
            }),
            commands: result.map_or(&[], |it| &it.commands),
            runs: result.map_or(&[], |it| &it.runs),
            references: result.map_or(&[], |it| &it.references),
            links: result.map_or(&[], |it| &it.links),
            warnings: result.map_or(&[], |it| &it.warnings),
            reclassified: result.into_iter().flat_map(|it| &it.reclassified).map(ChangeView::new).collect(),
            amended: result.into_iter().flat_map(|it| &it.amended).map(AmendmentView::new).collect(),
            other_results: Vec::new(),
        }
    }

    /// Returns all fields of a node, for comparing two of its states.
    pub fn fields(node: &'a Node) -> impl Iterator<Item = NodeField<'a>> {
        let view = NodeView::stored(node);
        view.clone().proposal().into_iter().chain(view.result())
    }

    /// Returns the fields of the proposal.
    pub fn proposal(self) -> Vec<NodeField<'a>> {
        vec![
            NodeField::fact("Title", self.title),
            NodeField::fact("Parent", self.parent.map_or("", NodeId::as_str)),
            NodeField::fact(PLANNED, self.planned_action),
            NodeField::fact("Covers", self.covers.join("\n")),
            NodeField::fact("Proposed as", self.renamed_from.map_or("", NodeId::as_str)),
            NodeField::fact("Claimed by", self.claim.as_ref().map_or_else(String::new, ClaimView::line)),
        ]
    }

    /// Returns the fields of the result, including its later changes. Empty while the node is pending.
    pub fn result(self) -> Vec<NodeField<'a>> {
        let (Some(state), Some(findings)) = (self.committed_as, self.findings) else { return Vec::new() };
        let person = self.by.as_ref().and_then(|by| by.person.as_ref()).map(|person| person.name.clone());
        let mut fields = vec![
            NodeField::fact("State as committed", state.as_str()),
            NodeField::fact("Asked for", self.requested_state.map_or("", StateName::as_str)),
            NodeField::fact("Refutes its parent", if self.refutes.is_some() { "yes" } else { "" }),
            NodeField::fact("Agent", self.agent_id.unwrap_or_default()),
            NodeField::fact("Person", person.unwrap_or_default()),
            NodeField::fact("Client", self.by.as_ref().map_or_else(String::new, caller_line)),
            NodeField::fact("Research began", self.started_at.unwrap_or_default()),
            NodeField::fact("Committed", self.committed_at.unwrap_or_default()),
            NodeField::text(HEADLINE, self.headline.unwrap_or_default()),
            NodeField::text(FINDINGS, findings),
        ];
        fields.extend(self.texts.iter().map(|text| match text.body {
            TextBody::One(body) => NodeField::text(text.heading, body.unwrap_or_default()),
            TextBody::List(body) => NodeField::text(text.heading, body.join("\n\n")),
        }));
        fields.extend([
            NodeField::text(COMMANDS, joined(self.commands, command_text, "\n\n")),
            NodeField::fact(REFERENCES, joined(self.references, reference_line, "\n")),
            NodeField::fact(LINKS, joined(self.links, link_line, "\n")),
            NodeField::fact("Warnings", joined(self.warnings, Warning::line, "\n")),
            NodeField::fact(CHANGES_OF_STATE, joined(&self.reclassified, ChangeView::line, "\n")),
            NodeField::fact(CHANGES_OF_TEXTS, joined(&self.amended, AmendmentView::line, "\n")),
            NodeField::text(OTHER_RESULTS, joined(&self.other_results, OtherResult::text, "\n\n")),
        ]);
        fields
    }
}

impl<'a> ClaimView<'a> {
    fn new(claim: &'a Claim) -> Self {
        ClaimView {
            agent_id: Cow::from(&claim.agent_id),
            at: claim.at.to_string(),
            until: claim.until.to_string(),
        }
    }

    /// Formats the claim on one line.
    pub fn line(&self) -> String {
        format!("{}, from {} until {}", self.agent_id, self.at, self.until)
    }
}

impl OtherResult<'_> {
    /// Formats the state, the author and the time on one line.
    pub fn line(&self) -> String {
        let by = by_line(self.0.agent_id.as_deref(), self.0.by.as_ref());
        let state = self.0.state.map_or("", StateName::as_str);
        format!("{state}{by} at {}", self.0.committed_at.as_deref().unwrap_or_default())
    }

    /// Formats all fields of the result.
    pub fn text(&self) -> String {
        let fields = NodeView::clone(&self.0).result().into_iter().filter(|field| !field.value.is_empty());
        let fields = fields.map(|field| format!("{}: {}", field.name, field.value));
        std::iter::once(self.line()).chain(fields).collect::<Vec<_>>().join("\n")
    }
}

impl<'a> ChangeView<'a> {
    /// Creates the view of a state change.
    pub fn new(change: &'a Reclassification) -> Self {
        ChangeView {
            from: &change.from,
            to: &change.to,
            at: change.at.to_string(),
            agent_id: change.agent().map(Cow::from),
            by: match &change.by {
                Author::Child(child) => Some(ChangeOrigin::Child(child)),
                Author::Caller(caller) => known(caller).map(ChangeOrigin::Caller),
            },
            reason: optional(&change.reason),
            texts: BackingTexts {
                evidence: change.evidence.as_deref(),
                verification_method: change.verification_method.as_deref(),
                alternatives_considered: &change.alternatives_considered,
                caveats: &[],
            },
            warnings: &change.warnings,
            settles: (change.settles > 0).then_some(change.settles),
        }
    }

    /// Returns the author with a leading space, or an empty string without a name.
    fn author(&self) -> String {
        match &self.by {
            Some(ChangeOrigin::Child(child)) => format!(" by its child {child}"),
            Some(ChangeOrigin::Caller(caller)) => by_line(self.agent_id.as_deref(), Some(caller)),
            None => by_line(self.agent_id.as_deref(), None),
        }
    }

    /// Formats the change on one line, including every field that a manual edit can change.
    fn line(&self) -> String {
        let mut line = format!("{} → {} at {}{}", self.from, self.to, self.at, self.author());
        let backing = self.texts.iter().flat_map(BackingText::entries);
        let texts = self.reason.as_deref().into_iter().chain(backing);
        if let Some(number) = self.settles {
            line.push_str(&format!("; decided between this and {}", text::counted(number, "other result")));
        }
        for text in texts.map(str::to_owned).chain(self.warnings.iter().map(Warning::line)) {
            line.push_str("; ");
            line.push_str(&text);
        }
        line
    }
}

impl<'a> AmendmentView<'a> {
    /// Creates the view of an amendment.
    pub fn new(amendment: &'a Amendment) -> Self {
        AmendmentView {
            at: amendment.at.to_string(),
            agent_id: optional(&amendment.agent_id),
            by: known(&amendment.caller),
            reason: Cow::from(&amendment.reason),
            title: optional(&amendment.title),
            headline: optional(&amendment.headline),
            findings: optional(&amendment.findings),
            evidence: optional(&amendment.evidence),
            alternatives_considered: amendment.alternatives_considered.clone(),
            caveats: amendment.caveats.clone(),
            commands: amendment.commands.clone(),
            references: amendment.references.clone(),
        }
    }

    /// Returns the previous text of the fields that support the findings, each with its heading.
    pub fn backing(&self) -> Vec<(&'static str, String)> {
        let parts = [
            (EVIDENCE, self.evidence.as_deref().map(str::to_owned)),
            (ALTERNATIVES, self.alternatives_considered.as_ref().map(|all| all.join("\n\n"))),
            (CAVEATS, self.caveats.as_ref().map(|all| all.join("\n\n"))),
            (COMMANDS, self.commands.as_ref().map(|all| joined(all, command_text, "\n\n"))),
            (REFERENCES, self.references.as_ref().map(|all| joined(all, reference_line, "\n"))),
        ];
        parts.into_iter().filter_map(|(heading, text)| Some((heading, text?))).collect()
    }

    /// Formats the change on one line, including every field that a manual edit can change.
    pub fn line(&self) -> String {
        let by = by_line(self.agent_id.as_deref(), self.by.as_ref());
        let before = [("title", &self.title), ("headline", &self.headline), ("findings", &self.findings)];
        let before = before.into_iter().filter_map(|(name, text)| Some((name, text.as_deref()?.to_owned())));
        let before: String =
            before.chain(self.backing()).map(|(name, text)| format!("; {name} before: {text}")).collect();
        format!("{}{by}: {}{before}", self.at, self.reason)
    }
}

impl<'a> AmendedConclusionView<'a> {
    /// Creates the view of an amended conclusion.
    pub fn new(amended: &'a AmendedConclusion) -> Self {
        AmendedConclusionView {
            at: amended.at.to_string(),
            agent_id: optional(&amended.agent_id),
            by: known(&amended.caller),
            reason: Cow::from(&amended.reason),
            conclusion: optional(&amended.conclusion),
            answers: amended.answers.as_deref(),
            not_covered: amended.not_covered.as_deref(),
        }
    }

    /// Formats the time, the author and the reason on one line.
    pub fn line(&self) -> String {
        let by = by_line(self.agent_id.as_deref(), self.by.as_ref());
        format!("{}{by}: {}", self.at, self.reason)
    }
}

/// Formats the client, the model and the session on one line. Empty if none is known.
pub fn caller_line(caller: &Caller) -> String {
    let session = caller.session.as_deref().map(|session| format!("session {session}"));
    let parts = [caller.client.clone(), caller.model.clone(), session];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Formats the author and the client, with a leading space. Empty if neither is known.
pub fn by_line(agent: Option<&str>, caller: Option<&Caller>) -> String {
    let who = caller.map_or_else(|| agent.map(str::to_owned), |caller| caller.who(agent));
    let who = who.map(|who| format!(" by {who}")).unwrap_or_default();
    let through = caller.map(caller_line).filter(|line| !line.is_empty());
    who + &through.map(|line| format!(" ({line})")).unwrap_or_default()
}

/// Formats a command with its exit status and output.
fn command_text(command: &Command) -> String {
    let exit = command.exit_code.map(|code| format!(" (exit code {code})")).unwrap_or_default();
    let output = command.output.as_deref().map(|output| format!("\n{output}")).unwrap_or_default();
    format!("$ {}{exit}{output}", command.command)
}

/// Formats a source on one line, followed by the cited text if it was recorded.
fn reference_line(citation: &Citation) -> String {
    let commit = citation.commit.as_deref().map(|commit| format!("@{commit}")).unwrap_or_default();
    let lines = citation.lines.as_deref().map(|lines| format!(":{lines}")).unwrap_or_default();
    let quote = citation.quote.as_deref().map(|quote| format!(" “{quote}”")).unwrap_or_default();
    let note = citation.note.as_deref().map(|note| format!(" - {note}")).unwrap_or_default();
    let named = match citation.named_in {
        None => "",
        Some(NamedIn::Findings) => " (in the findings)",
        Some(NamedIn::Evidence) => " (in the evidence)",
    };
    let pinned = citation.pinned.as_ref().map(|pin| format!("; {}", pin_text(pin))).unwrap_or_default();
    format!("{}{commit}{lines}{quote}{note}{named}{pinned}", citation.target)
}

/// Formats the recorded state of a cited file, with the recorded lines.
fn pin_text(pin: &Pin) -> String {
    let lines = pin.lines.map(|lines| format!(":{lines}")).unwrap_or_default();
    let text =
        pin.text.as_deref().map(|text| format!("\n{}", text.trim_end_matches('\n'))).unwrap_or_default();
    format!("{}{lines} was {} at {}{text}", pin.path, pin.blob, pin_commit(pin))
}

/// Returns the commit of a cited file, and whether the file had uncommitted changes.
fn pin_commit(pin: &Pin) -> String {
    match (&pin.commit, pin.uncommitted) {
        (Some(commit), false) => commit.clone(),
        (Some(commit), true) => format!("{commit} with uncommitted changes"),
        (None, _) => "no commit".to_owned(),
    }
}

/// Formats a link as its kind and the other node.
fn link_line(link: &Link) -> String {
    format!("{} {}", link.kind.as_str(), link.to)
}

impl<'a> BackingTexts<'a> {
    /// Returns the fields with their headings.
    pub fn iter(&self) -> impl Iterator<Item = BackingText<'a>> {
        let text = |key, heading, body| BackingText { key, heading, body };
        let texts = [
            text("evidence", EVIDENCE, TextBody::One(self.evidence)),
            text("verificationMethod", "How the author checked it", TextBody::One(self.verification_method)),
            text("alternativesConsidered", ALTERNATIVES, TextBody::List(self.alternatives_considered)),
            text("caveats", CAVEATS, TextBody::List(self.caveats)),
        ];
        texts.into_iter()
    }
}

impl<'a> BackingText<'a> {
    /// Returns the string, or the strings of the list.
    pub fn entries(self) -> impl Iterator<Item = &'a str> {
        let (one, list) = match self.body {
            TextBody::One(text) => (text, &[][..]),
            TextBody::List(texts) => (None, texts),
        };
        one.into_iter().chain(list.iter().map(String::as_str))
    }
}

impl<'a> NodeField<'a> {
    fn fact(name: &'static str, value: impl Into<Cow<'a, str>>) -> Self {
        NodeField { name, value: value.into(), is_text: false }
    }

    fn text(name: &'static str, value: impl Into<Cow<'a, str>>) -> Self {
        NodeField { is_text: true, ..NodeField::fact(name, value) }
    }
}

fn joined<T>(all: &[T], text: impl Fn(&T) -> String, gap: &str) -> String {
    all.iter().map(text).collect::<Vec<_>>().join(gap)
}

fn known(caller: &Caller) -> Option<Caller> {
    (!caller.is_unknown()).then(|| caller.clone())
}

fn optional(text: &Option<String>) -> Option<Cow<'_, str>> {
    text.as_ref().map(Cow::from)
}

/// Shortens every string in a serialized view to `characters`, and every list to `entries`. Ids and id lists are not
/// shortened. The oldest state and text changes are omitted first.
///
/// Returns the names of the shortened fields.
pub fn shorten(fields: &mut Map<String, Value>, characters: usize, entries: usize) -> Vec<String> {
    let is_shortened = |name: &str, value: &mut Value| shorten_value(name, value, characters, entries);
    fields.iter_mut().filter_map(|(name, value)| is_shortened(name, value).then(|| name.clone())).collect()
}

fn shorten_value(name: &str, value: &mut Value, characters: usize, entries: usize) -> bool {
    match value {
        Value::String(text) if !is_id(text) => {
            let short = text::shorten(text, characters);
            let is_shortened = short != *text;
            *text = short;
            is_shortened
        }
        Value::Array(list) => {
            let mut is_shortened =
                list.len() > entries && !list.iter().all(|entry| entry.as_str().is_some_and(is_id));
            if is_shortened && matches!(name, "reclassified" | "amended") {
                list.drain(..list.len() - entries);
            } else if is_shortened {
                list.truncate(entries);
            }
            for entry in list {
                is_shortened |= shorten_value(name, entry, characters, entries);
            }
            is_shortened
        }
        Value::Object(fields) => !shorten(fields, characters, entries).is_empty(),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Returns whether the text is the id of a node, a run or a git object.
fn is_id(text: &str) -> bool {
    let is_object = text.len() <= 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_object || text.parse::<NodeId>().is_ok() || text.parse::<RunId>().is_ok()
}
