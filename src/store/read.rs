//! From the files of a commit to a snapshot.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use super::git::{BlobId, CommitId, FileKind, Git, GitError, TreeFile};
use super::{Fault, Snapshot, SourceFile, StoreError};
use crate::domain::{Conclusion, Investigation, Meta, Node, NodeId};
use crate::format::layout::{self, Place};
use crate::format::{conclusion_file, meta_file, node_file};
use crate::ruleset::{RulesetError, RulesetFile};
use crate::yaml::YamlError;

/// The most bytes of one file: several texts of 1 MiB each, and no more.
const FILE_MAX: u64 = 16 << 20;

/// Files that were read before, by their content: what has not changed is not read again.
#[derive(Clone, Default)]
pub(super) struct Files {
    nodes: Arc<HashMap<BlobId, Arc<Node>>>,
}

/// The investigation at a commit, and its files for the next time.
pub(super) fn snapshot(
    git: &Git,
    path: &Path,
    commit: CommitId,
    branch: Option<String>,
    known: &Files,
) -> Result<(Files, Snapshot), StoreError> {
    let mut faults = Vec::new();
    let (mut meta, mut ruleset, mut conclusion) = (None, None, None);
    let mut nodes: Vec<(BlobId, Arc<Node>)> = Vec::new();
    let mut seen = HashSet::new();
    for file in git.files(commit)? {
        let place = layout::place(&file.path);
        if place == Place::Other && file.kind != FileKind::Unsafe {
            continue;
        }
        if let Some(reason) = unfit(&file, &place) {
            let fault = Fault { path: file.path, line: None, reason };
            match place {
                Place::Meta => meta = Some(Err(fault)),
                Place::Ruleset => ruleset = Some(Err(fault)),
                _ => faults.push(fault),
            }
            continue;
        }
        if !seen.insert(file.path.clone()) {
            let reason = "the tree names this file twice; the first is read".into();
            faults.push(Fault { path: file.path, line: None, reason });
            continue;
        }
        match place {
            Place::Meta => meta = Some(read_meta(git, &file)),
            Place::Ruleset => ruleset = Some(read_ruleset(git, &file)),
            Place::Conclusion => match read_conclusion(git, &file) {
                Ok(read) => conclusion = Some(read),
                Err(fault) => faults.push(fault),
            },
            // The same bytes may stand under another path, where they are wrong.
            Place::Node(id) => match known.nodes.get(&file.blob).filter(|node| node.id == id) {
                Some(node) => nodes.push((file.blob, Arc::clone(node))),
                None => match read_node(git, &file.path, file.blob, &id) {
                    Ok(node) => nodes.push((file.blob, Arc::new(node))),
                    Err(fault) => faults.push(fault),
                },
            },
            Place::Stray | Place::Other => {}
        }
    }
    let not_one = |reason: String| StoreError::NotAnInvestigation { path: path.to_owned(), reason };
    let meta = meta
        .ok_or_else(|| not_one(format!("{} is missing", layout::META)))?
        .map_err(|fault| not_one(fault.to_string()))?;
    let ruleset = ruleset.unwrap_or_else(|| {
        Err(Fault { path: layout::RULESET.into(), line: None, reason: "the ruleset is missing".into() })
    });
    let files = Files { nodes: Arc::new(nodes.iter().cloned().collect()) };
    let (investigation, misplaced) =
        Investigation::from_facts(meta, nodes.into_iter().map(|(_, node)| node), conclusion);
    faults.extend(misplaced.into_iter().map(|fault| Fault {
        path: layout::node(&fault.node),
        line: None,
        reason: fault.reason,
    }));
    let snapshot = Snapshot {
        path: path.to_owned(),
        head: commit,
        branch,
        investigation: Arc::new(investigation),
        ruleset: ruleset.map(Arc::new),
        faults,
    };
    Ok((files, snapshot))
}

/// The text of every file of the investigation at a commit, in the order of the tree. What can't be read is left out:
/// the snapshot names it.
pub(super) fn sources(git: &Git, commit: CommitId) -> Result<Vec<SourceFile>, StoreError> {
    let mut sources: Vec<SourceFile> = Vec::new();
    for file in git.files(commit)? {
        let ours = match layout::place(&file.path) {
            Place::Meta | Place::Ruleset | Place::Conclusion | Place::Node(_) => true,
            Place::Other => file.path == layout::ATTRIBUTES,
            Place::Stray => false,
        };
        let fits = matches!(file.kind, FileKind::File | FileKind::Executable);
        let first = sources.last().is_none_or(|last| last.path != file.path);
        if !ours || !fits || !first {
            continue;
        }
        if let Ok(text) = text(git, &file.path, file.blob) {
            sources.push(SourceFile { path: file.path, text });
        }
    }
    Ok(sources)
}

/// Why the entry can't hold what its path says.
fn unfit(file: &TreeFile, place: &Place) -> Option<String> {
    match file.kind {
        FileKind::File | FileKind::Executable if *place == Place::Stray => {
            Some("not the path of a node's file (nodes/R<round>/<id>.yaml); it is left out".into())
        }
        FileKind::File | FileKind::Executable => None,
        FileKind::Symlink => Some("a symbolic link, which is not followed".into()),
        FileKind::Submodule => Some("another repository, which is not entered".into()),
        FileKind::Unsafe => Some("a name that no checkout accepts".into()),
    }
}

fn read_meta(git: &Git, file: &TreeFile) -> Result<Meta, Fault> {
    meta_file::read(&text(git, &file.path, file.blob)?).map_err(|error| fault(&file.path, error))
}

fn read_conclusion(git: &Git, file: &TreeFile) -> Result<Conclusion, Fault> {
    conclusion(git, &file.path, file.blob)
}

/// The conclusion in a blob.
pub(super) fn conclusion(git: &Git, path: &str, blob: BlobId) -> Result<Conclusion, Fault> {
    conclusion_file::read(&text(git, path, blob)?).map_err(|error| fault(path, error))
}

fn read_ruleset(git: &Git, file: &TreeFile) -> Result<RulesetFile, Fault> {
    RulesetFile::parse(&text(git, &file.path, file.blob)?).map_err(|errors| {
        // The first one's line stands before all of them.
        let line = errors.first().and_then(|error| error.line);
        let first = errors.iter().take(1).map(RulesetError::without_line);
        let reasons: Vec<String> = first.chain(errors.iter().skip(1).map(ToString::to_string)).collect();
        let reason = reasons.join("; ");
        Fault { path: file.path.clone(), line, reason }
    })
}

/// The node in a blob, which must be the one that its path names.
pub(super) fn read_node(git: &Git, path: &str, blob: BlobId, id: &NodeId) -> Result<Node, Fault> {
    let node = node_file::read(&text(git, path, blob)?).map_err(|error| fault(path, error))?;
    if &node.id != id {
        return Err(Fault {
            path: path.to_owned(),
            line: None,
            reason: format!("it says that it is {}, but its path says {id}", node.id),
        });
    }
    Ok(node)
}

fn text(git: &Git, path: &str, blob: BlobId) -> Result<String, Fault> {
    let refused = |reason: String| Fault { path: path.to_owned(), line: None, reason };
    let bytes = git.read(blob, FILE_MAX).map_err(|error: GitError| refused(error.to_string()))?;
    String::from_utf8(bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..valid].iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
        Fault { path: path.to_owned(), line: Some(line), reason: "not UTF-8".into() }
    })
}

fn fault(path: &str, error: YamlError) -> Fault {
    Fault { path: path.to_owned(), line: error.line, reason: error.message }
}
