//! The page of a node.

use std::collections::HashMap;

use serde::Serialize;

use super::Reference;
use super::cards::{Card, Cards, ConfirmedBy, OpenEnd, StateView, Time};
use super::comments::{Comments, Thread};
use super::judged::NodeWarning;
use super::references;
use super::runs::{RunView, Runs};
use crate::assess::{NEWEST_RUNS, newest_runs};
use crate::domain::{
    Amendment, Caller, Citation, Classification, Command, Node, NodeId, Pin, Reclassification,
};
use crate::format::layout;
use crate::project::{Drift, Evidence};
use crate::report::attachments::{AttachmentView, Attachments};
use crate::report::history::{CommitLink, History};
use crate::report::references::is_web;
use crate::report::search::Said;
use crate::report::templates::{SafeHtml, SharedValue};
use crate::report::texts::{NodeTexts, TextHtml, html};
use crate::view::{self, AmendmentView, ChangeOrigin, ChangeView, NodeView, OtherResult, caller_line};

/// The page of a node.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct NodePage {
    pub card: SharedValue<Card>,
    /// From the root to its parent.
    pub path: Vec<SharedValue<Card>>,
    pub parent: Option<SharedValue<Card>>,
    pub children: Vec<SharedValue<Card>>,
    /// Where it stands, for the side of the page.
    pub beside: Beside,
    pub previous: Option<SharedValue<Card>>,
    pub next: Option<SharedValue<Card>>,
    /// The title, if the finding is shown in its place.
    pub title: Option<String>,
    /// Which values of what varies it covers.
    pub covers: Vec<String>,
    pub agent: Option<String>,
    /// Through which client it came, as that says itself.
    pub client: Option<String>,
    pub proposed_at: Time,
    /// The beginning of the research, according to the agent.
    pub began_at: Option<Time>,
    pub committed_at: Option<Time>,
    /// The state it was committed in, if it was changed later.
    pub committed_as: Option<StateView>,
    /// The state that was asked for, and the one that was stored.
    pub converted: Option<Conversion>,
    pub planned_action: Option<SafeHtml>,
    pub findings: Option<SafeHtml>,
    /// The evidence of the findings.
    pub texts: Vec<TextHtml>,
    pub warnings: Vec<NodeWarning>,
    pub reclassified: Vec<Change>,
    /// The nodes that confirm an answer, surest first.
    pub confirmed_by: Vec<ConfirmedBy>,
    /// Its children that refute it.
    pub refuted_by: Vec<SharedValue<Card>>,
    /// Whether it refutes its parent.
    pub refutes: bool,
    /// Nodes elsewhere that it bears on, and those that bear on it.
    pub links: Vec<LinkView>,
    /// The runs of the program for it, and their outcomes.
    pub runs: Vec<SharedValue<RunView>>,
    /// The number of omitted runs.
    pub more_runs: usize,
    /// The commands run for it, according to the agent.
    pub commands: Vec<Command>,
    /// Its sources that were given as data.
    pub sources: Vec<Source>,
    /// The files of the project that its texts name, as they were then.
    pub cited_files: Vec<Source>,
    /// Its earlier texts, oldest first.
    pub amended: Vec<Amended>,
    /// The id it was proposed under, if a merge has given it another.
    pub renamed_from: Option<String>,
    /// The proposals that were made under its id and have another since a merge.
    pub renamed_to: Vec<SharedValue<Card>>,
    /// The name of the claimant, while it is pending.
    pub claim: Option<String>,
    /// Whether its results have different states that nobody has decided between.
    pub is_contested: bool,
    /// Results of others for the same proposal.
    pub other_results: Vec<OtherResultView>,
    /// The comments on it, oldest first.
    pub comments: Vec<Thread>,
    /// Its attachments.
    pub attachments: Vec<AttachmentView>,
    /// What it still owes.
    pub owes: Option<OpenEnd>,
    /// What it cites; of what the findings list, or was given as data, only what other nodes cite too.
    pub references: Vec<NodeReference>,
    /// Whether the findings have a list of their own.
    pub lists_references: bool,
    pub commits: Vec<CommitLink>,
    /// Its file in the repository.
    pub file: String,
    /// The text that a search finds it by, beside its id, its title and its comments; no page shows it.
    #[serde(skip)]
    pub search: Vec<Said>,
}

/// Most siblings before a node, and behind it, at the side of its page; and most children.
const MOST_BESIDE: usize = 8;

/// The surroundings of a node: a few of its siblings and children, since each page shows them.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct Beside {
    /// How many siblings come before those below.
    pub before: usize,
    /// Itself among its siblings.
    pub siblings: Vec<SharedValue<Card>>,
    /// How many siblings come behind them.
    pub after: usize,
    pub children: Vec<SharedValue<Card>>,
    /// How many children come behind those.
    pub more_children: usize,
}

/// A link of the node with one elsewhere in the tree.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct LinkView {
    /// `supports`, `is contradicted by`, …
    pub what: &'static str,
    pub id: String,
    /// Absent if the node is missing.
    pub card: Option<SharedValue<Card>>,
}

/// A source that was given as data, or a file that a text names.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct Source {
    pub target: String,
    pub is_url: bool,
    pub lines: Option<String>,
    pub commit: Option<String>,
    /// The agent's quotation of it, word for word.
    pub quote: Option<String>,
    pub note: Option<String>,
    /// The file of the project that it was.
    pub file: Option<CitedFile>,
}

/// A file of the project as it was when cited, and its state now.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct CitedFile {
    /// From the root of the project.
    pub path: String,
    pub lines: Option<String>,
    /// Its content then.
    pub text: Option<String>,
    /// The project's commit.
    pub commit: Option<String>,
    /// git's id of the content.
    pub blob: String,
    /// Whether the content was not committed.
    pub is_uncommitted: bool,
    /// The address where people see it as it was.
    pub href: Option<String>,
    /// Its state when the report was made: `unchanged`, `moved`, `changed`, `gone`, or `unchecked` of a file that can't be read;
    /// absent where nobody looked.
    pub state: Option<&'static str>,
    /// Its new place: `src/a.rs:18-24`.
    pub now: Option<String>,
}

/// A later change of a node's texts. It contains the earlier text, which may be empty.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct Amended {
    pub at: Time,
    pub agent: Option<String>,
    pub client: Option<String>,
    pub reason: String,
    pub title: Option<String>,
    pub headline: Option<String>,
    pub findings: Option<SafeHtml>,
    /// Whether the findings were changed.
    pub of_findings: bool,
    /// Their earlier evidence.
    pub backing: Vec<Before>,
}

/// The text of one part of a node before it was amended.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct Before {
    pub heading: &'static str,
    /// Plain text; empty where there was none.
    pub text: String,
}

/// A result beside the node's own.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct OtherResultView {
    pub state: StateView,
    pub agent: Option<String>,
    pub client: Option<String>,
    pub committed_at: Time,
    pub headline: Option<String>,
    pub findings: Option<SafeHtml>,
    /// All else that is stored of it, by its headings.
    pub fields: Vec<(&'static str, String)>,
}

/// A commit that was stored in another state than was asked for.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct Conversion {
    pub requested: StateView,
    pub stored: StateView,
}

/// A later change of a node's state.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct Change {
    pub card: SharedValue<Card>,
    pub from: StateView,
    pub to: StateView,
    pub at: Time,
    pub agent: Option<String>,
    /// Through which client it came.
    pub client: Option<String>,
    /// The child that brought it about.
    pub child: Option<SharedValue<Card>>,
    pub child_id: Option<String>,
    pub reason: Option<SafeHtml>,
    /// Its evidence.
    pub texts: Vec<TextHtml>,
}

/// A source on the page of a node that cites it. Not who else does: of 1,000 nodes all may cite one source.
#[derive(Clone, Debug, Serialize)]
pub(in crate::report) struct NodeReference {
    pub target: String,
    pub is_url: bool,
    pub title: Option<String>,
    pub lines: Vec<u32>,
    /// Its place on the page of references.
    pub href: String,
    /// The number of other nodes that cite it.
    pub others: usize,
}

impl<'a> Cards<'a> {
    pub(super) fn node_views(
        &self,
        mut texts: HashMap<NodeId, NodeTexts>,
        references: &[Reference],
        places: &[usize],
        history: &History,
        evidence: &Evidence,
        (comments, runs, attachments): (&Comments, &Runs, &Attachments),
    ) -> Vec<NodePage> {
        let order = self.investigation.preorder();
        let linked = self.linked();
        let mut renamed: HashMap<&NodeId, Vec<&NodeId>> = HashMap::new();
        for node in &order {
            node.renamed_from.iter().for_each(|old| renamed.entry(old).or_default().push(&node.id));
        }
        // Siblings, each with its place among them.
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
            Beside {
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
                    refutes: classification.is_some_and(|c| c.refutes),
                    links: linked.get(&node.id).cloned().unwrap_or_default(),
                    commands: classification.map_or_else(Vec::new, |c| c.commands.clone()),
                    sources: sources(classification, evidence, false),
                    cited_files: sources(classification, evidence, true),
                    amended: amended(node),
                    renamed_from: node.renamed_from.as_ref().map(ToString::to_string),
                    renamed_to: renamed
                        .get(&node.id)
                        .map(|ids| self.in_order(ids.iter().copied()))
                        .unwrap_or_default(),
                    claim: node
                        .claim
                        .as_ref()
                        .map(|claim| format!("{} until {}", claim.agent_id, claim.until.to_minute())),
                    is_contested: classification.is_some_and(Classification::is_contested),
                    other_results: self.other_results(node),
                    comments: comments.of_node(&node.id),
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
        let view = |(at, OtherResult(other)): (usize, OtherResult<'_>)| {
            let result = &node.classification.as_ref()?.other_results[at];
            let shown = [
                "State as committed",
                "Agent",
                "Person",
                "Client",
                "Committed",
                view::HEADLINE,
                view::FINDINGS,
            ];
            let fields = other.clone().result().into_iter();
            let fields = fields.filter(|field| !field.value.is_empty() && !shown.contains(&field.name));
            Some(OtherResultView {
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
            })
        };
        NodeView::stored(node).other_results.into_iter().enumerate().filter_map(view).collect()
    }

    /// The links of each node, both ways.
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

    pub(super) fn changes(&self) -> Vec<Change> {
        self.investigation.committed().flat_map(|(node, _)| self.changes_of(node)).collect()
    }

    pub(in crate::report) fn changes_of(&self, node: &Node) -> Vec<Change> {
        let (Some(card), Some(classification)) = (self.card(node), &node.classification) else {
            return Vec::new();
        };
        let change = |(at, change): (usize, &Reclassification)| {
            let suffix = format!("{at}-{}", node.id);
            let view = ChangeView::new(change);
            let child = match view.by {
                Some(ChangeOrigin::Child(child)) => Some(child),
                Some(ChangeOrigin::Caller(_)) | None => None,
            };
            Change {
                card: card.clone(),
                from: self.state(view.from),
                to: self.state(view.to),
                at: Time::of(change.at),
                child: child.and_then(|child| self.get(child).cloned()),
                child_id: child.map(ToString::to_string),
                reason: SafeHtml::some_markdown(view.reason.as_deref(), &format!("reason-{suffix}"), 4),
                texts: html(&view.texts, &suffix, 4),
                agent: change.caller.who(view.agent_id.as_deref()),
                client: client(&change.caller),
            }
        };
        classification.reclassified.iter().enumerate().map(change).collect()
    }
}

/// Through which client it came, if anything is known of that.
pub(super) fn client(caller: &Caller) -> Option<String> {
    Some(caller_line(caller)).filter(|line| !line.is_empty())
}

fn is_given(node: &Node, target: &str) -> bool {
    node.classification.iter().flat_map(|it| &it.references).any(|citation| citation.target == target)
}

/// The sources of a result that were given as data, or those that its texts name.
fn sources(result: Option<&Classification>, evidence: &Evidence, are_named: bool) -> Vec<Source> {
    let citations = result.into_iter().flat_map(|result| &result.references);
    let wanted = citations.filter(|citation| citation.named_in.is_some() == are_named);
    let source = |citation: &Citation| Source {
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

fn cited_file(pin: &Pin, evidence: &Evidence) -> CitedFile {
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
        backing: AmendmentView::new(amendment)
            .backing()
            .into_iter()
            .map(|(heading, text)| Before { heading, text })
            .collect(),
    };
    amendments.map(view).collect()
}
