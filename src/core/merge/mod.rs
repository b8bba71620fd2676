//! Merges the additions from two clones into one tree. This is a pure three-way merge by node.
//!
//! 1. [`merge`] receives the files that differ between the three trees, and parses those that contain nodes.
//! 2. `node` joins both sides' work on a node, and `end` joins both conclusions, of which
//!    [`Conclusion::ranked`](crate::domain::Conclusion) later finds the one that counts. A node has the same id, and
//!    therefore the same file, in all trees.
//! 3. Comments, runs and attachments of both sides are kept. Two attachments with the same name but different contents get
//!    different names.
//! 4. Any other file is taken from the side that changed it. If both sides changed it, the merge is refused.
//! 5. [`MergeDecision`] words each decision, for the merge commit's message and for all who tell of a merge.
//!
//! # Guarantees
//!
//! - The result is the same from either side, and the result of merging several trees is the same in any order.
//! - No text of a call is lost.
//! - If anything can't be decided, the whole merge is refused and all conflicts are listed.
//! - Each file is merged on its own, so git's merge driver, which sees one file, makes the same of it: [`merge_file`]. Only
//!   attachments of one name need the others, and a node that was removed by hand stays while it has children.
//! - The merge applies no ruleset. Missing steps and violations are detected when the merged tree is next read, as
//!   after any commit.

mod end;
mod node;
mod order;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;

use crate::domain::{AttachmentName, Comment, Conclusion, Node, NodeId, Run, ShortId, StateName, Timestamp};
use crate::format::layout::{self, FileRole};
use crate::format::record::Record;
use crate::format::withheld_file::WithheldList;
use crate::format::{StoredFile, readme, withheld_file};
use crate::text::one_line;
use crate::yaml::YamlError;

/// File contents by path.
pub type FileMap = BTreeMap<String, Vec<u8>>;

/// The result of a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    /// The new contents of the input files. An input file that is absent here is deleted.
    pub files: FileMap,
    /// The decisions worth reporting, ordered by node.
    pub decisions: Vec<MergeDecision>,
}

/// A decision about contributions from both sides.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum MergeDecision {
    /// Both sides proposed nodes with the same short id. Their whole ids tell them apart.
    SameShortId {
        /// The short id.
        id: ShortId,
        /// The number of nodes.
        nodes: usize,
    },
    /// Both sides researched a proposal. The earlier result becomes the node's result, and the others are stored as
    /// other results.
    OtherResult {
        /// The id of the node.
        node: NodeId,
        /// The number of other results.
        others: usize,
    },
    /// The node's results have different states, and somebody must decide between them.
    Contested {
        /// The id of the node.
        node: NodeId,
        /// The states of the results, beginning with the current state.
        states: Vec<StateName>,
    },
    /// One side withdrew the proposal, and the other side researched it. The research is kept.
    Kept {
        /// The id of the node.
        node: NodeId,
    },
    /// One side lacks the node, because somebody has deleted its file or because the change is of another branch. The other side
    /// has changed it, or it has children, so it is kept.
    Missing {
        /// The id of the node.
        node: NodeId,
    },
    /// Both sides changed the node's state. Both changes are kept, and the later one is in force.
    BothReclassified {
        /// The id of the node.
        node: NodeId,
        /// The state in force.
        state: StateName,
    },
    /// Both sides amended the node's text. The later amendment is in force, and the earlier one is kept.
    BothAmended {
        /// The id of the node.
        node: NodeId,
    },
    /// One side changed the node's text by hand, and the other side amended it by a call. The amendment is in force.
    EditedAndAmended {
        /// The id of the node.
        node: NodeId,
    },
    /// Two agents claimed the node. The earlier claim is in force.
    BothClaimed {
        /// The id of the node.
        node: NodeId,
        /// The id of the agent whose claim is in force.
        agent_id: String,
    },
    /// Both sides ended the investigation. All conclusions are kept.
    OtherEnds {
        /// The number of other conclusions.
        others: usize,
    },
    /// One side ended the investigation, and the other side continued it.
    EndedThenContinued,
}

impl MergeDecision {
    /// Returns the id of the node that the decision is about.
    pub fn node_mut(&mut self) -> Option<&mut NodeId> {
        match self {
            MergeDecision::OtherResult { node, .. }
            | MergeDecision::Contested { node, .. }
            | MergeDecision::Kept { node }
            | MergeDecision::Missing { node }
            | MergeDecision::BothReclassified { node, .. }
            | MergeDecision::BothAmended { node }
            | MergeDecision::EditedAndAmended { node }
            | MergeDecision::BothClaimed { node, .. } => Some(node),
            MergeDecision::SameShortId { .. }
            | MergeDecision::OtherEnds { .. }
            | MergeDecision::EndedThenContinued => None,
        }
    }
}

/// The text quotes nothing, because the node may be withheld.
impl fmt::Display for MergeDecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MergeDecision::SameShortId { id, nodes } => write!(f, "{id} is the short id of {nodes} nodes"),
            MergeDecision::OtherResult { node, others: 1 } => write!(f, "{node} has a second result"),
            MergeDecision::OtherResult { node, others } => write!(f, "{node} has {others} other results"),
            MergeDecision::Contested { node, states } => {
                let states: Vec<&str> = states.iter().map(StateName::as_str).collect();
                write!(f, "{node} is contested: {}", states.join(" against "))
            }
            MergeDecision::Kept { node } => {
                write!(f, "{node} was withdrawn and researched; the result is kept")
            }
            MergeDecision::Missing { node } => write!(f, "{node} is missing on one side; it is kept"),
            MergeDecision::BothReclassified { node, state } => {
                write!(f, "{node} was reclassified twice; it is {state} by the later change")
            }
            MergeDecision::BothAmended { node } => {
                write!(f, "{node} was amended twice; the later text is in force")
            }
            MergeDecision::EditedAndAmended { node } => {
                write!(
                    f,
                    "{node} was edited by hand and amended; where both changed a text, the amendment is in force"
                )
            }
            MergeDecision::BothClaimed { node, agent_id } => {
                write!(f, "{node} was claimed twice; the claim of {} stands", one_line(agent_id))
            }
            MergeDecision::OtherEnds { others: 1 } => {
                write!(f, "it was ended twice; both conclusions are kept")
            }
            MergeDecision::OtherEnds { others } => {
                write!(f, "it was ended {} times; all conclusions are kept", others + 1)
            }
            MergeDecision::EndedThenContinued => write!(f, "it ended on one side and continued on the other"),
        }
    }
}

/// A file that can't be merged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {reason}")]
pub struct Conflict {
    /// The path of the file.
    pub path: String,
    /// The reason why the file can't be merged.
    pub reason: ConflictReason,
}

/// The reason why a file can't be merged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConflictReason {
    /// Both sides changed the file.
    #[error("both sides have changed it")]
    BothChanged,
    /// Both sides changed the file, and it can't be parsed.
    #[error("both sides have changed it, and it can't be read: {0}")]
    Unreadable(String),
    /// One side removed a result or a change of a node that the other side changed, as `git revert` does.
    #[error("one side has removed a result or a change")]
    Removed,
    /// The merged file can't be written.
    #[error("{0}")]
    Unwritable(#[from] YamlError),
}

/// Merges `ours` and `theirs`, whose common ancestor is `base`. Swapping the sides does not change the result.
///
/// # Errors
///
/// Returns all files that can't be merged. In this case, nothing is merged.
pub fn merge(trees: &[FileMap; 3]) -> Result<Merged, Vec<Conflict>> {
    let sides = trees.each_ref();
    let paths: BTreeSet<&String> = sides.iter().flat_map(|side| side.keys()).collect();
    let mut conflicts = Vec::new();
    let (mut files, mut decisions) = (FileMap::new(), Vec::new());
    // A conclusion that was reopened counts as absent, and is kept where its file is free.
    let mut reopened: BTreeSet<(Timestamp, &Vec<u8>)> = BTreeSet::new();
    let mut nodes: BTreeMap<NodeId, Versions> = BTreeMap::new();
    let (mut ends, mut lists) = (None, None);
    for path in paths {
        let texts = sides.map(|side| side.get(path));
        let parsed = match layout::file_role(path) {
            _ if path == layout::WITHHELD => {
                read(texts, withheld_file::read).map(|read| lists = Some(read)).map_err(|_| None)
            }
            FileRole::Node(id) => {
                read(texts, |text| node_of(text, &id)).map(|read| drop(nodes.insert(id, read))).map_err(Some)
            }
            FileRole::Conclusion => {
                let mut current = |(end, text): (Option<Conclusion>, Option<_>)| {
                    end.filter(|end| {
                        reopened.extend(end.reopened.as_ref().map(|it| it.at).zip(text));
                        end.reopened.is_none()
                    })
                };
                read(texts, Conclusion::read)
                    .map(|[base, ours, theirs]| {
                        let [of_base, of_ours, of_theirs] = texts;
                        ends =
                            Some([(base, of_base), (ours, of_ours), (theirs, of_theirs)].map(&mut current));
                    })
                    .map_err(Some)
            }
            FileRole::Comment(id) => read(texts, Comment::read)
                .map(|read| add(record(&sides, id, read), &mut files, &mut conflicts))
                .map_err(Some),
            FileRole::Run(id) => read(texts, Run::read)
                .map(|read| add(record(&sides, id, read), &mut files, &mut conflicts))
                .map_err(Some),
            FileRole::Attachment(..) => Ok(()),
            FileRole::Meta | FileRole::Ruleset | FileRole::Stray | FileRole::Other => Err(None),
        };
        let Err(unreadable) = parsed else { continue };
        let [base, ours, theirs] = texts;
        if let (layout::README, Some(ours), Some(theirs)) = (path.as_str(), ours, theirs)
            && three_way(&base, &Some(ours), &Some(theirs)).is_none()
        {
            // A generated page is regenerated later from the merged facts. A page written by a person is kept.
            let is_ours = |text: &&Vec<u8>| std::str::from_utf8(text).is_ok_and(readme::is_ours);
            let pages = [ours, theirs];
            if pages.iter().any(is_ours) {
                let page = pages.into_iter().min_by_key(|text| (is_ours(text), *text));
                files.extend(page.map(|text| (path.clone(), text.clone())));
                continue;
            }
        }
        match three_way(&base, &ours, &theirs) {
            Some(text) => files.extend(text.map(|text| (path.clone(), text.clone()))),
            None => conflicts.push(Conflict {
                path: path.clone(),
                reason: unreadable.map_or(ConflictReason::BothChanged, ConflictReason::Unreadable),
            }),
        }
    }
    let went_on = [1, 2].map(|side| nodes.values().any(|versions| versions[side] != versions[0]));
    if let Some(ends) = ends {
        let (end, decided) = end::join(ends, went_on);
        decisions.extend(decided);
        if let Some(end) = end {
            let write = || end.write();
            let file = file(&sides, layout::CONCLUSION.to_owned(), std::iter::empty(), write);
            add(file, &mut files, &mut conflicts);
        }
    }
    if let Some((_, text)) = reopened.pop_last() {
        files.entry(layout::CONCLUSION.to_owned()).or_insert_with(|| text.clone());
    }
    if let Some(lists) = lists {
        add(withheld_list(&sides, &lists), &mut files, &mut conflicts);
    }
    files.extend(attachments(&sides));
    let mut joined = join_nodes(nodes);
    decisions.append(&mut joined.decisions);
    conflicts.append(&mut joined.conflicts);
    for (node, versions) in &joined.nodes {
        let path = layout::node(&node.id);
        let is_same = |side: &usize| versions[*side].as_ref() == Some(node);
        let same = [1, 2].into_iter().filter(is_same).map(|side| sides[side].get(&path));
        add(file(&sides, path.clone(), same, || node.write()), &mut files, &mut conflicts);
    }
    decisions.sort();
    decisions.dedup();
    if conflicts.is_empty() { Ok(Merged { files, decisions }) } else { Err(conflicts) }
}

/// Merges the base, ours and theirs of one file, as git asks a merge driver to do. An empty base is a file that both sides added.
///
/// # Errors
///
/// Returns why the file can't be merged alone, such as two attachments of one name, which become two files.
pub fn merge_file(path: &str, versions: [Vec<u8>; 3]) -> Result<Vec<u8>, Vec<Conflict>> {
    let tree = |text: &Vec<u8>| FileMap::from([(path.to_owned(), text.clone())]);
    let refused = |reason| Err(vec![Conflict { path: path.to_owned(), reason }]);
    let [base, ours, theirs] = versions.each_ref().map(tree);
    let base = if versions[0].is_empty() { FileMap::new() } else { base };
    let mut merged = merge(&[base, ours, theirs])?;
    // A merge keeps everything, but whoever reverts a commit wants to remove something.
    let [base, ours, theirs] = versions.each_ref().map(|text| entries(path, text));
    let is_removed = |side: &BTreeMap<_, usize>| {
        base.iter().any(|(entry, number)| side.get(entry).is_some_and(|other| other < number))
    };
    if is_removed(&ours) || is_removed(&theirs) {
        return refused(ConflictReason::Removed);
    }
    match merged.files.remove(path) {
        Some(text) if merged.files.is_empty() => Ok(text),
        _ => refused(ConflictReason::BothChanged),
    }
}

/// Returns the number of entries in a node's file, and of amendments to each conclusion in `conclusion.yaml` by its time.
fn entries(path: &str, text: &[u8]) -> BTreeMap<Option<Timestamp>, usize> {
    let text = std::str::from_utf8(text).unwrap_or_default();
    match layout::file_role(path) {
        FileRole::Node(id) => {
            let node = node_of(text, &id).ok();
            let results = node.iter().flat_map(Node::results);
            let number = results.map(|it| 1 + it.reclassified.len() + it.amended.len()).sum();
            BTreeMap::from([(None, number)])
        }
        FileRole::Conclusion => {
            let end = Conclusion::read(text).ok();
            let all = end.iter().flat_map(|end| std::iter::once(end).chain(&end.other_conclusions));
            all.map(|end| (Some(end.ended_at), end.amended.len())).collect()
        }
        _ => BTreeMap::new(),
    }
}

/// A node in base, ours and theirs.
type Versions = [Option<Node>; 3];

/// The nodes of the merged tree, each with its versions.
#[derive(Default)]
struct JoinedNodes {
    nodes: Vec<(Node, Versions)>,
    decisions: Vec<MergeDecision>,
    conflicts: Vec<Conflict>,
}

fn join_nodes(nodes: BTreeMap<NodeId, Versions>) -> JoinedNodes {
    let mut joined = JoinedNodes { decisions: shared_short_ids(&nodes), ..JoinedNodes::default() };
    let mut parents = BTreeSet::new();
    // Children come before their parents.
    for (id, versions) in nodes.into_iter().rev() {
        match node::join(versions.clone(), parents.contains(&id)) {
            Some((node, decided)) => {
                joined.decisions.extend(decided);
                parents.extend(node.as_ref().and_then(|node| node.parent.clone()));
                joined.nodes.extend(node.map(|node| (node, versions)));
            }
            None => {
                let (path, reason) = (layout::node(&id), ConflictReason::BothChanged);
                joined.conflicts.push(Conflict { path, reason });
            }
        }
    }
    joined
}

/// Returns the short ids for which each side has a node that the other one does not have.
fn shared_short_ids(nodes: &BTreeMap<NodeId, Versions>) -> Vec<MergeDecision> {
    let mut by_short: BTreeMap<&ShortId, Vec<&Versions>> = BTreeMap::new();
    for (id, versions) in nodes {
        by_short.entry(id.short()).or_default().push(versions);
    }
    let is_from = |nodes: &[&Versions], side: usize| {
        nodes.iter().any(|versions| versions[side].is_some() && versions[3 - side].is_none())
    };
    by_short.retain(|_, nodes| is_from(nodes, 1) && is_from(nodes, 2));
    let decision =
        |(id, nodes): (&ShortId, Vec<_>)| MergeDecision::SameShortId { id: id.clone(), nodes: nodes.len() };
    by_short.into_iter().map(decision).collect()
}

fn add(file: MergedFile, files: &mut FileMap, conflicts: &mut Vec<Conflict>) {
    match file {
        Ok(file) => files.extend(file),
        Err(conflict) => conflicts.push(conflict),
    }
}

/// A merged file's path and content. `None` if the file is deleted.
type MergedFile = Result<Option<(String, Vec<u8>)>, Conflict>;

/// Returns a merged file. If a side has the same facts, one of the strings in `same` is used. Otherwise, the facts are
/// written.
fn file<'t>(
    sides: &[&'t FileMap; 3],
    path: String,
    same: impl Iterator<Item = Option<&'t Vec<u8>>>,
    write: impl FnOnce() -> Result<String, YamlError>,
) -> MergedFile {
    let base = sides[0].get(&path);
    // Prefer the text that changed since the base.
    let text = match same.min_by_key(|text| (*text == base, *text)) {
        Some(text) => text.cloned(),
        None => match write() {
            Ok(text) => Some(text.into_bytes()),
            Err(error) => return Err(Conflict { path, reason: error.into() }),
        },
    };
    Ok(text.map(|text| (path, text)))
}

/// Merges the list of withheld nodes. If both sides changed an entry and only one side withholds the node, the node stays
/// withheld.
fn withheld_list(sides: &[&FileMap; 3], lists: &[Option<WithheldList>; 3]) -> MergedFile {
    let nodes: BTreeSet<&NodeId> = lists.iter().flatten().flat_map(BTreeMap::keys).collect();
    let joined = |node: &NodeId| {
        let [base, ours, theirs] = lists.each_ref().map(|list| list.as_ref().and_then(|list| list.get(node)));
        let kept = three_way(&base, &ours, &theirs).unwrap_or_else(|| ours.into_iter().chain(theirs).min());
        Some((node.clone(), kept?.clone()))
    };
    let merged: WithheldList = nodes.into_iter().filter_map(joined).collect();
    let is_same = |side: &usize| lists[*side].as_ref().map_or(merged.is_empty(), |list| *list == merged);
    let same = [1, 2].into_iter().filter(is_same).map(|side| sides[side].get(layout::WITHHELD));
    file(sides, layout::WITHHELD.to_owned(), same, || withheld_file::write(&merged))
}

/// Merges the file of a comment or a run.
fn record<T: Record>(sides: &[&FileMap; 3], id: T::Id, [base, ours, theirs]: [Option<T>; 3]) -> MergedFile {
    let path = T::path(id);
    let Some(merged) = three_way(&base, &ours, &theirs) else {
        return Err(Conflict { path, reason: ConflictReason::BothChanged });
    };
    let Some(merged) = merged else { return Ok(None) };
    let is_same = |(_, version): &(usize, &Option<T>)| version.as_ref() == Some(&merged);
    let same =
        [(1, &ours), (2, &theirs)].into_iter().filter(is_same).map(|(side, _)| sides[side].get(&T::path(id)));
    file(sides, path, same, || merged.write())
}

/// Merges the attachments.
fn attachments(sides: &[&FileMap; 3]) -> FileMap {
    let mut versions: BTreeMap<(NodeId, AttachmentName), [Option<&Vec<u8>>; 3]> = BTreeMap::new();
    for (at, side) in sides.iter().enumerate() {
        for (path, content) in side.iter() {
            if let FileRole::Attachment(node, name) = layout::file_role(path) {
                versions.entry((node, name)).or_default()[at] = Some(content);
            }
        }
    }
    // Names that differ only in case are the same name on some systems.
    let mut named: BTreeMap<_, BTreeSet<(&Vec<u8>, AttachmentName)>> = BTreeMap::new();
    for ((node, name), [base, ours, theirs]) in versions {
        let kept = match three_way(&base, &ours, &theirs) {
            Some(content) => [content, None],
            // The attachment was removed on one side and changed on the other, so keep the remaining content.
            None => [ours, theirs],
        };
        let key = (node, name.without_case());
        let kept = kept.into_iter().flatten().map(|content| (content, name.clone()));
        named.entry(key).or_default().extend(kept);
    }
    let mut files = FileMap::new();
    for ((node, _), several) in named {
        let Some((first, name)) = several.first().cloned() else { continue };
        files.insert(layout::attachment(&node, &name), first.clone());
        // The same content under a name that differs only in case is already included.
        let others = several.into_iter().filter(|(content, _)| *content != first);
        files.extend(
            others.map(|(content, name)| (layout::attachment(&node, &name.apart(content)), content.clone())),
        );
    }
    files
}

/// Merges a value. Returns `None` if both sides changed it to different values.
fn three_way<T: PartialEq + Clone>(base: &T, ours: &T, theirs: &T) -> Option<T> {
    if ours == theirs || base == theirs {
        Some(ours.clone())
    } else if base == ours {
        Some(theirs.clone())
    } else {
        None
    }
}

/// Parses a file in all three trees. Returns an error if one of the versions can't be parsed.
fn read<T>(
    texts: [Option<&Vec<u8>>; 3],
    parse: impl Fn(&str) -> Result<T, YamlError>,
) -> Result<[Option<T>; 3], String> {
    let [base, ours, theirs] = texts.map(|text| {
        text.map(|text| {
            let text = std::str::from_utf8(text).map_err(|_| "it is not UTF-8".to_owned())?;
            parse(text).map_err(|error| error.to_string())
        })
        .transpose()
    });
    Ok([base?, ours?, theirs?])
}

/// Parses a node file and checks that its id matches the path.
fn node_of(text: &str, id: &NodeId) -> Result<Node, YamlError> {
    let node = Node::read(text)?;
    if node.id != *id {
        let message = format!("the file names {}, but its path names {}", node.id.whole(), id.whole());
        return Err(YamlError { line: None, column: None, message });
    }
    Ok(node)
}
