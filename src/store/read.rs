//! Reads a commit's files into a snapshot.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use super::edited::Past;
pub(super) use super::git::FILE_MAX;
use super::git::{BlobId, CommitId, FileKind, Git, Tree, TreeFile};
use super::{CommittedList, Fault, Size, Snapshot, SourceFile, StoreError, terms};
use crate::domain::{
    Attached, Attachments, Caller, Code, Comment, Conclusion, Investigation, Meta, Node, NodeId, Run,
};
use crate::format::StoredFile;
use crate::format::layout::{self, FileRole};
use crate::format::record::Record;
use crate::format::withheld_file::is_misnamed;
use crate::ruleset::{RulesetError, RulesetFile};
use crate::yaml::{self, YamlError};

/// The maximum total size of node and comment files, in bytes. This is far more than the largest investigation
/// contains, but still safe to load.
pub(super) const TEXT_MAX: u64 = 512 << 20;

/// Returns whether a file contains a draft, or a conclusion after which the investigation was reopened.
pub(super) fn is_open(git: &Git, file: &TreeFile) -> bool {
    conclusion(git, &file.path, file.blob).is_ok_and(|end| end.draft || end.reopened.is_some())
}

/// Returns whether a node's file contains a result. Looks only for the key, because lists count thousands of nodes: only
/// keys are at the start of a line.
pub(super) fn is_committed(git: &Git, file: &TreeFile) -> bool {
    let text = git.read(file.blob, FILE_MAX).unwrap_or_default();
    text.split(|byte| *byte == b'\n').any(|line| line.starts_with(b"state:"))
}

/// Reads the investigation at a commit. Nodes and comments in unchanged files are reused from `before`.
pub(super) fn snapshot(
    git: &Git,
    path: &Path,
    commit: CommitId,
    branch: Option<String>,
    before: Option<&Snapshot>,
) -> Result<Snapshot, StoreError> {
    let past = Past::read(git, [commit, commit], before)?;
    of_tree(git, path, past, [commit, commit], git.tree(commit)?, branch, before)
}

/// Reads the investigation at a commit without its history: what was changed by hand counts as if it was not.
pub(super) fn tip(git: &Git, path: &Path, commit: CommitId) -> Result<Snapshot, StoreError> {
    of_tree(git, path, Past::unknown(git), [commit, commit], git.tree(commit)?, None, None)
}

/// Reads a tree. For a future merge, `heads` contains the parents in order.
pub(super) fn of_tree(
    git: &Git,
    path: &Path,
    mut past: Past<'_>,
    heads: [CommitId; 2],
    tree: Tree,
    branch: Option<String>,
    before: Option<&Snapshot>,
) -> Result<Snapshot, StoreError> {
    // If the folder now contains a different repository, it lacks the old commit.
    let mut known: HashMap<String, BlobId> = HashMap::new();
    for file in before.and_then(|before| git.files(before.head).ok()).into_iter().flatten() {
        // If a tree contains a file twice, the first entry is used.
        known.entry(file.path).or_insert(file.blob);
    }
    // Returns the earlier state if the file is unchanged.
    let unchanged = |file: &TreeFile| {
        before.filter(|_| known.get(&file.path) == Some(&file.blob)).map(|before| &*before.investigation)
    };
    // A merge may show that what a person was disowned of is theirs.
    let holds = |by: &Caller| by.disowned.is_none();
    let mut faults = Vec::new();
    let (mut meta, mut ruleset, mut conclusion) = (None, None, None);
    let mut nodes: Vec<Arc<Node>> = Vec::new();
    let mut comments: Vec<Arc<Comment>> = Vec::new();
    let mut runs: Vec<Arc<Run>> = Vec::new();
    let mut attachments: BTreeMap<NodeId, Attachments> = BTreeMap::new();
    let mut room = Some(TEXT_MAX);
    let mut seen = HashSet::new();
    for file in tree.files {
        let place = layout::file_role(&file.path);
        if place == FileRole::Other && file.kind != FileKind::Unsafe {
            continue;
        }
        if let Some(reason) = unfit(&file, &place) {
            let fault = Fault::new(file.path, None, reason);
            match place {
                FileRole::Meta => meta = Some(Err(fault)),
                FileRole::Ruleset => ruleset = Some(Err(fault)),
                _ => faults.push(fault),
            }
            continue;
        }
        if !seen.insert(file.path.clone()) {
            let reason = "the tree contains this file twice; the first one is used";
            faults.push(Fault::new(file.path, None, reason));
            continue;
        }
        match place {
            FileRole::Meta => meta = Some(self::meta(git, &file)),
            FileRole::Ruleset => ruleset = Some(self::ruleset(git, &file)),
            FileRole::Conclusion => match self::conclusion(git, &file.path, file.blob) {
                Ok(read) => conclusion = Some(read),
                Err(fault) => faults.push(fault),
            },
            FileRole::Node(id) => {
                let earlier = unchanged(&file).and_then(|before| before.node(&id));
                let earlier = earlier.filter(|node| node.written_by().all(|(_, by)| holds(by))).cloned();
                let read =
                    || within(&mut room, git, &file, |text| node_in(text, &file.path, &id)).map(Arc::new);
                match earlier.map_or_else(read, Ok) {
                    Ok(node) => nodes.push(Arc::clone(past.nodes.entry(file.blob).or_insert(node))),
                    Err(fault) => faults.push(fault),
                }
            }
            FileRole::Comment(id) => match record_of(&mut room, git, &file, id, unchanged(&file), &holds) {
                Ok(comment) => comments.push(comment),
                Err(fault) => faults.push(fault),
            },
            FileRole::Run(id) => match record_of(&mut room, git, &file, id, unchanged(&file), &holds) {
                Ok(run) => runs.push(run),
                Err(fault) => faults.push(fault),
            },
            FileRole::Attachment(id, name) => {
                let size = unchanged(&file).and_then(|before| before.attachments_of(&id).get(&name));
                match size.map_or_else(|| git.size(file.blob), |size| Ok(*size)) {
                    Ok(size) => drop(attachments.entry(id).or_default().insert(name, size)),
                    Err(error) => {
                        let reason = format!("its content can't be read: {error}");
                        faults.push(Fault::new(file.path, None, reason));
                    }
                }
            }
            FileRole::Stray | FileRole::Other => {}
        }
    }
    let not_one = |reason: String| StoreError::not_an_investigation(path, &reason);
    let mut meta = meta
        .ok_or_else(|| not_one(format!("{} is missing", layout::META)))?
        .map_err(|fault| not_one(fault.to_string()))?;
    let mut ruleset =
        ruleset.unwrap_or_else(|| Err(Fault::new(layout::RULESET, None, "the ruleset is missing")));
    let false_names = past.false_names();
    let mut are_false: Vec<Fault> =
        nodes.iter_mut().flat_map(|node| false_names.disown_in_node(node)).collect();
    are_false.extend(comments.iter_mut().filter_map(|comment| false_names.disown_in_record(comment)));
    are_false.extend(runs.iter_mut().filter_map(|run| false_names.disown_in_record(run)));
    are_false.extend(conclusion.iter_mut().flat_map(|end| false_names.disown_in_conclusion(end)));
    let are_terms_changed = terms::restore(git, past.first, heads[0], &mut meta, &mut ruleset, &mut faults);
    if past.boundary.is_none() {
        let reason = "a commit or an earlier version of a file can't be read, so nobody knows what was changed by hand, and no \
                      confirmation counts; in a partial clone, `git fetch --refetch --no-filter` fetches the rest";
        faults.push(Fault::of_history(layout::META, reason, Code::HistoryCut));
    }
    let (investigation, misplaced) = Investigation::from_facts(meta, nodes, conclusion);
    let misplaced =
        misplaced.into_iter().map(|fault| Fault::new(layout::node(&fault.node), None, fault.reason));
    faults.extend(misplaced);
    let unreadable = faults.iter().filter_map(|fault| match layout::file_role(&fault.path) {
        FileRole::Node(id) if investigation.node(&id).is_none() => Some(id),
        _ => None,
    });
    let unreadable: Vec<NodeId> = unreadable.collect();
    let attached = attachments.values().flat_map(Attachments::values).sum();
    let investigation = investigation
        .with_comments(comments)
        .with_runs(runs)
        .with_attachments(attachments)
        .with_unreadable(unreadable)
        .with_shown_ids();
    let by_hand = past.by_hand(&investigation, are_terms_changed);
    faults.append(&mut are_false);
    // Removed files are still counted.
    let text = before.map_or(0, |before| before.size.text) + (TEXT_MAX - room.unwrap_or(0));
    Ok(Snapshot {
        path: path.to_owned(),
        head: heads[0],
        branch,
        size: Size { entries: tree.entries, tree_bytes: tree.bytes, text, attached },
        investigation: Arc::new(investigation.with_by_hand(by_hand)),
        ruleset: ruleset.map(Arc::new),
        faults,
        first: past.first,
        boundary: past.boundary,
        false_names: Arc::new(false_names),
        edits: Arc::new(past.edits),
        taken_over: Arc::new(past.taken_over),
    })
}

/// Returns the text of every file of the investigation at a commit, in tree order. Unreadable files are omitted because
/// the snapshot lists them.
pub(super) fn sources(git: &Git, commit: CommitId) -> Result<Vec<SourceFile>, StoreError> {
    let mut sources: Vec<SourceFile> = Vec::new();
    for file in git.files(commit)? {
        let ours = match layout::file_role(&file.path) {
            FileRole::Meta
            | FileRole::Ruleset
            | FileRole::Conclusion
            | FileRole::Node(_)
            | FileRole::Comment(_)
            | FileRole::Run(_) => true,
            FileRole::Other => {
                let known = [layout::ATTRIBUTES, layout::README, layout::WITHHELD];
                known.contains(&file.path.as_str()) || is_misnamed(&file.path)
            }
            FileRole::Attachment(..) | FileRole::Stray => false,
        };
        let first = sources.last().is_none_or(|last| last.path != file.path);
        if !ours || !file.kind.is_plain() || !first {
            continue;
        }
        if let Ok(text) = text(git, &file.path, file.blob) {
            sources.push(SourceFile { path: file.path, text });
        }
    }
    Ok(sources)
}

/// Returns the reason why the entry cannot be the file that its path names, if any.
fn unfit(file: &TreeFile, place: &FileRole) -> Option<String> {
    match file.kind {
        FileKind::File | FileKind::Executable if *place == FileRole::Stray => {
            Some(match layout::home(&file.path) {
                Some(home) => format!("that node's file must be {home}; this one is ignored"),
                None if file.path.starts_with(layout::COMMENTS) => {
                    "not a valid path for a comment; it is ignored".into()
                }
                None if file.path.starts_with(layout::RUNS) => {
                    "not a valid path for a run; it is ignored".into()
                }
                None if file.path.starts_with(layout::ATTACHMENTS) => {
                    "not a valid path for an attachment (attachments/<node>/<name>); it is ignored".into()
                }
                None if !file.path.contains('/') => "a file where a folder is expected; it is ignored".into(),
                None => "not a valid path for a node; it is ignored".into(),
            })
        }
        FileKind::File | FileKind::Executable => None,
        FileKind::Symlink => Some("a symbolic link; links are not followed".into()),
        FileKind::Submodule => Some("another repository; it is not read".into()),
        FileKind::Unsafe => Some("a name that git refuses to check out".into()),
    }
}

/// Reads the title and terms of the investigation.
pub(super) fn meta(git: &Git, file: &TreeFile) -> Result<Meta, Fault> {
    let text = text(git, &file.path, file.blob)?;
    Meta::read(&text).map_err(|error| fault(&file.path, &text, error))
}

/// Reads the conclusion.
pub(super) fn conclusion(git: &Git, path: &str, blob: BlobId) -> Result<Conclusion, Fault> {
    let text = text(git, path, blob)?;
    Conclusion::read(&text).map_err(|error| fault(path, &text, error))
}

pub(super) fn ruleset(git: &Git, file: &TreeFile) -> Result<RulesetFile, Fault> {
    RulesetFile::parse(&text(git, &file.path, file.blob)?).map_err(|errors| {
        // The line of the first error is shown in front of the whole list.
        let line = errors.first().and_then(|error| error.line);
        let first = errors.iter().take(1).map(RulesetError::without_line);
        let reasons: Vec<String> = first.chain(errors.iter().skip(1).map(ToString::to_string)).collect();
        let reason = reasons.join("; ");
        Fault::new(&file.path, line, reason)
    })
}

/// The maximum total size of attachments read at once, in bytes.
const ATTACHMENTS_MAX: u64 = 64 << 20;

/// Returns the contents of the attachments, up to the limit. Unreadable attachments are omitted.
pub(super) fn attachments(git: &Git, snapshot: &Snapshot) -> Result<Vec<Attached>, StoreError> {
    let mut room = ATTACHMENTS_MAX;
    let mut attachments = Vec::new();
    for file in git.files(snapshot.head)? {
        let FileRole::Attachment(node, name) = layout::file_role(&file.path) else { continue };
        let Some(size) = snapshot.investigation.attachments_of(&node).get(&name) else { continue };
        if let Some(left) = room.checked_sub(*size)
            && let Ok(content) = git.read(file.blob, FILE_MAX)
        {
            room = left;
            attachments.push(Attached { node, name, content });
        }
    }
    attachments.sort_by(|one, other| (&one.node, &one.name).cmp(&(&other.node, &other.name)));
    Ok(attachments)
}

/// Returns the withheld list.
pub(super) fn withheld(git: &Git, path: &Path, commit: CommitId) -> Result<CommittedList, StoreError> {
    let files = git.files(commit)?;
    let misnamed = files.iter().map(|file| &file.path).find(|path| is_misnamed(path)).cloned();
    let Some(file) = files.into_iter().find(|file| file.path == layout::WITHHELD) else {
        return Ok(CommittedList { text: None, misnamed });
    };
    let not_read = |reason: String| StoreError::not_an_investigation(path, &reason);
    if !file.kind.is_plain() {
        return Err(not_read(format!("{} is not a file", layout::WITHHELD)));
    }
    let text = text(git, &file.path, file.blob).map_err(|fault| not_read(fault.to_string()))?;
    Ok(CommittedList { text: Some(text), misnamed })
}

/// Reads a node, which must match its path.
pub(super) fn node(git: &Git, path: &str, blob: BlobId, id: &NodeId) -> Result<Node, Fault> {
    node_in(&text(git, path, blob)?, path, id)
}

/// Reads a comment or run, which must match its path.
pub(super) fn record<T: Record>(git: &Git, path: &str, blob: BlobId, id: T::Id) -> Result<T, Fault> {
    record_in(&text(git, path, blob)?, path, id)
}

/// Returns the earlier comment or run if `holds` accepts its author. Otherwise, reads it from its file.
fn record_of<T: Record>(
    room: &mut Option<u64>,
    git: &Git,
    file: &TreeFile,
    id: T::Id,
    unchanged: Option<&Investigation>,
    holds: &dyn Fn(&Caller) -> bool,
) -> Result<Arc<T>, Fault> {
    let earlier = unchanged.and_then(|before| T::known(before, id));
    match earlier.filter(|record| holds(&record.author().caller)) {
        Some(record) => Ok(Arc::clone(record)),
        None => within(room, git, file, |text| record_in(text, &file.path, id)).map(Arc::new),
    }
}

/// Reads a file if it fits into `room`. The first file that does not fit sets `room` to `None`.
fn within<T>(
    room: &mut Option<u64>,
    git: &Git,
    file: &TreeFile,
    parse: impl Fn(&str) -> Result<T, Fault>,
) -> Result<T, Fault> {
    let beyond = || {
        let reason = format!(
            "the nodes, comments and runs have more than {TEXT_MAX} bytes in total; the rest is not read"
        );
        Fault::new(&file.path, None, reason)
    };
    let left = room.ok_or_else(beyond)?;
    let text = text(git, &file.path, file.blob)?;
    *room = left.checked_sub(text.len() as u64);
    room.ok_or_else(beyond)?;
    parse(&text)
}

fn record_in<T: Record>(text: &str, path: &str, id: T::Id) -> Result<T, Fault> {
    let record = T::read(text).map_err(|error| fault(path, text, error))?;
    match record.id() == id {
        true => Ok(record),
        false => {
            let reason = format!("the file names {}, but its path names {id}", record.id());
            Err(Fault::new(path, None, reason))
        }
    }
}

fn node_in(text: &str, path: &str, id: &NodeId) -> Result<Node, Fault> {
    let node = Node::read(text).map_err(|error| fault(path, text, error))?;
    if &node.id != id {
        let reason = format!("the file names {}, but its path names {}", node.id.whole(), id.whole());
        return Err(Fault::new(path, None, reason));
    }
    Ok(node)
}

fn text(git: &Git, path: &str, blob: BlobId) -> Result<String, Fault> {
    let refused = |reason: String| Fault::new(path, None, reason);
    let bytes = git.read(blob, FILE_MAX).map_err(|error| refused(error.with_hint()))?;
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..valid].iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
        Fault::new(path, Some(line), "not UTF-8")
    })
}

fn fault(path: &str, text: &str, error: YamlError) -> Fault {
    match yaml::merge_conflict(text) {
        Some(line) => Fault::new(path, Some(line), Fault::CONFLICT),
        None => Fault::new(path, error.line, error.message),
    }
}

#[cfg(test)]
mod tests {
    use super::super::git::GitOptions;
    use super::*;
    use crate::format::FileChange;

    #[test]
    fn the_same_nodes_are_left_out_where_there_is_too_much_text() {
        let folder = crate::testing::folder();
        let ids: Vec<NodeId> = (100..400).map(|n| format!("R1.A{n}").parse().unwrap()).collect();
        let file = |id: &NodeId| {
            let text = format!(
                "version: 2\nid: {id}\ntitle: A\nplannedAction: Look.\nproposedAt: 2026-01-05T09:00:00.000Z\n"
            );
            FileChange { path: layout::node(id), content: Some(text.into_bytes()) }
        };
        let files: Vec<FileChange> = ids.iter().map(file).collect();
        let dir = folder.path().join("it");
        let (git, head) = Git::init(GitOptions::ISOLATED, &dir, "x", &files, "Start", 1_767_603_600).unwrap();
        let one = files[0].content.as_ref().unwrap().len() as u64;
        let read = |most: u64| -> Vec<bool> {
            let mut room = Some(most);
            let nodes = git.files(head).unwrap().into_iter().map(|file| {
                let FileRole::Node(id) = layout::file_role(&file.path) else { panic!("{}", file.path) };
                within(&mut room, &git, &file, |text| node_in(text, &file.path, &id)).is_ok()
            });
            nodes.collect()
        };
        assert_eq!(read(one * 300), [true; 300]);
        assert_eq!(read(one * 200), [[true; 200].as_slice(), &[false; 100]].concat());
    }
}
