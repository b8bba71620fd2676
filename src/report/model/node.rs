//! Node pages.

use std::collections::HashMap;

use serde::Serialize;

use super::cards::{Card, Cards, ConfirmedBy, OpenEnd, StateView, Time};
use super::comments::{CommentThreads, Thread};
use super::judged::NodeWarning;
use super::references;
use super::runs::{RunView, RunViews};
use crate::assess::{NEWEST_RUNS, newest_runs};
use crate::decide::references::{CitedSource, is_web};
use crate::domain::{
    Amendment, Caller, Citation, Classification, Command, Node, NodeId, Pin, Reclassification,
};
use crate::fields::{FINDINGS, HEADLINE};
use crate::format::layout;
use crate::report::attachments::{AttachmentView, AttachmentViews};
use crate::report::history::{CommitLink, History};
use crate::report::search::SearchText;
use crate::report::templates::{SafeHtml, SharedValue};
use crate::report::texts::{NodeTexts, TextHtml, html};
use crate::service::project::{Drift, ProjectEvidence};

/// A node page.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct NodePage {
    pub card: SharedValue<Card>,
    /// The ancestors, from the root to the parent.
    pub path: Vec<SharedValue<Card>>,
    pub parent: Option<SharedValue<Card>>,
    pub children: Vec<SharedValue<Card>>,
    /// The surrounding nodes, for the navigation sidebar.
    pub beside: Neighbourhood,
    pub previous: Option<SharedValue<Card>>,
    pub next: Option<SharedValue<Card>>,
    /// The planned title, if the finding is shown as the heading.
    pub title: Option<String>,
    /// The values of the varying factor that the node covers.
    pub covers: Vec<String>,
    pub agent: Option<String>,
    /// The name that the client reported for itself.
    pub client: Option<String>,
    pub proposed_at: Time,
    /// The time at which the research began, according to the agent.
    pub began_at: Option<Time>,
    pub committed_at: Option<Time>,
    /// The state when the node was committed, if it has changed since.
    pub committed_as: Option<StateView>,
    /// The requested state and the stored state, if they differ.
    pub converted: Option<Conversion>,
    pub planned_action: Option<SafeHtml>,
    pub findings: Option<SafeHtml>,
    /// The evidence for the findings.
    pub texts: Vec<TextHtml>,
    pub warnings: Vec<NodeWarning>,
    pub reclassified: Vec<StateChange>,
    /// The nodes that confirm the node, if it is an answer, surest first.
    pub confirmed_by: Vec<ConfirmedBy>,
    /// The children that refute the node.
    pub refuted_by: Vec<SharedValue<Card>>,
    /// True if the node refutes its parent.
    pub refutes: bool,
    /// Links to and from other nodes.
    pub links: Vec<LinkView>,
    /// The captured runs for this node.
    pub runs: Vec<SharedValue<RunView>>,
    /// The number of omitted runs.
    pub more_runs: usize,
    /// The commands reported by the agent.
    pub commands: Vec<Command>,
    /// The sources given as structured data.
    pub sources: Vec<SourceView>,
    /// The cited project files, as they were when cited.
    pub cited_files: Vec<SourceView>,
    /// Earlier versions of the node's text, oldest first.
    pub amended: Vec<Amended>,
    /// The claimant and the claim's expiry, while the node is pending.
    pub claim: Option<String>,
    /// True if the node's results have different states and the conflict is unresolved.
    pub is_contested: bool,
    /// Other agents' results for the same proposal.
    pub other_results: Vec<OtherResultView>,
    /// The comments on the node, oldest first.
    pub comments: Vec<Thread>,
    pub attachments: Vec<AttachmentView>,
    /// The children that are still required.
    pub owes: Option<OpenEnd>,
    /// The cited sources. A source already listed in the findings or given as structured data is included only if other nodes
    /// cite it too.
    pub references: Vec<NodeReference>,
    /// True if the findings contain a list of sources.
    pub lists_references: bool,
    pub commits: Vec<CommitLink>,
    /// The path of its file in the repository.
    pub file: String,
    /// Additional text for search. No page shows it.
    #[serde(skip)]
    pub search: Vec<SearchText>,
}

/// The maximum number of siblings on each side of a node. Twice as many children may be listed.
const MOST_BESIDE: usize = 8;

/// The surroundings of a node. The lists are short, because every node page shows them.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct Neighbourhood {
    /// The number of siblings omitted before the listed ones.
    pub before: usize,
    /// The node itself and its nearest siblings.
    pub siblings: Vec<SharedValue<Card>>,
    /// The number of siblings omitted after the listed ones.
    pub after: usize,
    pub children: Vec<SharedValue<Card>>,
    /// The number of omitted children.
    pub more_children: usize,
}

/// A link between a node and another node.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct LinkView {
    /// The relation: `supports`, `is contradicted by`, …
    pub what: &'static str,
    pub id: String,
    /// The other node, or `None` if it is missing.
    pub card: Option<SharedValue<Card>>,
}

/// A source given as structured data, or a file named in text.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct SourceView {
    pub target: String,
    pub is_url: bool,
    pub lines: Option<String>,
    pub commit: Option<String>,
    /// The agent's verbatim quotation.
    pub quote: Option<String>,
    pub note: Option<String>,
    /// The cited project file.
    pub file: Option<CitedFile>,
}

/// A project file as it was when cited, and its current state.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct CitedFile {
    /// The path relative to the project root.
    pub path: String,
    pub lines: Option<String>,
    /// The cited content.
    pub text: Option<String>,
    /// The project commit.
    pub commit: Option<String>,
    /// The git blob id.
    pub blob: String,
    /// True if the content was uncommitted.
    pub is_uncommitted: bool,
    /// The address of the cited version on the web.
    pub href: Option<String>,
    /// The state when the report was built: `unchanged`, `moved`, `changed`, `gone`, or `unchecked` if the file can't be read.
    /// `None` if the project was not examined.
    pub state: Option<&'static str>,
    /// The new location: `src/a.rs:18-24`.
    pub now: Option<String>,
}

/// A later change to a node's text, with the previous version.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct Amended {
    pub at: Time,
    pub agent: Option<String>,
    pub client: Option<String>,
    pub reason: String,
    pub title: Option<String>,
    pub headline: Option<String>,
    pub findings: Option<SafeHtml>,
    /// True if the findings were amended.
    pub of_findings: bool,
    /// The previous evidence.
    pub backing: Vec<Before>,
}

/// The previous text of one part of a node.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct Before {
    pub heading: &'static str,
    /// The previous text as plain text. Empty if there was none.
    pub text: String,
}

/// Another result for the same proposal.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct OtherResultView {
    pub state: StateView,
    pub agent: Option<String>,
    pub client: Option<String>,
    pub committed_at: Time,
    pub headline: Option<String>,
    pub findings: Option<SafeHtml>,
    /// The other fields of the result, with their headings.
    pub fields: Vec<(&'static str, String)>,
}

/// A requested state, and the state stored instead.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct Conversion {
    pub requested: StateView,
    pub stored: StateView,
}

/// A later change to a node's state.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct StateChange {
    pub card: SharedValue<Card>,
    pub from: StateView,
    pub to: StateView,
    pub at: Time,
    pub agent: Option<String>,
    /// The name that the client reported for itself.
    pub client: Option<String>,
    /// The child that caused the change.
    pub child: Option<SharedValue<Card>>,
    pub child_id: Option<String>,
    pub reason: Option<SafeHtml>,
    /// The evidence for the change.
    pub texts: Vec<TextHtml>,
}

/// A source cited by a node. Other nodes that cite it are only counted, since there may be thousands.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct NodeReference {
    pub target: String,
    pub is_url: bool,
    pub title: Option<String>,
    pub lines: Vec<u32>,
    /// Its address on the sources page.
    pub href: String,
    /// The number of other nodes that cite the source.
    pub others: usize,
}

impl<'a> Cards<'a> {
    pub(super) fn node_views(
        &self,
        mut texts: HashMap<NodeId, NodeTexts>,
        references: &[CitedSource],
        places: &[usize],
        history: &History,
        evidence: &ProjectEvidence,
        (comments, runs, attachments): (&CommentThreads, &RunViews, &AttachmentViews),
    ) -> Vec<NodePage> {
        let order = self.investigation.preorder();
        let linked = self.linked();
        // The children of each parent.
        let mut families: HashMap<Option<&NodeId>, Vec<&NodeId>> = HashMap::new();
        let mut ranks = Vec::with_capacity(order.len());
        for node in &order {
            let family = families.entry(node.parent.as_ref()).or_default();
            ranks.push(family.len());
            family.push(&node.id);
        }
        let beside = |node: &Node, rank: usize| {
            let family = families.get(&node.parent.as_ref()).map_or(&[][..], Vec::as_slice);
            let from = rank.saturating_sub(MOST_BESIDE);
            let to = (rank + 1 + MOST_BESIDE).min(family.len());
            let children = families.get(&Some(&node.id)).map_or(&[][..], Vec::as_slice);
            let shown = children.len().min(2 * MOST_BESIDE);
            Neighbourhood {
                before: from,
                siblings: self.in_order(family[from..to].iter().copied()),
                after: family.len() - to,
                children: self.in_order(children[..shown].iter().copied()),
                more_children: children.len() - shown,
            }
        };
        let neighbour = |at: Option<usize>| at.and_then(|at| self.card(order.get(at)?));
        order
            .iter()
            .enumerate()
            .filter_map(|(at, node)| {
                let card = self.card(node)?;
                let classification = node.classification.as_ref();
                let texts = texts.remove(&node.id)?;
                let mut path = self.in_order(self.investigation.path(&node.id).iter().map(|node| &node.id));
                path.pop();
                let (newest, more_runs) = newest_runs(self.assessment.runs_of(&node.id), NEWEST_RUNS);
                Some(NodePage {
                    parent: path.last().cloned(),
                    path,
                    children: self.in_order(self.investigation.children(&node.id).map(|child| &child.id)),
                    beside: beside(node, ranks[at]),
                    previous: neighbour(at.checked_sub(1)),
                    next: neighbour(at.checked_add(1)),
                    title: (node.name() != node.title).then(|| node.title.clone()),
                    covers: node.covers.clone(),
                    agent: classification.and_then(Classification::who),
                    client: classification.and_then(|c| client(&c.caller)),
                    proposed_at: Time::of(node.proposed_at),
                    began_at: classification.and_then(|c| c.started_at).map(Time::of),
                    committed_at: classification.map(|c| Time::of(c.committed_at)),
                    committed_as: classification
                        .filter(|c| &c.state != c.current_state())
                        .map(|c| self.state(&c.state)),
                    converted: self.conversion(node),
                    planned_action: texts.planned_action,
                    findings: texts.findings,
                    texts: texts.texts,
                    search: texts.search,
                    warnings: self.warnings_of(node),
                    reclassified: self.changes_of(node),
                    confirmed_by: self.confirmed_by(node),
                    refuted_by: self.in_order(self.refuted_by(node)),
                    refutes: self.assessment.mark(node).refutes.is_some(),
                    links: linked.get(&node.id).cloned().unwrap_or_default(),
                    commands: classification.map_or_else(Vec::new, |c| c.commands.clone()),
                    sources: sources(classification, evidence, false),
                    cited_files: sources(classification, evidence, true),
                    amended: amended(node),
                    claim: node
                        .claim
                        .as_ref()
                        .map(|claim| format!("{} until {}", claim.agent_id, claim.until.to_minute())),
                    is_contested: classification.is_some_and(Classification::is_contested),
                    other_results: self.other_results(node),
                    comments: comments.by_node.get(&node.id).cloned().unwrap_or_default(),
                    runs: newest.iter().filter_map(|it| runs.get(&it.run.id).cloned()).collect(),
                    more_runs,
                    attachments: attachments.of_node(&node.id),
                    owes: self.open_end(node),
                    lists_references: texts.lists_references,
                    references: self
                        .cited
                        .get(&node.id)
                        .into_iter()
                        .flatten()
                        .filter_map(|at| Some((references.get(*at)?, places.get(*at)?)))
                        .filter(|(reference, _)| {
                            let is_listed = texts.lists_references || is_given(node, &reference.target);
                            !is_listed || reference.cited_by.len() > 1
                        })
                        .map(|(reference, place)| NodeReference {
                            href: references::href(*place),
                            target: reference.target.clone(),
                            is_url: reference.is_url,
                            title: reference.title.clone().filter(|title| *title != reference.target),
                            lines: reference.lines_of(&node.id).to_vec(),
                            others: reference.cited_by.len().saturating_sub(1),
                        })
                        .collect(),
                    commits: history.of_node(&node.id),
                    file: layout::node(&node.id),
                    card,
                })
            })
            .collect()
    }

    fn other_results(&self, node: &Node) -> Vec<OtherResultView> {
        let view = |(at, result): (usize, &Classification)| {
            let shown = [
                "State as committed",
                "Parent as seen",
                "Agent",
                "Person",
                "Client",
                "Committed",
                HEADLINE,
                FINDINGS,
            ];
            let fields = result.fields().into_iter();
            let fields = fields.filter(|field| !field.value.is_empty() && !shown.contains(&field.name));
            OtherResultView {
                state: self.state(result.current_state()),
                agent: result.who(),
                client: client(&result.caller),
                committed_at: Time::of(result.committed_at),
                headline: result.headline.clone(),
                findings: SafeHtml::some_markdown(
                    Some(&result.findings),
                    &format!("other-{at}-{}", node.id),
                    4,
                ),
                fields: fields.map(|field| (field.name, field.value.into_owned())).collect(),
            }
        };
        node.results().skip(1).enumerate().map(view).collect()
    }

    /// Returns the incoming and outgoing links of each node.
    fn linked(&self) -> HashMap<NodeId, Vec<LinkView>> {
        let mut linked: HashMap<NodeId, Vec<LinkView>> = HashMap::new();
        let mut add = |node: &NodeId, what, other: &NodeId| {
            let link = LinkView { what, id: other.to_string(), card: self.get(other).cloned() };
            linked.entry(node.clone()).or_default().push(link);
        };
        for (node, _) in self.investigation.committed() {
            for link in node.classification.iter().flat_map(|c| &c.links) {
                add(&node.id, link.kind.label(), &link.to);
                add(&link.to, link.kind.inverse(), &node.id);
            }
        }
        linked
    }

    pub(super) fn conversion(&self, node: &Node) -> Option<Conversion> {
        let classification = node.classification.as_ref()?;
        Some(Conversion {
            requested: self.state(classification.requested_state.as_ref()?),
            stored: self.state(&classification.state),
        })
    }

    pub(super) fn changes(&self) -> Vec<StateChange> {
        self.investigation.committed().flat_map(|(node, _)| self.changes_of(node)).collect()
    }

    pub(in crate::report) fn changes_of(&self, node: &Node) -> Vec<StateChange> {
        let (Some(card), Some(classification)) = (self.card(node), &node.classification) else {
            return Vec::new();
        };
        let change = |(at, change): (usize, &Reclassification)| {
            let suffix = format!("{at}-{}", node.id);
            let child = change.child();
            StateChange {
                card: card.clone(),
                from: self.state(&change.from),
                to: self.state(&change.to),
                at: Time::of(change.at),
                child: child.and_then(|child| self.get(child).cloned()),
                child_id: child.map(ToString::to_string),
                reason: SafeHtml::some_markdown(change.reason.as_deref(), &format!("reason-{suffix}"), 4),
                texts: html(change.backing(), &suffix, 4),
                agent: change.caller().and_then(|caller| caller.who(change.agent())),
                client: change.caller().and_then(client),
            }
        };
        classification.reclassified.iter().enumerate().map(change).collect()
    }
}

/// Returns the name and version of the client used, if known.
pub(super) fn client(caller: &Caller) -> Option<String> {
    Some(caller.line()).filter(|line| !line.is_empty())
}

fn is_given(node: &Node, target: &str) -> bool {
    node.classification.iter().flat_map(|it| &it.references).any(|citation| citation.target == target)
}

/// Returns the sources given as structured data, or, if `are_named`, the files named in text.
fn sources(result: Option<&Classification>, evidence: &ProjectEvidence, are_named: bool) -> Vec<SourceView> {
    let citations = result.into_iter().flat_map(|result| &result.references);
    let wanted =
        citations.filter(|it| it.named_in.is_some() == are_named && (it.pinned.is_some() || !are_named));
    let source = |citation: &Citation| SourceView {
        is_url: is_web(&citation.target),
        target: citation.target.clone(),
        lines: citation.lines.clone(),
        commit: citation.commit.clone(),
        quote: citation.quote.clone(),
        note: citation.note.clone(),
        file: citation.pinned.as_ref().map(|pin| cited_file(pin, evidence)),
    };
    wanted.map(source).collect()
}

fn cited_file(pin: &Pin, evidence: &ProjectEvidence) -> CitedFile {
    let drift = evidence.drift.get(pin);
    CitedFile {
        path: pin.path.clone(),
        lines: pin.lines.map(|lines| lines.to_string()),
        text: pin.text.clone(),
        commit: pin.commit.clone(),
        blob: pin.blob.clone(),
        is_uncommitted: pin.uncommitted,
        href: evidence.forge.as_ref().and_then(|forge| forge.permalink(pin)),
        state: drift.map(Drift::as_str),
        now: drift.and_then(Drift::moved_to),
    }
}

fn amended(node: &Node) -> Vec<Amended> {
    let amendments = node.classification.iter().flat_map(|c| &c.amended).enumerate();
    let view = |(at, amendment): (usize, &Amendment)| Amended {
        at: Time::of(amendment.at),
        agent: amendment.who(),
        client: client(&amendment.caller),
        reason: amendment.reason.clone(),
        title: amendment.title.clone(),
        headline: amendment.headline.clone(),
        findings: SafeHtml::some_markdown(
            amendment.findings.as_deref(),
            &format!("before-{at}-{}", node.id),
            4,
        ),
        of_findings: amendment.findings.is_some(),
        backing: amendment.backing().into_iter().map(|(heading, text)| Before { heading, text }).collect(),
    };
    amendments.map(view).collect()
}
