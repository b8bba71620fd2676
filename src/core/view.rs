//! The read model of a node: all stored facts, by the names under which programs and people read them.
//!
//! `investigation.json` and `tot_read` are a [`NodeView`] as JSON; the node's resource and its page take the texts and
//! their headings from it, and what compares two states takes its [`Field`]s. A field that is stored with a node is
//! added here and to the file in `format`, and all of them have it.
//!
//! Pure. Nothing is left out here: [`NodeView::shorten`] makes a short form.

use std::borrow::Cow;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::domain::{
    AmendedConclusion, Amendment, Asked, Author, BoundAnswer, Caller, Citation, Claim, Classification, Code,
    Command, Investigation, Link, NamedIn, Node, NodeId, PersonsAnswer, Pin, Reclassification, RunId,
    StateName, Warning,
};
use crate::ruleset::{EffectiveRules, Role};
use crate::text;

/// A node, whole. Absent values are `null` in JSON; times are as in the files.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeView<'a> {
    /// Its id.
    pub id: &'a NodeId,
    /// Its parent; none for a root.
    pub parent: Option<&'a NodeId>,
    /// Its children.
    pub children: Vec<&'a NodeId>,
    /// The number in its id.
    pub round: u32,
    /// One line.
    pub title: Cow<'a, str>,
    /// The state in force; none while it is pending.
    pub state: Option<&'a StateName>,
    /// The role of that state in the ruleset; none without a readable ruleset.
    pub role: Option<Role>,
    /// The action that the agent planned.
    pub planned_action: Cow<'a, str>,
    /// When it was proposed.
    pub proposed_at: String,
    /// The values of dimensions that it covers, each as `engine=gix`.
    pub covers: Vec<String>,
    /// The id that it was proposed under, where a merge has given it another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renamed_from: Option<&'a NodeId>,
    /// The claim of the agent that means to research it, while it is pending.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim: Option<ClaimView<'a>>,
    /// Whether its results differ in their states and nobody has decided between them; absent if not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contested: Option<bool>,
    /// The state stored by the commit.
    pub committed_as: Option<&'a StateName>,
    /// The state that the agent asked for, if a rule stored another.
    pub requested_state: Option<&'a StateName>,
    /// Whether it refutes its parent; none where it does not.
    pub refutes: Option<bool>,
    /// The agent that did the research.
    pub agent_id: Option<Cow<'a, str>>,
    /// Through which client it came, as that says itself.
    pub by: Option<Caller>,
    /// When the research began, as the agent says.
    pub started_at: Option<String>,
    /// When it was committed.
    pub committed_at: Option<String>,
    /// The finding, in one sentence.
    pub headline: Option<Cow<'a, str>>,
    /// Markdown.
    pub findings: Option<Cow<'a, str>>,
    /// The backing of the findings.
    #[serde(flatten)]
    pub texts: Texts<'a>,
    /// Its runs.
    pub commands: Vec<Command>,
    /// The runs that it names as its evidence.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<RunId>,
    /// Its sources, beside those that the findings name.
    pub references: Vec<Citation>,
    /// Its links to nodes elsewhere.
    pub links: Vec<Link>,
    /// The warnings of the commit.
    pub warnings: Vec<WarningView<'a>>,
    /// Every later change of state, oldest first.
    pub reclassified: Vec<ChangeView<'a>>,
    /// Every later change of its texts, oldest first.
    pub amended: Vec<AmendmentView<'a>>,
    /// Results that others committed for the same proposal elsewhere, before a merge.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub other_results: Vec<OtherResult<'a>>,
}

/// A note that somebody has taken a pending proposal on.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClaimView<'a> {
    /// The claimant.
    pub agent_id: Cow<'a, str>,
    /// Since when.
    pub at: String,
    /// When it lapses.
    pub until: String,
}

/// A further result of the node: in JSON without the fields of the proposal, and without absent ones.
#[derive(Clone, Debug)]
pub struct OtherResult<'a>(pub Box<NodeView<'a>>);

impl Serialize for OtherResult<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        /// The fields of a proposal, and of its place in the tree.
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

/// A change of texts, with the earlier ones: an empty text if there was none, absent if it was left unchanged.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AmendmentView<'a> {
    /// When.
    pub at: String,
    /// The agent that did it.
    pub agent_id: Option<Cow<'a, str>>,
    /// Through which client it came.
    pub by: Option<Caller>,
    /// Why.
    pub reason: Cow<'a, str>,
    /// The title before.
    pub title: Option<Cow<'a, str>>,
    /// The headline before.
    pub headline: Option<Cow<'a, str>>,
    /// The findings before; Markdown.
    pub findings: Option<Cow<'a, str>>,
    /// The evidence before.
    pub evidence: Option<Cow<'a, str>>,
    /// The alternatives considered before.
    pub alternatives_considered: Option<Vec<String>>,
    /// The untried points before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub caveats: Option<Vec<String>>,
    /// The commands before.
    pub commands: Option<Vec<Command>>,
    /// The sources before.
    pub references: Option<Vec<Citation>>,
}

/// A change of the conclusion, with the earlier texts.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AmendedConclusionView<'a> {
    /// When.
    pub at: String,
    /// The agent that did it.
    pub agent_id: Option<Cow<'a, str>>,
    /// Through which client it came.
    pub by: Option<Caller>,
    /// Why.
    pub reason: Cow<'a, str>,
    /// The conclusion before; Markdown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub conclusion: Option<Cow<'a, str>>,
    /// The answers that it rested on before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answers: Option<&'a [BoundAnswer]>,
    /// The points not covered before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_covered: Option<&'a [String]>,
}

/// A change of state.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ChangeView<'a> {
    /// The state before.
    pub from: &'a StateName,
    /// The state after.
    pub to: &'a StateName,
    /// When.
    pub at: String,
    /// The agent that did it.
    pub agent_id: Option<Cow<'a, str>>,
    /// The child that brought it about, or else through which client it came.
    pub by: Option<By<'a>>,
    /// Why.
    pub reason: Option<Cow<'a, str>>,
    /// Its backing.
    #[serde(flatten)]
    pub texts: Texts<'a>,
    /// The warnings of the change.
    pub warnings: Vec<WarningView<'a>>,
    /// Between how many other results it decided; none where there were none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settles: Option<usize>,
}

/// The cause of a change of state.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum By<'a> {
    /// A child, in place of an agent.
    Child(&'a NodeId),
    /// A call through this client.
    Caller(Caller),
}

/// A stored warning.
#[derive(Clone, Debug, Serialize)]
pub struct WarningView<'a> {
    /// Its kind.
    pub code: &'a Code,
    /// The message, in one sentence.
    pub message: Cow<'a, str>,
}

/// The texts that back findings or a change of state. In JSON each is a field of what it backs.
#[derive(Clone, Debug)]
pub struct Texts<'a>(Vec<Text<'a>>);

/// One of them.
#[derive(Clone, Debug)]
pub struct Text<'a> {
    /// Its name in JSON and in the file.
    pub key: &'static str,
    /// Its heading for people.
    pub heading: &'static str,
    /// The text; Markdown.
    pub body: Body<'a>,
}

/// One text, or a list of them.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Body<'a> {
    /// A text that may be absent.
    One(Option<Cow<'a, str>>),
    /// A list, which may be empty.
    List(Vec<Cow<'a, str>>),
}

/// A field of a node with its value as text, for comparisons of two states of it.
#[derive(Clone, Debug)]
pub struct Field<'a> {
    /// Its name for people.
    pub name: &'static str,
    /// Its value; empty where it is absent.
    pub value: Cow<'a, str>,
    /// Whether the agent wrote it as a text about its work, rather than chose it.
    pub is_text: bool,
}

/// The name of the field that holds the later changes of state.
pub const CHANGES_OF_STATE: &str = "Changes of state";

/// The name of the field that holds the later changes of texts.
pub const CHANGES_OF_TEXTS: &str = "Changes of texts";

/// The heading of [`NodeView::other_results`].
pub const OTHER_RESULTS: &str = "Other results";

/// The heading of [`NodeView::headline`].
pub const HEADLINE: &str = "Found";

/// The heading of the evidence.
const EVIDENCE: &str = "Evidence";

/// The heading of the alternatives.
const ALTERNATIVES: &str = "Alternatives considered";

/// The heading of the untried points, and their name in JSON.
const CAVEATS: &str = "Not tried";
const CAVEATS_KEY: &str = "caveats";

/// The heading of [`NodeView::commands`].
pub const COMMANDS: &str = "Commands";

/// The heading of [`NodeView::references`].
pub const REFERENCES: &str = "References";

/// The heading of [`NodeView::links`].
pub const LINKS: &str = "Links";

/// The heading of [`NodeView::planned_action`].
pub const PLANNED: &str = "What was planned";

/// The heading of [`NodeView::findings`].
pub const FINDINGS: &str = "Findings";

/// The worth of a person's word that came through a client.
pub const NO_SIGN_OFF: &str = "said through the client, which is not a sign-off";

/// The outcome of the question to a person whether the investigation may end, in a sentence.
pub fn asked_line(asked: &Asked) -> String {
    let said = asked.said.as_ref().map(|said| format!(": “{said}”")).unwrap_or_default();
    let worth = match asked.answer {
        PersonsAnswer::NotOffered | PersonsAnswer::Unanswered => String::new(),
        _ => format!(" ({NO_SIGN_OFF})"),
    };
    let label = asked.answer.label();
    format!("The person in front of the client: {label}{said}{worth}.")
}

impl<'a> NodeView<'a> {
    /// Returns a node of that investigation, with the consequences of it under those rules.
    pub fn new(investigation: &'a Investigation, rules: Option<EffectiveRules<'_>>, node: &'a Node) -> Self {
        let role = |state| Some(rules?.ruleset().state(state)?.role);
        NodeView {
            children: investigation.children(&node.id).map(|child| &child.id).collect(),
            role: node.state().and_then(role),
            ..NodeView::stored(node)
        }
    }

    /// Returns the stored facts of a node: without its children and its role.
    pub fn stored(node: &'a Node) -> Self {
        let others = node.classification.iter().flat_map(|result| &result.other_results);
        NodeView {
            other_results: others
                .map(|other| OtherResult(Box::new(NodeView::of(node, Some(other)))))
                .collect(),
            ..NodeView::of(node, node.classification.as_ref())
        }
    }

    /// A proposal with one of its results.
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
            covers: node.covers.clone(),
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
            texts: match result {
                Some(it) => texts(&it.evidence, &it.verification_method, &it.alternatives_considered)
                    .and_caveats(&it.caveats),
                None => texts(&None, &None, &[]),
            },
            commands: result.map_or_else(Vec::new, |it| it.commands.clone()),
            runs: result.map_or_else(Vec::new, |it| it.runs.clone()),
            references: result.map_or_else(Vec::new, |it| it.references.clone()),
            links: result.map_or_else(Vec::new, |it| it.links.clone()),
            warnings: result.map_or_else(Vec::new, |it| warnings(&it.warnings)),
            reclassified: result.into_iter().flat_map(|it| &it.reclassified).map(ChangeView::new).collect(),
            amended: result.into_iter().flat_map(|it| &it.amended).map(AmendmentView::new).collect(),
            other_results: Vec::new(),
        }
    }

    /// Shortens every text but the findings to so many characters, and every list but the children to so many entries,
    /// and gives the names of the fields in which something is left out. Of the changes of state the last ones stay.
    pub fn shorten(&mut self, characters: usize, entries: usize) -> Vec<&'static str> {
        const CHANGES: &str = "reclassified";
        const AMENDED: &str = "amended";
        const OTHERS: &str = "otherResults";
        let mut shortener = Shortener { characters, entries, shortened: Vec::new() };
        shortener.text("title", &mut self.title);
        shortener.text("plannedAction", &mut self.planned_action);
        shortener.strings("covers", &mut self.covers);
        shortener.optional("agentId", &mut self.agent_id);
        shortener.caller("by", &mut self.by);
        shortener.optional("headline", &mut self.headline);
        shortener.texts(None, &mut self.texts);
        shortener.commands("commands", Some(&mut self.commands));
        shortener.references("references", Some(&mut self.references));
        shortener.list("links", &mut self.links);
        shortener.warnings("warnings", &mut self.warnings);
        let earlier = self.reclassified.len().saturating_sub(entries);
        self.reclassified.drain(..earlier);
        shortener.note(CHANGES, earlier > 0);
        for change in &mut self.reclassified {
            shortener.optional(CHANGES, &mut change.agent_id);
            shortener.optional(CHANGES, &mut change.reason);
            shortener.texts(Some(CHANGES), &mut change.texts);
            shortener.warnings(CHANGES, &mut change.warnings);
            if let Some(By::Caller(caller)) = &mut change.by {
                shortener.caller_texts(CHANGES, caller);
            }
        }
        let earlier = self.amended.len().saturating_sub(entries);
        self.amended.drain(..earlier);
        shortener.note(AMENDED, earlier > 0);
        for amendment in &mut self.amended {
            shortener.optional(AMENDED, &mut amendment.agent_id);
            shortener.caller(AMENDED, &mut amendment.by);
            shortener.text(AMENDED, &mut amendment.reason);
            for text in [
                &mut amendment.title,
                &mut amendment.headline,
                &mut amendment.findings,
                &mut amendment.evidence,
            ] {
                shortener.optional(AMENDED, text);
            }
            let lists = [&mut amendment.alternatives_considered, &mut amendment.caveats];
            lists.into_iter().flatten().for_each(|texts| shortener.strings(AMENDED, texts));
            shortener.commands(AMENDED, amendment.commands.as_mut());
            shortener.references(AMENDED, amendment.references.as_mut());
        }
        if let Some(claim) = &mut self.claim {
            shortener.text("claim", &mut claim.agent_id);
        }
        shortener.list(OTHERS, &mut self.other_results);
        for OtherResult(other) in &mut self.other_results {
            let is_shortened = !other.shorten(characters, entries).is_empty();
            shortener.note(OTHERS, is_shortened);
            shortener.optional(OTHERS, &mut other.findings);
        }
        shortener.shortened
    }

    /// Returns all fields of a node, for comparisons of two states of it.
    pub fn fields(node: &'a Node) -> impl Iterator<Item = Field<'a>> {
        let view = NodeView::stored(node);
        view.clone().proposal().into_iter().chain(view.result())
    }

    /// Returns the proposal.
    pub fn proposal(self) -> Vec<Field<'a>> {
        vec![
            Field::fact("Title", self.title),
            Field::fact("Parent", self.parent.map_or("", NodeId::as_str)),
            Field::fact(PLANNED, self.planned_action),
            Field::fact("Covers", self.covers.join("\n")),
            Field::fact("Proposed as", self.renamed_from.map_or("", NodeId::as_str)),
            Field::fact("Claimed by", self.claim.as_ref().map_or_else(String::new, ClaimView::line)),
        ]
    }

    /// Returns the result and its later changes. Empty while the node is pending.
    pub fn result(self) -> Vec<Field<'a>> {
        let (Some(state), Some(findings)) = (self.committed_as, self.findings) else { return Vec::new() };
        let warnings: Vec<String> = self.warnings.iter().map(WarningView::line).collect();
        let changes: Vec<String> = self.reclassified.iter().map(ChangeView::line).collect();
        let person = self.by.as_ref().and_then(|by| by.person.as_ref()).map(|person| person.name.clone());
        let mut fields = vec![
            Field::fact("State as committed", state.as_str()),
            Field::fact("Asked for", self.requested_state.map_or("", StateName::as_str)),
            Field::fact("Refutes its parent", if self.refutes.is_some() { "yes" } else { "" }),
            Field::fact("Agent", self.agent_id.unwrap_or_default()),
            Field::fact("Person", person.unwrap_or_default()),
            Field::fact("Client", self.by.as_ref().map_or_else(String::new, caller_line)),
            Field::fact("Research began", self.started_at.unwrap_or_default()),
            Field::fact("Committed", self.committed_at.unwrap_or_default()),
            Field { name: HEADLINE, value: self.headline.unwrap_or_default(), is_text: true },
            Field { name: FINDINGS, value: findings, is_text: true },
        ];
        fields.extend(self.texts.0.into_iter().map(|text| Field {
            name: text.heading,
            value: match text.body {
                Body::One(text) => text.unwrap_or_default(),
                Body::List(texts) => Cow::from(texts.join("\n\n")),
            },
            is_text: true,
        }));
        let commands: Vec<String> = self.commands.iter().map(command_text).collect();
        let references: Vec<String> = self.references.iter().map(reference_line).collect();
        let links: Vec<String> = self.links.iter().map(link_line).collect();
        let amended: Vec<String> = self.amended.iter().map(AmendmentView::line).collect();
        fields.push(Field { name: COMMANDS, value: Cow::from(commands.join("\n\n")), is_text: true });
        fields.push(Field::fact(REFERENCES, references.join("\n")));
        fields.push(Field::fact(LINKS, links.join("\n")));
        fields.push(Field::fact("Warnings", warnings.join("\n")));
        fields.push(Field::fact(CHANGES_OF_STATE, changes.join("\n")));
        fields.push(Field::fact(CHANGES_OF_TEXTS, amended.join("\n")));
        let others = self.other_results.iter().map(OtherResult::text);
        let others = others.collect::<Vec<_>>().join("\n\n");
        fields.push(Field { name: OTHER_RESULTS, value: Cow::from(others), is_text: true });
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

    /// The claim in one line.
    pub fn line(&self) -> String {
        format!("{}, from {} until {}", self.agent_id, self.at, self.until)
    }
}

impl OtherResult<'_> {
    /// Its state, by whom and when, in one line.
    pub fn line(&self) -> String {
        let by = by_line(self.0.agent_id.as_deref(), self.0.by.as_ref());
        let state = self.0.state.map_or("", StateName::as_str);
        format!("{state}{by} at {}", self.0.committed_at.as_deref().unwrap_or_default())
    }

    /// Returns all of it as text.
    pub fn text(&self) -> String {
        let fields = NodeView::clone(&self.0).result().into_iter().filter(|field| !field.value.is_empty());
        let fields = fields.map(|field| format!("{}: {}", field.name, field.value));
        std::iter::once(self.line()).chain(fields).collect::<Vec<_>>().join("\n")
    }
}

impl<'a> ChangeView<'a> {
    /// A change of state as it is stored.
    pub fn new(change: &'a Reclassification) -> Self {
        let caller = known(&change.caller).map(By::Caller);
        let (agent_id, by) = match &change.by {
            Author::Agent(agent) => (Some(Cow::from(agent)), caller),
            Author::Child(child) => (None, Some(By::Child(child))),
            Author::Unknown => (None, caller),
        };
        ChangeView {
            from: &change.from,
            to: &change.to,
            at: change.at.to_string(),
            agent_id,
            by,
            reason: optional(&change.reason),
            texts: texts(&change.evidence, &change.verification_method, &change.alternatives_considered),
            warnings: warnings(&change.warnings),
            settles: (change.settles > 0).then_some(change.settles),
        }
    }

    /// Returns the author with a space before; empty without a name.
    fn author(&self) -> String {
        match &self.by {
            Some(By::Child(child)) => format!(" by its child {child}"),
            Some(By::Caller(caller)) => by_line(self.agent_id.as_deref(), Some(caller)),
            None => by_line(self.agent_id.as_deref(), None),
        }
    }

    /// The change in one line, with every field that a manual edit could have changed.
    fn line(&self) -> String {
        let mut line = format!("{} → {} at {}{}", self.from, self.to, self.at, self.author());
        let texts = self.reason.as_deref().into_iter().chain(self.texts.iter().flat_map(Text::entries));
        if let Some(number) = self.settles {
            line.push_str(&format!("; decided with {} beside it", text::counted(number, "other result")));
        }
        for text in texts.map(str::to_owned).chain(self.warnings.iter().map(WarningView::line)) {
            line.push_str("; ");
            line.push_str(&text);
        }
        line
    }
}

impl<'a> AmendmentView<'a> {
    /// A change of texts as it is stored.
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

    /// Returns the earlier backing of the findings, each text with its heading.
    pub fn backing(&self) -> Vec<(&'static str, String)> {
        let commands = |all: &Vec<Command>| all.iter().map(command_text).collect::<Vec<_>>().join("\n\n");
        let references = |all: &Vec<Citation>| all.iter().map(reference_line).collect::<Vec<_>>().join("\n");
        let parts = [
            (EVIDENCE, self.evidence.as_deref().map(str::to_owned)),
            (ALTERNATIVES, self.alternatives_considered.as_ref().map(|all| all.join("\n\n"))),
            (CAVEATS, self.caveats.as_ref().map(|all| all.join("\n\n"))),
            (COMMANDS, self.commands.as_ref().map(commands)),
            (REFERENCES, self.references.as_ref().map(references)),
        ];
        parts.into_iter().filter_map(|(heading, text)| Some((heading, text?))).collect()
    }

    /// The change in one line, with every field that a manual edit could have changed.
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
    /// A change of the conclusion as it is stored.
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

    /// When, by whom and why, in one line.
    pub fn line(&self) -> String {
        let by = by_line(self.agent_id.as_deref(), self.by.as_ref());
        format!("{}{by}: {}", self.at, self.reason)
    }
}

/// The client, its session and the model, in one line; empty where none is known.
pub fn caller_line(caller: &Caller) -> String {
    let session = caller.session.as_deref().map(|session| format!("session {session}"));
    let parts = [caller.client.clone(), caller.model.clone(), session];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Returns the author and the client, with a space before; empty if nothing is known.
pub fn by_line(agent: Option<&str>, caller: Option<&Caller>) -> String {
    let who = caller.map_or_else(|| agent.map(str::to_owned), |caller| caller.who(agent));
    let who = who.map(|who| format!(" by {who}")).unwrap_or_default();
    let through = caller.map(caller_line).filter(|line| !line.is_empty());
    who + &through.map(|line| format!(" ({line})")).unwrap_or_default()
}

/// Returns a command with its exit status and output.
fn command_text(command: &Command) -> String {
    let exit = command.exit_code.map(|code| format!(" (exit code {code})")).unwrap_or_default();
    let output = command.output.as_deref().map(|output| format!("\n{output}")).unwrap_or_default();
    format!("$ {}{exit}{output}", command.command)
}

/// A source in one line.
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

/// Returns the state of a cited file, with the lines that were kept.
fn pin_text(pin: &Pin) -> String {
    let lines = pin.lines.map(|lines| format!(":{lines}")).unwrap_or_default();
    let text =
        pin.text.as_deref().map(|text| format!("\n{}", text.trim_end_matches('\n'))).unwrap_or_default();
    format!("{}{lines} was {} at {}{text}", pin.path, pin.blob, pin_commit(pin))
}

/// The commit that a cited file was in, or that it was in none.
fn pin_commit(pin: &Pin) -> String {
    match (&pin.commit, pin.uncommitted) {
        (Some(commit), false) => commit.clone(),
        (Some(commit), true) => format!("{commit}, with changes that were not committed"),
        (None, _) => "no commit".to_owned(),
    }
}

/// A link in a few words.
fn link_line(link: &Link) -> String {
    format!("{} {}", link.kind.as_str(), link.to)
}

impl WarningView<'_> {
    /// The warning as `CODE: message`.
    pub fn line(&self) -> String {
        format!("{}: {}", self.code, self.message)
    }
}

impl<'a> Texts<'a> {
    /// The texts in the order in which they are read.
    pub fn iter(&self) -> impl Iterator<Item = &Text<'a>> {
        self.0.iter()
    }

    /// Adds the untried points of a result.
    fn and_caveats(mut self, caveats: &'a [String]) -> Self {
        self.0.push(Text::list(CAVEATS_KEY, CAVEATS, caveats));
        self
    }
}

impl<'a> Text<'a> {
    fn list(key: &'static str, heading: &'static str, texts: &'a [String]) -> Self {
        Text { key, heading, body: Body::List(texts.iter().map(Cow::from).collect()) }
    }

    /// A value of a field: nothing, one text, or several.
    pub fn entries(&self) -> impl Iterator<Item = &str> {
        let (one, list) = match &self.body {
            Body::One(text) => (text.as_deref(), &[][..]),
            Body::List(texts) => (None, texts.as_slice()),
        };
        one.into_iter().chain(list.iter().map(|text| &**text))
    }
}

impl Serialize for Texts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        // A program that does not know the caveats reads an export without any.
        for text in self.iter().filter(|it| it.key != CAVEATS_KEY || it.entries().next().is_some()) {
            map.serialize_entry(text.key, &text.body)?;
        }
        map.end()
    }
}

impl<'a> Field<'a> {
    fn fact(name: &'static str, value: impl Into<Cow<'a, str>>) -> Self {
        Field { name, value: value.into(), is_text: false }
    }
}

fn texts<'a>(
    evidence: &'a Option<String>,
    method: &'a Option<String>,
    alternatives: &'a [String],
) -> Texts<'a> {
    let one = |key, heading, text| Text { key, heading, body: Body::One(optional(text)) };
    Texts(vec![
        one("evidence", EVIDENCE, evidence),
        one("verificationMethod", "How the author checked it", method),
        Text::list("alternativesConsidered", ALTERNATIVES, alternatives),
    ])
}

fn known(caller: &Caller) -> Option<Caller> {
    (!caller.is_unknown()).then(|| caller.clone())
}

fn optional(text: &Option<String>) -> Option<Cow<'_, str>> {
    text.as_ref().map(Cow::from)
}

fn warnings<'a>(warnings: &'a [Warning]) -> Vec<WarningView<'a>> {
    let view = |it: &'a Warning| WarningView { code: &it.code, message: Cow::from(&it.message) };
    warnings.iter().map(view).collect()
}

/// Shortens, and keeps account of where.
struct Shortener {
    characters: usize,
    entries: usize,
    shortened: Vec<&'static str>,
}

impl Shortener {
    fn text(&mut self, field: &'static str, text: &mut Cow<'_, str>) {
        let short = text::shorten(text, self.characters);
        self.note(field, short != **text);
        *text = Cow::from(short);
    }

    fn string(&mut self, field: &'static str, text: &mut String) {
        let short = text::shorten(text, self.characters);
        self.note(field, short != *text);
        *text = short;
    }

    fn strings(&mut self, field: &'static str, texts: &mut Vec<String>) {
        self.list(field, texts);
        texts.iter_mut().for_each(|text| self.string(field, text));
    }

    fn caller(&mut self, field: &'static str, caller: &mut Option<Caller>) {
        if let Some(caller) = caller {
            self.caller_texts(field, caller);
        }
    }

    fn caller_texts(&mut self, field: &'static str, caller: &mut Caller) {
        let Caller { person, client, session, model, .. } = caller;
        let (name, email) = person.as_mut().map(|it| (&mut it.name, &mut it.email)).unzip();
        let texts = [email.and_then(Option::as_mut), client.as_mut(), session.as_mut(), model.as_mut()];
        name.into_iter().chain(texts.into_iter().flatten()).for_each(|text| self.string(field, text));
    }

    fn optional(&mut self, field: &'static str, text: &mut Option<Cow<'_, str>>) {
        if let Some(text) = text {
            self.text(field, text);
        }
    }

    /// The texts are fields of their own, or parts of that field.
    fn texts(&mut self, field: Option<&'static str>, texts: &mut Texts<'_>) {
        for text in &mut texts.0 {
            let field = field.unwrap_or(text.key);
            match &mut text.body {
                Body::One(text) => self.optional(field, text),
                Body::List(texts) => {
                    self.list(field, texts);
                    texts.iter_mut().for_each(|text| self.text(field, text));
                }
            }
        }
    }

    fn commands(&mut self, field: &'static str, commands: Option<&mut Vec<Command>>) {
        let Some(commands) = commands else { return };
        self.list(field, commands);
        for Command { command, output, .. } in commands {
            std::iter::once(command).chain(output).for_each(|text| self.string(field, text));
        }
    }

    fn references(&mut self, field: &'static str, references: Option<&mut Vec<Citation>>) {
        let Some(references) = references else { return };
        self.list(field, references);
        for Citation { target, lines, commit, quote, note, named_in: _, pinned } in references {
            let optional = [lines, commit, quote, note].into_iter().flatten();
            let pinned = pinned.iter_mut().flat_map(|pin| pin.text.iter_mut().chain([&mut pin.path]));
            std::iter::once(target).chain(optional).chain(pinned).for_each(|text| self.string(field, text));
        }
    }

    fn warnings(&mut self, field: &'static str, warnings: &mut Vec<WarningView<'_>>) {
        self.list(field, warnings);
        warnings.iter_mut().for_each(|warning| self.text(field, &mut warning.message));
    }

    fn list<T>(&mut self, field: &'static str, list: &mut Vec<T>) {
        self.note(field, list.len() > self.entries);
        list.truncate(self.entries);
    }

    fn note(&mut self, field: &'static str, is_short: bool) {
        if is_short && !self.shortened.contains(&field) {
            self.shortened.push(field);
        }
    }
}
