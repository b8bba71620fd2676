//! Withholds the text of some nodes from publication and replaces it with a note naming the person who withholds it.
//!
//! Ids, states and times remain, as does everything derived from them. The text is replaced in the input of a report,
//! so every page, drawing, index, feed and file is covered.
//!
//! 1. [`List`] contains the nodes that a person listed.
//! 2. [`List::follow`] finds them: a short id stands for every node that ever had it.
//! 3. [`Withheld`] replaces their text in any state of the investigation, and in its history.
//!
//! # Replaced text
//!
//! - All past and present text of the nodes, including wording before amendments.
//! - Attachments of the nodes, including the file names.
//! - Comments on the nodes, and answers to these comments.
//! - Runs that belong to the nodes.
//! - Commit messages, since each may quote the withheld text. Those of calls that touched none of the nodes keep their
//!   subject and trailers, which quote nothing.
//! - Errors in the nodes' files.
//!
//! # Limitations
//!
//! - Agents, clients, sessions, commit authors and times are not withheld.
//! - Copies of the text elsewhere, such as in the conclusion, the question or other nodes, are not detected. Nothing is
//!   removed from the repository.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use crate::decide::run::named;
use crate::domain::node::{NodeText, says_nothing};
use crate::domain::run::{Ended, Expectation, Output, ProjectState, Ran};
use crate::domain::{
    AttachmentName, Caller, Change, ClaimHash, Command, Comment, CommentId, CommentKind, Happening,
    Investigation, Node, NodeId, Run, RunId, RunKind, TextEdit, Warning,
};
use crate::format::layout::{self, FileRole, WITHHELD};
use crate::format::withheld_file::{self, Withholding};
use crate::markdown::named_runs;
use crate::ruleset::corrections;
use crate::store::{Fault, HistoryEntry, Snapshot, StoreError};
use crate::text::{one_line, shorten};
use crate::yaml::YamlError;

/// The maximum length of a replacement, in characters.
const LENGTH: usize = 300;
/// The replacement for meaningless text. The replacement must also be meaningless, because meaningless text lowers the
/// value of a confirmation.
const NOTHING: &str = "–";

/// The replacement for each node's text, by id.
type Labels = BTreeMap<NodeId, String>;

/// The nodes to withhold, each with the replacement for its text. An id without digest stands for all nodes with that short
/// id.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct List(Labels);

/// An error in the list of withheld nodes. It prevents publication.
#[derive(Debug, thiserror::Error)]
pub enum WithheldError {
    /// The file is not a list of withheld nodes.
    #[error("the list of withheld nodes, {WITHHELD}, can't be read")]
    Yaml(#[source] YamlError),
    /// A listed node does not exist in the investigation.
    #[error("{0} can't be withheld: it is not a node of the investigation")]
    Stranger(NodeId),
    /// The file has uncommitted changes, but only the committed list applies.
    #[error("{WITHHELD} has uncommitted changes, but only the committed list applies")]
    Uncommitted,
    /// A file looks like the list, but is not used.
    #[error(
        "the file {0} looks like a list of withheld nodes, but only {WITHHELD} in the investigation's folder is one"
    )]
    Misnamed(String),
    /// A git error.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl WithheldError {
    /// Returns a hint for the person, if there is one.
    pub fn hint(&self) -> Option<String> {
        match self {
            WithheldError::Uncommitted => Some(format!(
                "Commit it in the investigation's folder: `git add {WITHHELD}` and `git commit -m Withhold {WITHHELD}`. To \
                 withhold only the committed list, use --ignore-uncommitted"
            )),
            WithheldError::Misnamed(_) => Some(format!(
                "Rename it to {WITHHELD} there and commit it. If it is something else, give it another name"
            )),
            WithheldError::Store(error) => error.hint(),
            WithheldError::Yaml(_) | WithheldError::Stranger(_) => None,
        }
    }
}

impl List {
    /// Parses the content of [`layout::WITHHELD`]. If there is no such file, the list is empty.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is not a list of withheld nodes.
    pub fn read(text: Option<&str>) -> Result<List, WithheldError> {
        let mut list = List::default();
        let read = text.map(withheld_file::read).transpose().map_err(WithheldError::Yaml)?;
        for (node, Withholding { by, why }) in read.into_iter().flatten() {
            list.add(node, &by, why.as_deref());
        }
        Ok(list)
    }

    /// Adds a node, with the person who withholds it and the reason.
    pub fn add(&mut self, node: NodeId, by: &str, why: Option<&str>) {
        let why = why.map(|why| format!(": {why}")).unwrap_or_default();
        self.0.insert(node, shorten(&one_line(&format!("Withheld by {by}{why}")), LENGTH));
    }

    /// Returns whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Finds the listed nodes in the history that led to `snapshot`. The nodes may also occur in the states in
    /// `beside`.
    ///
    /// # Errors
    ///
    /// Returns an error if a listed id never existed. The id may be misspelled, in which case the intended node would
    /// be published.
    pub fn follow(
        self,
        snapshot: &Snapshot,
        history: &[HistoryEntry],
        beside: &[&Snapshot],
    ) -> Result<Withheld, WithheldError> {
        let mut all: BTreeSet<NodeId> = BTreeSet::new();
        for state in std::iter::once(&snapshot).chain(beside).map(|state| &state.investigation) {
            all.extend(state.nodes().chain(state.withdrawn()).map(|node| node.id.clone()));
            all.extend(state.unreadable().iter().cloned());
        }
        let written =
            history.iter().flat_map(|entry| &entry.paths).filter_map(|path| match layout::file_role(path) {
                FileRole::Node(id) => Some(id),
                _ => None,
            });
        all.extend(written);
        let mut labels = Labels::new();
        for (listed, label) in self.0 {
            let mut meant = all.iter().filter(|id| id.is_named(&listed)).peekable();
            if meant.peek().is_none() {
                return Err(WithheldError::Stranger(listed));
            }
            labels.extend(meant.map(|id| (id.clone(), label.clone())));
        }
        Ok(Withheld { labels })
    }
}

/// The nodes to withhold, in every state of the investigation.
#[derive(Clone, Debug, Default)]
pub struct Withheld {
    labels: Labels,
}

impl Withheld {
    /// Returns whether a file is attached to a withheld node, or may be.
    pub fn hides_file(&self, path: &str) -> bool {
        !self.labels.is_empty() && is_attachment(path, &self.labels)
    }

    /// Replaces the withheld text in a state. Returns the ids of the withheld nodes in that state.
    pub fn hide(&self, snapshot: &mut Snapshot) -> Vec<NodeId> {
        let labels = &self.labels;
        let old = &snapshot.investigation;
        let said = old.comments().filter_map(|it| Some((it.id, labels.get(it.node.as_ref()?)?.clone())));
        let comments =
            CommentLabels { said: said.collect(), known: old.comments().map(|it| (it.id, it)).collect() };
        let mut nodes: BTreeMap<&NodeId, Arc<Node>> = BTreeMap::new();
        for (id, label) in labels {
            nodes.extend(old.node(id).map(|node| {
                let mut hidden = hidden(node, label);
                // What it rests on stays known without the text that names it.
                if let Some(result) = &mut Arc::make_mut(&mut hidden).classification {
                    let new = cited_runs(old, node).filter(|run| !result.runs.contains(run));
                    let new: BTreeSet<RunId> = new.collect();
                    result.runs.extend(new);
                }
                (id, hidden)
            }));
        }
        // The claim that somebody saw becomes the claim without the withheld text, or stays another one.
        let replace_claim = |id: &NodeId, by: Option<(Option<&str>, &Caller)>, saw: &mut ClaimHash| {
            if let (Some(hidden), Some(node)) = (nodes.get(id), old.node(id)) {
                let is_as_seen = match by {
                    Some(by) => corrections::has_seen(old, node, *saw, by),
                    None => node.claim_hash() == Some(*saw),
                };
                *saw = hidden.claim_hash().filter(|_| is_as_seen).unwrap_or(ClaimHash::GONE);
            }
        };
        let mut changes = Vec::new();
        for node in old.nodes().filter(|_| !nodes.is_empty()) {
            let mut new = nodes.get(&node.id).map_or_else(|| Node::clone(node), |it| Node::clone(it));
            new.visit_seen(replace_claim);
            changes.extend((new != **node).then(|| Change::Node(Arc::new(new))));
        }
        for comment in old.comments() {
            let Some(label) = comments.label(comment) else { continue };
            let mut new = hidden_comment(comment, label);
            if let Comment { node: Some(node), saw: Some(saw), .. } = Arc::make_mut(&mut new) {
                replace_claim(node, None, saw);
            }
            // The edits become one that changes nothing, or, if they were too many to be few, none.
            if comment.kind == CommentKind::Correction {
                let same = TextEdit { old: label.clone(), new: label.clone() };
                let edits = (corrections::is_small(old, comment) == Some(true)).then_some(same);
                Arc::make_mut(&mut new).edits = edits.into_iter().collect();
            }
            changes.push(Change::Comment(new));
        }
        let labels_of_runs = run_labels(old, labels);
        let hidden_runs = old.runs().filter_map(|run| Some(hidden_run(run, labels_of_runs.get(&run.id)?)));
        changes.extend(hidden_runs.map(Change::Run));
        if !labels.is_empty() {
            let mut attachments = old.attachments().clone();
            attachments.retain(|node, _| !labels.contains_key(node));
            snapshot.investigation = Arc::new(old.with(&changes).with_attachments(attachments));
        }
        hide_faults(&mut snapshot.faults, labels);
        labels.keys().filter(|id| snapshot.investigation.node(id).is_some()).cloned().collect()
    }

    /// Replaces the withheld text in the history that led to `snapshot`.
    pub fn hide_in(&self, history: &mut [HistoryEntry], snapshot: &Snapshot) {
        let labels = &self.labels;
        let Some(any) = labels.values().next() else { return };
        let mut said = HashMap::new();
        let then = history.iter().flat_map(|entry| entry.happenings.iter().filter_map(Happening::comment));
        let (mut known, mut about) = (HashMap::new(), Vec::new());
        for comment in then.chain(snapshot.investigation.comments()) {
            let label = comment.node.as_ref().and_then(|node| labels.get(node));
            said.extend(label.map(|label| (comment.id, label.clone())));
            about.push(Arc::clone(comment));
        }
        known.extend(about.iter().map(|comment| (comment.id, comment)));
        let comments = CommentLabels { said, known };
        let runs = run_labels(&snapshot.investigation, labels);
        for entry in history.iter_mut() {
            let of_run = |happening: &Happening| runs.get(&happening.run()?.id);
            let label_of = |happening: &Happening| match happening.comment() {
                Some(comment) => comments.label(comment),
                None => of_run(happening).or_else(|| labels.get(happening.node_id()?)),
            };
            let touched = entry.paths.iter().find_map(|path| match layout::file_role(path) {
                FileRole::Node(id) | FileRole::Attachment(id, _) => labels.get(&id),
                _ => None,
            });
            let happened = entry.happenings.iter().find_map(label_of);
            // A commit that was only partially read may have touched any node.
            let unknown = Some(any).filter(|_| !entry.gaps.is_empty());
            entry.message = match touched.or(happened).or(unknown) {
                None if entry.is_of_call() => entry.message_without_body(),
                label => label.unwrap_or(any).clone(),
            };
            entry.paths.retain(|path| !is_attachment(path, labels));
            for happening in &mut entry.happenings {
                if let Some(label) = label_of(happening).cloned() {
                    hide_happening(happening, &label);
                }
            }
            hide_faults(&mut entry.faults, labels);
        }
    }
}

/// Returns whether the path is an attachment of a withheld node, or a stray file among attachments.
fn is_attachment(path: &str, labels: &Labels) -> bool {
    match layout::file_role(path) {
        FileRole::Attachment(node, _) => labels.contains_key(&node),
        place => path.starts_with(layout::ATTACHMENTS) && place == FileRole::Stray,
    }
}

fn hide_faults(faults: &mut Vec<Fault>, labels: &Labels) {
    let any = labels.values().next();
    faults.retain(|fault| any.is_none() || !is_attachment(&fault.path, labels));
    for fault in faults {
        let label = match layout::file_role(&fault.path) {
            FileRole::Node(id) => labels.get(&id),
            // The node that an unreadable record refers to is unknown.
            FileRole::Comment(_) | FileRole::Run(_) => any,
            _ => None,
        };
        if let Some(label) = label {
            fault.reason.clone_from(label);
        }
    }
}

fn hide_happening(happening: &mut Happening, label: &str) {
    match happening {
        Happening::Proposed(it)
        | Happening::Withdrawn(it)
        | Happening::Claimed(it)
        | Happening::Released(it)
        | Happening::Committed(it)
        | Happening::OtherResult(it, _)
        | Happening::Edited(it)
        | Happening::Removed(it) => *it = hidden(it, label),
        Happening::Reclassified(it, change) => {
            *it = hidden(it, label);
            change.visit_texts(&mut |text| TextWithholder(label).node_text(text));
        }
        Happening::Amended(it, amendment) => {
            *it = hidden(it, label);
            amendment.visit_texts(&mut |text| TextWithholder(label).node_text(text));
        }
        Happening::Commented(it) | Happening::CommentEdited(it) | Happening::CommentRemoved(it) => {
            *it = hidden_comment(it, label);
        }
        Happening::Ran(it) | Happening::RunEdited(it) | Happening::RunRemoved(it) => {
            *it = hidden_run(it, label);
        }
        Happening::Attached(_, name)
        | Happening::AttachmentChanged(_, name)
        | Happening::AttachmentRemoved(_, name) => *name = AttachmentName::withheld(),
        Happening::Started | Happening::Ended(_) | Happening::Reopened => {}
    }
}

fn hidden_comment(comment: &Arc<Comment>, label: &str) -> Arc<Comment> {
    Arc::new(Comment { text: label.to_owned(), edits: Vec::new(), ..comment.as_ref().clone() })
}

/// Returns the replacements for the text in runs, by run id. This covers the runs of withheld nodes, the runs that
/// their results cite, and all repetitions and judgments of those runs.
fn run_labels(investigation: &Investigation, labels: &Labels) -> HashMap<RunId, String> {
    let mut hidden: HashMap<RunId, String> = HashMap::new();
    for (id, label) in labels {
        let Some(node) = investigation.node(id) else { continue };
        let named = node.results().flat_map(|result| &result.runs).copied();
        hidden.extend(named.chain(cited_runs(investigation, node)).map(|run| (run, label.clone())));
    }
    // Runs are in chronological order, so a run precedes its repetitions, which in turn precede their judgments.
    for run in investigation.runs() {
        let label = run.node.as_ref().and_then(|node| labels.get(node));
        let label = label.or_else(|| hidden.get(&run.of()?)).cloned();
        hidden.extend(label.map(|label| (run.id, label)));
    }
    hidden
}

/// Returns the captured runs that the findings of a node name as sources.
fn cited_runs<'i>(investigation: &'i Investigation, node: &'i Node) -> impl Iterator<Item = RunId> + 'i {
    let parts = node.results().flat_map(|result| named_runs(&result.findings));
    parts.filter_map(|part| {
        let mut runs = named(investigation, &part).filter(|run| matches!(run.what, RunKind::Captured(_)));
        let only = runs.next()?.id;
        runs.next().is_none().then_some(only)
    })
}

fn hidden_run(run: &Arc<Run>, label: &str) -> Arc<Run> {
    let texts = TextWithholder(label);
    // Names every field so that a new one can't be forgotten.
    let Run { id, node, author, at, mut note, mut what } = run.as_ref().clone();
    texts.texts(&mut note);
    match &mut what {
        RunKind::Captured(ran) | RunKind::Repeated { of: _, at: _, verdict: _, ran } => texts.ran(ran),
        RunKind::Expected { of: _, expectations } => texts.expectations(expectations),
        RunKind::Judged { of: _, holds: _ } | RunKind::Retracted { of: _ } => {}
    }
    Arc::new(Run { id, node, author, at, note, what })
}

fn hidden(node: &Node, label: &str) -> Arc<Node> {
    let mut hidden = node.clone();
    hidden.visit_texts(&mut |text| TextWithholder(label).node_text(text));
    Arc::new(hidden)
}

/// The comments, with the nodes they are about.
struct CommentLabels<'a> {
    /// The labels of comments that were on a withheld node at any time.
    said: HashMap<CommentId, String>,
    known: HashMap<CommentId, &'a Arc<Comment>>,
}

impl CommentLabels<'_> {
    /// Returns the label of a comment that is about a withheld node or answers such a comment.
    fn label(&self, comment: &Comment) -> Option<&String> {
        let mut about = comment;
        // Limited to the number of comments, because a manual edit can create a cycle of answers.
        for _ in 0..=self.known.len() {
            if let Some(label) = self.said.get(&about.id) {
                return Some(label);
            }
            about = about.reply_to.and_then(|id| self.known.get(&id))?;
        }
        None
    }
}

/// Replaces the text of a node by a label.
struct TextWithholder<'a>(&'a str);

impl TextWithholder<'_> {
    fn text(&self, text: &mut String) {
        if text.trim().is_empty() {
            return;
        }
        *text = if says_nothing(text) { NOTHING } else { self.0 }.to_owned();
    }

    fn texts<'t>(&self, texts: impl IntoIterator<Item = &'t mut String>) {
        texts.into_iter().for_each(|text| self.text(text));
    }

    /// Replaces the list with at most one entry.
    fn list(&self, list: &mut Vec<String>) {
        list.truncate(1);
        self.texts(list);
    }

    fn commands(&self, commands: &mut Vec<Command>) {
        commands.truncate(1);
        for one in commands {
            *one = Command { command: self.0.to_owned(), exit_code: None, output: None };
        }
    }

    fn expectations(&self, expectations: &mut [Expectation]) {
        for Expectation { pattern, range, found, held: _ } in expectations {
            self.text(pattern);
            (*range, *found) = (None, None);
        }
    }

    /// Replaces the text of a run. Removes the output and its size, but keeps the outcome and the duration.
    fn ran(&self, it: &mut Ran) {
        let Ran {
            command,
            folder,
            project,
            started_at: _,
            seconds: _,
            timeout: _,
            ended,
            output,
            expectations,
            attachments,
            files,
            variables,
            setup,
            inputs,
            input_folders,
            refs,
            traced: _,
            pinned: _,
            expected_exit: _,
            system: _,
            plain: _,
        } = it;
        self.list(command);
        self.texts(folder);
        self.texts(setup);
        if let Some(ProjectState { commit: _, changed, patch, untracked, ignored, behind: _ }) = project {
            changed.clear();
            untracked.clear();
            ignored.clear();
            *patch = None;
        }
        if let Ended::NotRun(reason) = ended {
            self.text(reason);
        }
        *output = Output::default();
        self.expectations(expectations);
        inputs.clear();
        input_folders.clear();
        refs.clear();
        variables.clear();
        files.clear();
        attachments.clear();
    }

    fn node_text(&self, text: NodeText<'_>) {
        match text {
            NodeText::Title(title) => *title = self.0.to_owned(),
            NodeText::One(text) => self.text(text),
            NodeText::Covers(covers) => covers.clear(),
            NodeText::List(list) | NodeText::Caveats(list) => self.list(list),
            NodeText::Commands(commands) => self.commands(commands),
            NodeText::Citations(citations) => citations.clear(),
            NodeText::Warnings(warnings) => {
                for Warning { code: _, message } in warnings {
                    *message = self.0.to_owned();
                }
            }
        }
    }
}
