//! Withholds the text of some nodes from publication and replaces it with a note naming the person who withholds it.
//!
//! Ids, states and times remain, as does everything derived from them. The text is replaced in the input of a report,
//! so every page, drawing, index, feed and file is covered.
//!
//! 1. [`List`] contains the nodes that a person listed.
//! 2. [`List::follow`] finds them: a short id stands for every node that ever had it. It also finds quotations of their
//!    text in commit messages.
//! 3. [`Withheld`] replaces their text in any state of the investigation, and in its history.
//!
//! # Replaced text
//!
//! - All past and present text of the nodes, including wording before amendments.
//! - Attachments of the nodes, including the file names.
//! - Comments on the nodes, and answers to these comments.
//! - Runs that belong to the nodes.
//! - Commit messages that quote the withheld text or belong to commits that touched one of the nodes.
//! - Errors in the nodes' files.
//!
//! # Limitations
//!
//! - Agents, clients, sessions, commit authors and times are not withheld.
//! - Copies of the text elsewhere, such as in the conclusion, the question or other nodes, are not detected. Nothing is
//!   removed from the repository.
//! - A message counts as a quotation if it contains `RUN` consecutive words of a passage, or the whole of a shorter
//!   passage.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use crate::domain::node::{NodeText, says_nothing};
use crate::domain::run::{Ended, Expectation, Output, ProjectState, Ran};
use crate::domain::{
    AttachmentName, Caller, Change, Citation, ClaimHash, Command, Comment, CommentId, CommentKind, Happening,
    Investigation, Node, NodeId, Pin, Run, RunId, RunKind, TextEdit, Warning,
};
use crate::format::layout::{self, FileRole, WITHHELD};
use crate::format::withheld_file::{self, Withholding};
use crate::ruleset::corrections;
use crate::store::{Fault, HistoryEntry, Snapshot, StoreError};
use crate::text::{one_line, shorten};
use crate::yaml::YamlError;

/// The maximum length of a replacement, in characters.
const LENGTH: usize = 300;
/// The replacement for meaningless text. The replacement must also be meaningless, because meaningless text lowers the
/// value of a confirmation.
const NOTHING: &str = "–";
/// The number of consecutive words that count as a quotation.
const RUN: usize = 5;
/// The minimum number of letters in a shorter passage that counts as a quotation. If the passage has fewer letters, the
/// line must also name the node.
const LETTERS: usize = 12;

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
        let mut withheld =
            Withheld { labels: self.expanded(snapshot, history, beside)?, ..Withheld::default() };
        if withheld.labels.is_empty() {
            return Ok(withheld);
        }
        let mut seen = Vec::new();
        withheld.replace_in(&mut history.to_vec(), snapshot, &mut seen);
        withheld.replace(&mut snapshot.clone(), &mut seen);
        let mut quotes = Quotes::of(seen);
        quotes.forget_public(&withheld, snapshot);
        withheld.quotes = quotes;
        Ok(withheld)
    }

    /// Returns the listed nodes by their whole ids.
    fn expanded(
        self,
        snapshot: &Snapshot,
        history: &[HistoryEntry],
        beside: &[&Snapshot],
    ) -> Result<Labels, WithheldError> {
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
        Ok(labels)
    }
}

/// The nodes to withhold, in every state of the investigation.
#[derive(Clone, Debug, Default)]
pub struct Withheld {
    labels: Labels,
    quotes: Quotes,
}

/// The replaced text, with the replacements.
type Replaced = Vec<(String, String)>;

impl Withheld {
    /// Replaces the withheld text in a state. Returns the ids of the withheld nodes in that state.
    pub fn hide(&self, snapshot: &mut Snapshot) -> Vec<NodeId> {
        self.replace(snapshot, &mut Replaced::new())
    }

    /// Replaces the withheld text in the history that led to `snapshot`.
    pub fn hide_in(&self, history: &mut [HistoryEntry], snapshot: &Snapshot) {
        self.replace_in(history, snapshot, &mut Replaced::new());
    }

    fn replace(&self, snapshot: &mut Snapshot, seen: &mut Replaced) -> Vec<NodeId> {
        let Withheld { labels, .. } = self;
        let old = &snapshot.investigation;
        let said = old.comments().filter_map(|it| Some((it.id, labels.get(it.node.as_ref()?)?.clone())));
        let comments =
            CommentLabels { said: said.collect(), known: old.comments().map(|it| (it.id, it)).collect() };
        let mut nodes: BTreeMap<&NodeId, Arc<Node>> = BTreeMap::new();
        for (id, label) in labels {
            nodes.extend(old.node(id).map(|node| (id, hidden(node, label, seen))));
            for name in old.attachments_of(id).keys() {
                seen.push((name.to_string(), label.clone()));
            }
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
            let mut new = hidden_comment(comment, label, seen);
            if let Comment { node: Some(node), saw: Some(saw), .. } = Arc::make_mut(&mut new) {
                replace_claim(node, None, saw);
            }
            // The edits become one that changes nothing, or, if they were too many to be few, none.
            if comment.kind == CommentKind::Correction {
                let same = TextEdit { old: label.clone(), new: label.clone() };
                let edits = corrections::is_small(old, comment).then_some(same);
                Arc::make_mut(&mut new).edits = edits.into_iter().collect();
            }
            changes.push(Change::Comment(new));
        }
        let labels_of_runs = run_labels(old, labels);
        let hidden_runs =
            old.runs().filter_map(|run| Some(hidden_run(run, labels_of_runs.get(&run.id)?, seen)));
        changes.extend(hidden_runs.map(Change::Run));
        if !labels.is_empty() {
            let mut attachments = old.attachments().clone();
            attachments.retain(|node, _| !labels.contains_key(node));
            snapshot.investigation = Arc::new(old.with(&changes).with_attachments(attachments));
        }
        hide_faults(&mut snapshot.faults, labels);
        labels.keys().filter(|id| snapshot.investigation.node(id).is_some()).cloned().collect()
    }

    fn replace_in(&self, history: &mut [HistoryEntry], snapshot: &Snapshot, seen: &mut Replaced) {
        let Withheld { labels, quotes } = self;
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
            let quoted = || quotes.label(&entry.message, labels);
            if let Some(label) = touched.or(happened).or(unknown).or_else(quoted) {
                entry.message = label.clone();
            }
            entry.paths.retain(|path| !is_attachment(path, labels));
            for happening in &mut entry.happenings {
                if let Some(label) = label_of(happening).cloned() {
                    hide_happening(happening, &label, seen);
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

fn hide_happening(happening: &mut Happening, label: &String, seen: &mut Replaced) {
    match happening {
        Happening::Proposed(it)
        | Happening::Withdrawn(it)
        | Happening::Claimed(it)
        | Happening::Released(it)
        | Happening::Committed(it)
        | Happening::OtherResult(it, _)
        | Happening::Edited(it)
        | Happening::Removed(it) => *it = hidden(it, label, seen),
        Happening::Reclassified(it, change) => {
            *it = hidden(it, label, seen);
            let mut texts = TextWithholder { label, seen };
            change.visit_texts(&mut |text| texts.node_text(text));
        }
        Happening::Amended(it, amendment) => {
            *it = hidden(it, label, seen);
            let mut texts = TextWithholder { label, seen };
            amendment.visit_texts(&mut |text| texts.node_text(text));
        }
        Happening::Commented(it) | Happening::CommentEdited(it) | Happening::CommentRemoved(it) => {
            *it = hidden_comment(it, label, seen);
        }
        Happening::Ran(it) | Happening::RunEdited(it) | Happening::RunRemoved(it) => {
            *it = hidden_run(it, label, seen);
        }
        Happening::Attached(_, name)
        | Happening::AttachmentChanged(_, name)
        | Happening::AttachmentRemoved(_, name) => *name = hidden_name(name, label, seen),
        Happening::Started | Happening::Ended(_) | Happening::Reopened => {}
    }
}

fn hidden_comment(comment: &Arc<Comment>, label: &str, seen: &mut Replaced) -> Arc<Comment> {
    let edits = comment.edits.iter().flat_map(|edit| [&edit.old, &edit.new]);
    seen.extend(edits.chain([&comment.text]).map(|text| (text.clone(), label.to_owned())));
    Arc::new(Comment { text: label.to_owned(), edits: Vec::new(), ..comment.as_ref().clone() })
}

/// Returns the replacements for the text in runs, by run id. This covers the runs of withheld nodes, the runs that
/// their results cite, and all repetitions and judgments of those runs.
fn run_labels(investigation: &Investigation, labels: &Labels) -> HashMap<RunId, String> {
    let mut hidden: HashMap<RunId, String> = HashMap::new();
    for (id, label) in labels {
        let results = investigation.node(id).into_iter().flat_map(|node| node.results());
        hidden.extend(results.flat_map(|result| &result.runs).map(|run| (*run, label.clone())));
    }
    // Runs are in chronological order, so a run precedes its repetitions, which in turn precede their judgments.
    for run in investigation.runs() {
        let label = run.node.as_ref().and_then(|node| labels.get(node));
        let label = label.or_else(|| hidden.get(&run.of()?)).cloned();
        hidden.extend(label.map(|label| (run.id, label)));
    }
    hidden
}

fn hidden_run(run: &Arc<Run>, label: &String, seen: &mut Replaced) -> Arc<Run> {
    let mut texts = TextWithholder { label, seen };
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

fn hidden_name(name: &AttachmentName, label: &str, seen: &mut Replaced) -> AttachmentName {
    seen.push((name.to_string(), label.to_owned()));
    AttachmentName::withheld()
}

fn hidden(node: &Node, label: &String, seen: &mut Replaced) -> Arc<Node> {
    let (mut hidden, mut texts) = (node.clone(), TextWithholder { label, seen });
    hidden.visit_texts(&mut |text| texts.node_text(text));
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

/// The replaced text, for recognizing messages that quote it.
#[derive(Clone, Debug, Default)]
struct Quotes {
    /// Word sequences, joined by spaces, each with its label.
    runs: HashMap<String, String>,
    /// Sequences that are too short to count as quotations on their own.
    short: HashMap<String, String>,
}

impl Quotes {
    fn of(seen: Replaced) -> Quotes {
        let mut quotes = Quotes::default();
        for (text, label) in seen {
            for run in text.lines().flat_map(runs) {
                let letters = run.chars().filter(|c| *c != ' ').count();
                let is_long = letters >= LETTERS || run.matches(' ').count() + 1 == RUN;
                let runs = if is_long { &mut quotes.runs } else { &mut quotes.short };
                runs.insert(run, label.clone());
            }
        }
        quotes
    }

    /// Removes public text: the text of the investigation itself and of other nodes.
    fn forget_public(&mut self, withheld: &Withheld, snapshot: &Snapshot) {
        let state = &snapshot.investigation;
        let meta = state.meta();
        let texts = [Some(&meta.title), Some(&meta.query), meta.context.as_ref()].into_iter().flatten();
        let end = state.report().map(|end| [Some(&end.bottom_line), end.conclusion.as_ref()]);
        let mut public: Replaced = texts
            .chain(end.into_iter().flatten().flatten())
            .map(|text| (text.clone(), String::new()))
            .collect();
        for node in state.nodes().filter(|node| !withheld.labels.contains_key(&node.id)) {
            hidden(node, &String::new(), &mut public);
        }
        for run in public.iter().flat_map(|(text, _)| text.lines()).flat_map(runs) {
            self.runs.remove(&run);
            self.short.remove(&run);
        }
    }

    /// Returns the replacement for a message that quotes withheld text.
    fn label(&self, message: &str, labels: &Labels) -> Option<&String> {
        message.lines().find_map(|line| {
            let words = words(line);
            let names_one = labels.keys().any(|id| line.contains(id.short().as_str()));
            let mut runs = (1..=RUN).flat_map(|length| words.windows(length)).map(|run| run.join(" "));
            runs.find_map(|run| self.runs.get(&run).or_else(|| self.short.get(&run).filter(|_| names_one)))
        })
    }
}

/// Returns the sequences of consecutive words in a line, or the whole line if it is short.
fn runs(line: &str) -> Vec<String> {
    let words = words(line);
    words.windows(words.len().clamp(1, RUN)).map(|run| run.join(" ")).collect()
}

/// Returns the words of a line in lowercase.
fn words(line: &str) -> Vec<String> {
    let words = line.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}

/// Replaces the text of a node.
struct TextWithholder<'a> {
    label: &'a String,
    seen: &'a mut Replaced,
}

impl TextWithholder<'_> {
    fn replace(&mut self, text: &mut String, with: String) {
        self.forget([std::mem::replace(text, with)]);
    }

    fn forget(&mut self, texts: impl IntoIterator<Item = String>) {
        self.seen.extend(texts.into_iter().map(|text| (text, self.label.clone())));
    }

    fn text(&mut self, text: &mut String) {
        if text.trim().is_empty() {
            return;
        }
        let with = if says_nothing(text) { NOTHING.to_owned() } else { self.label.clone() };
        self.replace(text, with);
    }

    fn texts<'t>(&mut self, texts: impl IntoIterator<Item = &'t mut String>) {
        texts.into_iter().for_each(|text| self.text(text));
    }

    /// Replaces the list with at most one entry.
    fn list(&mut self, list: &mut Vec<String>) {
        self.forget(list.drain(1.min(list.len())..));
        self.texts(list);
    }

    fn commands(&mut self, commands: &mut Vec<Command>) {
        let all = std::mem::take(commands);
        let one = Command { command: self.label.clone(), exit_code: None, output: None };
        commands.extend((!all.is_empty()).then_some(one));
        for Command { command, exit_code: _, output } in all {
            self.forget([command].into_iter().chain(output));
        }
    }

    /// Replaces the text of a run. Removes the output and its size, but keeps the outcome and the duration.
    fn expectations(&mut self, expectations: &mut [Expectation]) {
        for Expectation { pattern, range, found, held: _ } in expectations {
            self.text(pattern);
            self.forget(range.take().into_iter().chain(found.take()));
        }
    }

    fn ran(&mut self, it: &mut Ran) {
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
            inputs,
            input_folders,
            pinned: _,
            expected_exit: _,
            system: _,
        } = it;
        self.forget([command.join(" ")]);
        self.list(command);
        self.texts(folder);
        if let Some(ProjectState { commit: _, changed, patch, untracked, behind: _ }) = project {
            self.forget(changed.drain(..).chain(untracked.drain(..)).chain(patch.take()));
        }
        if let Ended::NotRun(reason) = ended {
            self.text(reason);
        }
        let Output { text, end, bytes: _, sha256: _ } = std::mem::take(output);
        self.forget([text].into_iter().chain(end));
        self.expectations(expectations);
        self.forget(inputs.drain(..).map(|it| it.path).chain(input_folders.drain(..)));
        let values = variables.drain(..).flat_map(|it| [Some(it.name), it.value]);
        let texts = files.drain(..).flat_map(|it| [Some(it.name.to_string()), it.text]).chain(values);
        self.forget(texts.flatten().chain(attachments.drain(..).map(|name| name.to_string())));
    }

    fn citations(&mut self, citations: &mut Vec<Citation>) {
        for Citation { target, lines: _, commit: _, quote, note, named_in: _, pinned } in citations.drain(..)
        {
            let pinned =
                pinned.map(|Pin { path, text, .. }| [Some(path), text]).into_iter().flatten().flatten();
            self.forget([target].into_iter().chain(quote).chain(note).chain(pinned));
        }
    }

    fn node_text(&mut self, text: NodeText<'_>) {
        match text {
            NodeText::Title(title) => self.replace(title, self.label.clone()),
            NodeText::One(text) => self.text(text),
            NodeText::Covers(covers) => self.forget(covers.drain(..)),
            NodeText::List(list) | NodeText::Caveats(list) => self.list(list),
            NodeText::Commands(commands) => self.commands(commands),
            NodeText::Citations(citations) => self.citations(citations),
            // The wording comes from the rules. Messages about other nodes use the same wording, so it does not identify
            // a quotation.
            NodeText::Warnings(warnings) => {
                for Warning { code: _, message } in warnings {
                    message.clone_from(self.label);
                }
            }
        }
    }
}
