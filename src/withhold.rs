//! Leaving out of what is published the texts of some nodes: their places, states and times stay, and what follows from
//! them; each of their texts says by whom it is withheld. It is done once, on what a report is made of, so that no page,
//! drawing, index, feed or file can forget it.
//!
//! # What is replaced
//!
//! Every text of the nodes, now and at any time of the history, with what stood there before amendments; their attachments,
//! which are left out with their names; comments on them, and what answers these; messages of commits that touched one of them; faults in their files.
//!
//! # Limits
//!
//! - Who and when stay: agents, clients, sessions, and the authors of commits.
//! - What else says the same is not looked for: the conclusion, the question, other nodes that quote one of these, and the
//!   messages of other commits. Nor is anything removed from the repository.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;

use crate::domain::node::says_nothing;
use crate::domain::{
    Amendment, AttachmentName, Change, Citation, Classification, Command, Comment, CommentId, Happening,
    IdError, Node, NodeId, Reclassification, Warning,
};
use crate::format::layout::{self, Place, WITHHELD};
use crate::store::{Fault, HistoryEntry, Snapshot};
use crate::text::{one_line, shorten};
use crate::yaml::{self, YamlError};

/// Characters of who and why.
const LENGTH: usize = 300;
/// What stands for a text that says nothing, since that tells how much a confirmation is worth.
const NOTHING: &str = "–";

/// The nodes whose texts are left out, each with what stands in their place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Withheld(BTreeMap<NodeId, String>);

/// What is wrong with a list of withheld nodes. Nothing is published then.
#[derive(Debug, thiserror::Error)]
pub enum WithheldError {
    /// Not in the form of such a list.
    #[error("the list of what is not to be public, {WITHHELD}, can't be read")]
    Yaml(#[source] YamlError),
    /// Not the id of a node.
    #[error("the list of what is not to be public, {WITHHELD}, has an id that is none")]
    Id(#[source] IdError),
    /// Not a node of the investigation.
    #[error("{0} is to be withheld, and is not a node of the investigation")]
    Stranger(NodeId),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    withheld: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    nodes: Vec<String>,
    by: String,
    #[serde(default)]
    why: Option<String>,
}

impl Withheld {
    /// What the text of a [`layout::WITHHELD`] lists; nothing where there is no such file.
    ///
    /// # Errors
    ///
    /// A text that is no such list.
    pub fn read(text: Option<&str>) -> Result<Withheld, WithheldError> {
        let mut withheld = Withheld::default();
        let Some(text) = text else { return Ok(withheld) };
        for entry in yaml::from_text::<File>(text).map_err(WithheldError::Yaml)?.withheld {
            for node in &entry.nodes {
                withheld.add(node.parse().map_err(WithheldError::Id)?, &entry.by, entry.why.as_deref());
            }
        }
        Ok(withheld)
    }

    /// Adds a node.
    pub fn add(&mut self, node: NodeId, by: &str, why: Option<&str>) {
        let why = why.map(|why| format!(": {why}")).unwrap_or_default();
        self.0.insert(node, shorten(&one_line(&format!("Withheld by {by}{why}")), LENGTH));
    }

    /// The nodes, by their ids.
    pub fn nodes(&self) -> impl Iterator<Item = &NodeId> {
        self.0.keys()
    }

    /// Refuses what was never a node of the investigation, as far as its history is read.
    ///
    /// # Errors
    ///
    /// The first of them.
    pub fn refuse_strangers(
        &self,
        snapshot: &Snapshot,
        history: &[HistoryEntry],
    ) -> Result<(), WithheldError> {
        let is_known = |id: &NodeId| {
            let mut happenings = history.iter().flat_map(|entry| &entry.happenings);
            snapshot.investigation.node(id).is_some()
                || snapshot.investigation.unreadable().contains(id)
                || happenings.any(|happening| happening.node().is_some_and(|node| node.id == *id))
        };
        match self.0.keys().find(|id| !is_known(id)) {
            None => Ok(()),
            Some(id) => Err(WithheldError::Stranger(id.clone())),
        }
    }

    /// Leaves their texts out of a state.
    pub fn hide(&self, snapshot: &mut Snapshot) {
        let old = &snapshot.investigation;
        let comments = Comments { withheld: self, known: old.comments().map(|it| (it.id, it)).collect() };
        let nodes = self.0.keys().filter_map(|id| old.node(id));
        let nodes = nodes.map(|node| Change::Node(self.node(node)));
        let said = old.comments().filter(|it| comments.label(it).is_some());
        let changes: Vec<Change> =
            nodes.chain(said.map(|it| Change::Comment(comments.comment(it)))).collect();
        if !self.0.is_empty() {
            let mut attachments = old.attachments().clone();
            attachments.retain(|node, _| !self.0.contains_key(node));
            snapshot.investigation = Arc::new(old.with(&changes).with_attachments(attachments));
        }
        self.faults(&mut snapshot.faults);
    }

    /// Leaves their texts out of the history that led to a state.
    pub fn hide_in(&self, history: &mut [HistoryEntry], snapshot: &Snapshot) {
        let happenings = history.iter().flat_map(|entry| &entry.happenings);
        let told: Vec<Arc<Comment>> = happenings.filter_map(|it| it.comment().cloned()).collect();
        let known = told.iter().chain(snapshot.investigation.comments()).map(|it| (it.id, it)).collect();
        let comments = Comments { withheld: self, known };
        for entry in history {
            let touched = entry.paths.iter().find_map(|path| match layout::place(path) {
                Place::Node(id) | Place::Attachment(id, _) => self.0.get(&id),
                _ => None,
            });
            // Of a commit that is not read whole nobody knows what it touched.
            let unknown = self.0.values().next().filter(|_| !entry.gaps.is_empty());
            let happened = entry.happenings.iter().find_map(|happening| match happening.comment() {
                Some(comment) => comments.label(comment),
                None => self.0.get(happening.node_id()?),
            });
            if let Some(label) = touched.or(happened).or(unknown) {
                entry.message.clone_from(label);
            }
            entry.paths.retain(|path| !self.is_attachment(path));
            entry.happenings = entry.happenings.drain(..).map(|it| self.happening(it, &comments)).collect();
            self.faults(&mut entry.faults);
        }
    }

    /// Whether the path is that of an attachment of one of the nodes, or of what has gone astray there.
    fn is_attachment(&self, path: &str) -> bool {
        match layout::place(path) {
            Place::Attachment(node, _) => self.0.contains_key(&node),
            _ => {
                path.starts_with(layout::ATTACHMENTS)
                    && !self.0.is_empty()
                    && layout::place(path) == Place::Stray
            }
        }
    }

    fn faults(&self, faults: &mut Vec<Fault>) {
        faults.retain(|fault| !self.is_attachment(&fault.path));
        for fault in faults {
            let label = match layout::place(&fault.path) {
                Place::Node(id) => self.0.get(&id),
                // Of one that can't be read nobody knows what it is about.
                Place::Comment(_) => self.0.values().next(),
                _ => None,
            };
            if let Some(label) = label {
                fault.reason.clone_from(label);
            }
        }
    }

    fn happening(&self, happening: Happening, comments: &Comments<'_>) -> Happening {
        let node = |node: Arc<Node>| self.node(&node);
        let name = |node: &NodeId, name| match self.0.contains_key(node) {
            true => AttachmentName::withheld(),
            false => name,
        };
        match happening {
            Happening::Proposed(it) => Happening::Proposed(node(it)),
            Happening::Withdrawn(it) => Happening::Withdrawn(node(it)),
            Happening::Claimed(it) => Happening::Claimed(node(it)),
            Happening::Released(it) => Happening::Released(node(it)),
            Happening::Committed(it) => Happening::Committed(node(it)),
            Happening::OtherResult(it, number) => Happening::OtherResult(node(it), number),
            Happening::Reclassified(it, mut change) => {
                if let Some(label) = self.0.get(&it.id) {
                    Texts(label).reclassification(&mut change);
                }
                Happening::Reclassified(node(it), change)
            }
            Happening::Amended(it, mut amendment) => {
                if let Some(label) = self.0.get(&it.id) {
                    Texts(label).amendment(&mut amendment);
                }
                Happening::Amended(node(it), amendment)
            }
            Happening::Edited(it) => Happening::Edited(node(it)),
            Happening::Removed(it) => Happening::Removed(node(it)),
            Happening::Commented(it) => Happening::Commented(comments.comment(&it)),
            Happening::CommentEdited(it) => Happening::CommentEdited(comments.comment(&it)),
            Happening::CommentRemoved(it) => Happening::CommentRemoved(comments.comment(&it)),
            Happening::Attached(it, at) => {
                let at = name(&it, at);
                Happening::Attached(it, at)
            }
            Happening::AttachmentChanged(it, at) => {
                let at = name(&it, at);
                Happening::AttachmentChanged(it, at)
            }
            Happening::AttachmentRemoved(it, at) => {
                let at = name(&it, at);
                Happening::AttachmentRemoved(it, at)
            }
            Happening::Started | Happening::Ended(_) | Happening::Reopened => happening,
        }
    }

    fn node(&self, node: &Arc<Node>) -> Arc<Node> {
        let Some(label) = self.0.get(&node.id) else { return Arc::clone(node) };
        let texts = Texts(label);
        // Each field is named, so that a new one is thought of here.
        let Node {
            id,
            parent,
            title: _,
            planned_action,
            proposed_at,
            covers: _,
            renamed_from,
            claim,
            classification,
        } = node.as_ref().clone();
        let mut hidden = Node {
            id,
            parent,
            title: label.clone(),
            planned_action,
            proposed_at,
            covers: Vec::new(),
            renamed_from,
            claim,
            classification,
        };
        texts.text(&mut hidden.planned_action);
        if let Some(classification) = &mut hidden.classification {
            texts.classification(classification);
        }
        Arc::new(hidden)
    }
}

/// Comments, by what they are about in the end.
struct Comments<'a> {
    withheld: &'a Withheld,
    known: BTreeMap<CommentId, &'a Arc<Comment>>,
}

impl<'a> Comments<'a> {
    /// What stands in the place of a comment's text, where it is about a withheld node or answers what is.
    fn label(&self, comment: &Comment) -> Option<&'a String> {
        let mut about = comment;
        // As many steps as there are comments: by hand they can be made to answer each other in a circle.
        for _ in 0..=self.known.len() {
            let label = about.node.as_ref().and_then(|node| self.withheld.0.get(node));
            if label.is_some() {
                return label;
            }
            about = about.reply_to.and_then(|id| self.known.get(&id))?;
        }
        None
    }

    fn comment(&self, comment: &Arc<Comment>) -> Arc<Comment> {
        let Some(label) = self.label(comment) else { return Arc::clone(comment) };
        Arc::new(Comment { text: label.clone(), ..comment.as_ref().clone() })
    }
}

/// What stands in the place of the texts of one node.
struct Texts<'a>(&'a String);

impl Texts<'_> {
    fn text(&self, text: &mut String) {
        if text.trim().is_empty() {
            return;
        }
        *text = if says_nothing(text) { NOTHING.to_owned() } else { self.0.clone() };
    }

    fn texts<'t>(&self, texts: impl IntoIterator<Item = &'t mut String>) {
        texts.into_iter().for_each(|text| self.text(text));
    }

    /// One stands for all of a list.
    fn list(&self, list: &mut Vec<String>) {
        list.truncate(1);
        self.texts(list);
    }

    fn commands(&self, commands: &mut Vec<Command>) {
        commands.truncate(1);
        for command in commands {
            *command = Command { command: self.0.clone(), exit_code: None, output: None };
        }
    }

    fn warnings(&self, warnings: &mut [Warning]) {
        for Warning { code: _, message } in warnings {
            message.clone_from(self.0);
        }
    }

    fn classification(&self, it: &mut Classification) {
        let Classification {
            state: _,
            requested_state: _,
            refutes: _,
            agent_id: _,
            caller: _,
            started_at: _,
            committed_at: _,
            headline,
            findings,
            evidence,
            verification_method,
            alternatives_considered,
            commands,
            references,
            links: _,
            warnings,
            reclassified,
            amended,
            other_results,
        } = it;
        self.text(findings);
        self.texts([headline, evidence, verification_method].into_iter().flatten());
        self.list(alternatives_considered);
        self.commands(commands);
        references.clear();
        self.warnings(warnings);
        reclassified.iter_mut().for_each(|change| self.reclassification(change));
        amended.iter_mut().for_each(|amendment| self.amendment(amendment));
        other_results.iter_mut().for_each(|other| self.classification(other));
    }

    fn reclassification(&self, it: &mut Reclassification) {
        let Reclassification {
            from: _,
            to: _,
            at: _,
            by: _,
            caller: _,
            reason,
            evidence,
            verification_method,
            alternatives_considered,
            warnings,
            settles: _,
        } = it;
        self.texts([reason, evidence, verification_method].into_iter().flatten());
        self.list(alternatives_considered);
        self.warnings(warnings);
    }

    fn amendment(&self, it: &mut Amendment) {
        let Amendment {
            at: _,
            agent_id: _,
            caller: _,
            reason,
            title,
            headline,
            findings,
            evidence,
            alternatives_considered,
            commands,
            references,
        } = it;
        self.text(reason);
        self.texts([title, headline, findings, evidence].into_iter().flatten());
        alternatives_considered.iter_mut().for_each(|list| self.list(list));
        commands.iter_mut().for_each(|commands| self.commands(commands));
        references.iter_mut().for_each(Vec::<Citation>::clear);
    }
}
