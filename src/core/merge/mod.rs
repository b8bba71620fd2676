//! The three-way merge of an investigation, by node: it joins the additions of two clones to the same tree. Pure.
//!
//! 1. [`merge`] takes the files that differ between the three trees, and finds those that contain nodes.
//! 2. `places` matches the nodes of the two sides, and gives each an id: of two proposals that were made under one id, the
//!    earlier keeps it.
//! 3. `node` joins the work of both sides on one node, `end` their conclusions.
//! 4. Comments, runs and attachments of both sides are kept, and follow their node if it has moved. Of two attachments of one
//!    name, one gets another name.
//! 5. The list of withheld nodes follows them.
//! 6. All other files are taken from the side that has changed them. If both have, the merge is refused.
//!
//! Guarantees: the outcome is the same from either side. It is the same in any order of three, except for ids if somebody took
//! back one of two proposals that had met under one id: `places` says why. No text is lost except that of a proposal that was
//! taken back. Undecidable cases are refused as a whole, and named. No rule of a method is applied: debts and violations of the
//! merged tree are found when it is next read, as after any commit.

mod end;
pub mod markers;
mod node;
mod order;
mod places;
#[cfg(test)]
mod tests;
mod withheld;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;

use serde::Serialize;

use crate::domain::{AttachmentName, Comment, CommentId, Node, NodeId, Run, RunId, StateName};
use crate::format::layout::{self, Place};
use crate::format::record::Record;
use crate::format::withheld_file::WithheldList;
use crate::format::{comment_file, conclusion_file, node_file, readme, run_file, withheld_file};
use crate::text::{one_line, shorten};
use crate::yaml::YamlError;

/// Files by their paths.
pub type Files = BTreeMap<String, Vec<u8>>;

/// What is to be merged: of three trees, the files that are not the same in all of them.
#[derive(Clone, Debug, Default)]
pub struct Trees {
    /// Where both came from.
    pub base: Files,
    /// One side.
    pub ours: Files,
    /// The other.
    pub theirs: Files,
    /// The nodes whose files are the same in all three.
    pub untouched: BTreeSet<NodeId>,
    /// The files of nodes in a merge that was made of these already, where that is judged: another program may have given other
    /// ids to proposals that make way.
    pub made: Files,
}

/// The outcome of a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Merged {
    /// What becomes of the files that were given: those that are not here are removed.
    pub files: Files,
    /// What was not a matter of course, in order of the nodes.
    pub decisions: Vec<Decision>,
}

/// What was decided in a merge, where both sides had a say.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(tag = "kind", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Decision {
    /// Two proposals had one id, and this one, which was made later, moved; or it went with what it extends.
    Renamed {
        /// The id that it had.
        from: NodeId,
        /// The id that it has now.
        to: NodeId,
        /// Which proposal it is.
        title: String,
    },
    /// One proposal was researched on both sides: the earlier result is the node's, the others are kept beside it.
    OtherResult {
        /// The node.
        node: NodeId,
        /// How many other results it has now.
        others: usize,
    },
    /// The results differ in their states, and somebody must decide between them.
    Contested {
        /// The node.
        node: NodeId,
        /// The states, the one that is in force first.
        states: Vec<StateName>,
    },
    /// It was taken back on one side and researched on the other: the research stays.
    Kept {
        /// The node.
        node: NodeId,
    },
    /// Its state was changed on both sides: both changes stand in its file, and the later one is in force.
    BothReclassified {
        /// The node.
        node: NodeId,
        /// The state in force.
        state: StateName,
    },
    /// Its texts were changed on both sides: the later change is in force, and the earlier text stands before it.
    BothAmended {
        /// The node.
        node: NodeId,
    },
    /// Two agents have claimed it: the earlier claim stands.
    BothClaimed {
        /// The node.
        node: NodeId,
        /// Whose claim stands.
        agent_id: String,
    },
    /// The investigation was ended on both sides: the earlier end stands, and the others are kept beside it.
    OtherEnds {
        /// How many others there are now.
        others: usize,
    },
    /// The investigation was ended on one side, and went on on the other.
    EndedThenContinued,
}

/// In a commit's message it quotes no text, since the node may be withheld; with `#` it does, for people who merge.
impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Decision::Renamed { from, to, title } if f.alternate() => {
                write!(f, "{from} renamed to {to} ({})", shorten(&one_line(title), 60))
            }
            Decision::Renamed { from, to, .. } => write!(f, "{from} renamed to {to}"),
            Decision::OtherResult { node, others: 1 } => write!(f, "{node} has a second result"),
            Decision::OtherResult { node, others } => write!(f, "{node} has {others} other results"),
            Decision::Contested { node, states } => {
                let states: Vec<&str> = states.iter().map(StateName::as_str).collect();
                write!(f, "{node} is contested: {}", states.join(" against "))
            }
            Decision::Kept { node } => write!(f, "{node} was withdrawn and researched; the result is kept"),
            Decision::BothReclassified { node, state } => {
                write!(f, "{node} was reclassified twice; it is {state} by the later change")
            }
            Decision::BothAmended { node } => {
                write!(f, "{node} was amended twice; the later text is in force")
            }
            Decision::BothClaimed { node, agent_id } => {
                write!(f, "{node} was claimed twice; the claim of {} stands", one_line(agent_id))
            }
            Decision::OtherEnds { others: 1 } => write!(f, "it was ended twice; the earlier end stands"),
            Decision::OtherEnds { others } => {
                write!(f, "it was ended {} times; the earliest end stands", others + 1)
            }
            Decision::EndedThenContinued => write!(f, "it ended on one side and continued on the other"),
        }
    }
}

/// A file that the merge can't decide on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {reason}")]
pub struct Conflict {
    /// The path.
    pub path: String,
    /// Why.
    pub reason: Reason,
}

/// Why a file can't be merged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Reason {
    /// Both sides have changed it.
    #[error("both sides have changed it")]
    BothChanged,
    /// It is the file of a node or of the end, both sides have changed it, and it can't be read.
    #[error("both sides have changed it, and it can't be read: {0}")]
    Unreadable(String),
    /// There is no other id for a node.
    #[error("the other side uses its id, and no free id is short enough")]
    NoFreeId,
    /// It can't be written.
    #[error("{0}")]
    Unwritable(#[from] YamlError),
}

/// Merges `ours` and `theirs`, which came from `base`. With the sides changed over the outcome is the same.
///
/// # Errors
///
/// All files that can't be merged. Nothing is decided then.
pub fn merge(trees: &Trees) -> Result<Merged, Vec<Conflict>> {
    let sides = [&trees.base, &trees.ours, &trees.theirs];
    let paths: BTreeSet<&String> = sides.iter().flat_map(|side| side.keys()).collect();
    let mut conflicts = Vec::new();
    let (mut files, mut decisions) = (Files::new(), Vec::new());
    let made = trees.made.iter().filter_map(|(path, text)| {
        let Place::Node(id) = layout::place(path) else { return None };
        Some((id.clone(), node_of(std::str::from_utf8(text).ok()?, &id).ok()?))
    });
    let made = made.collect();
    let mut nodes = places::Nodes { sides: Default::default(), taken: trees.untouched.clone(), made };
    let mut ends = None;
    let mut comments: BTreeMap<CommentId, [Option<Comment>; 3]> = BTreeMap::new();
    let mut runs: BTreeMap<RunId, [Option<Run>; 3]> = BTreeMap::new();
    let mut lists = None;
    for path in paths {
        let texts = sides.map(|side| side.get(path));
        if path == layout::WITHHELD
            && let Ok(read) = read(texts, withheld_file::read)
        {
            lists = Some(read);
            continue;
        }
        let read = match layout::place(path) {
            Place::Node(id) => match read(texts, |text| node_of(text, &id)) {
                Ok(read) => {
                    for (side, node) in nodes.sides.iter_mut().zip(read) {
                        side.extend(node.map(|node| (id.clone(), node)));
                    }
                    continue;
                }
                Err(fault) => {
                    nodes.taken.insert(id);
                    Some(fault)
                }
            },
            Place::Conclusion => match read(texts, conclusion_file::read) {
                Ok(read) => {
                    ends = Some(read);
                    continue;
                }
                Err(fault) => Some(fault),
            },
            Place::Comment(id) => match read(texts, comment_file::read) {
                Ok(read) => {
                    comments.insert(id, read);
                    continue;
                }
                Err(fault) => Some(fault),
            },
            Place::Run(id) => match read(texts, run_file::read) {
                Ok(read) => {
                    runs.insert(id, read);
                    continue;
                }
                Err(fault) => Some(fault),
            },
            Place::Attachment(..) => continue,
            Place::Meta | Place::Ruleset | Place::Stray | Place::Other => None,
        };
        let [base, ours, theirs] = texts;
        if let (layout::README, Some(ours), Some(theirs)) = (path.as_str(), ours, theirs)
            && three_way(&base, &Some(ours), &Some(theirs)).is_none()
        {
            // The page that follows from the facts is written anew from what was merged; another one stays.
            let is_ours = |text: &&Vec<u8>| std::str::from_utf8(text).is_ok_and(readme::is_ours);
            let pages = [ours, theirs];
            if pages.iter().any(is_ours) {
                let page = pages.into_iter().min_by_key(|text| (is_ours(text), *text));
                files.extend(page.map(|text| (path.clone(), text.clone())));
                continue;
            }
        }
        match (three_way(&base, &ours, &theirs), read) {
            (Some(text), _) => files.extend(text.map(|text| (path.clone(), text.clone()))),
            (None, fault) => conflicts.push(Conflict {
                path: path.clone(),
                reason: fault.map_or(Reason::BothChanged, Reason::Unreadable),
            }),
        }
    }
    let went_on = [1, 2].map(|side| nodes.sides[side] != nodes.sides[0]);
    match places::join(nodes) {
        Ok(joined) => {
            decisions.extend(joined.decisions);
            files.extend(attachments(&sides, &joined.new_ids));
            if let Some(lists) = lists {
                match withheld_text(&sides, &lists, &joined.new_ids) {
                    Ok(text) => files.extend(text.map(|text| (layout::WITHHELD.to_owned(), text))),
                    Err(conflict) => conflicts.push(conflict),
                }
            }
            let comments = comments.into_iter().map(|(id, it)| record(&sides, id, it, &joined.new_ids));
            let runs = runs.into_iter().map(|(id, it)| record(&sides, id, it, &joined.new_ids));
            for file in comments.chain(runs) {
                match file {
                    Ok(file) => files.extend(file),
                    Err(conflict) => conflicts.push(conflict),
                }
            }
            for (node, sources) in joined.nodes {
                let path = layout::node(&node.id);
                let as_it_stands = sources.into_iter().filter_map(|(side, id)| {
                    let text = sides[side].get(&layout::node(&id))?;
                    (id == node.id && node_of(std::str::from_utf8(text).ok()?, &id).ok()? == node)
                        .then_some((side, text))
                });
                match text_of(&node, as_it_stands.collect(), sides[0].get(&path)) {
                    Ok(text) => drop(files.insert(path, text)),
                    Err(error) => conflicts.push(Conflict { path, reason: error.into() }),
                }
            }
            if let Some(ends) = ends {
                let (end, decided) = end::join(ends, &joined.new_ids, went_on);
                decisions.extend(decided);
                let path = layout::CONCLUSION.to_owned();
                match end.map(|end| conclusion_file::write(&end)).transpose() {
                    Ok(text) => files.extend(text.map(|text| (path, text.into_bytes()))),
                    Err(error) => conflicts.push(Conflict { path, reason: error.into() }),
                }
            }
        }
        Err(more) => conflicts.extend(more),
    }
    decisions.sort();
    decisions.dedup();
    if conflicts.is_empty() { Ok(Merged { files, decisions }) } else { Err(conflicts) }
}

/// What becomes of the list of withheld nodes: as it stands on a side that says just that, or else written anew.
fn withheld_text(
    sides: &[&Files; 3],
    lists: &[Option<WithheldList>; 3],
    new_ids: &[HashMap<NodeId, NodeId>; 3],
) -> Result<Option<Vec<u8>>, Conflict> {
    let merged = withheld::join(lists, new_ids);
    let [base, ours, theirs] = sides.map(|side| side.get(layout::WITHHELD));
    let says_that =
        |list: &Option<WithheldList>| list.as_ref().map_or(merged.is_empty(), |list| *list == merged);
    let same = [(ours, &lists[1]), (theirs, &lists[2])].into_iter().filter(|(_, list)| says_that(list));
    // The one that somebody has changed, if one was.
    match same.map(|(text, _)| text).min_by_key(|text| (*text == base, *text)) {
        Some(text) => Ok(text.cloned()),
        None => match withheld_file::write(&merged) {
            Ok(text) => Ok(Some(text.into_bytes())),
            Err(error) => Err(Conflict { path: layout::WITHHELD.to_owned(), reason: error.into() }),
        },
    }
}

/// What becomes of the file of a comment or a run.
fn record<T: Record>(
    sides: &[&Files; 3],
    id: T::Id,
    versions: [Option<T>; 3],
    new_ids: &[HashMap<NodeId, NodeId>; 3],
) -> Result<Option<(String, Vec<u8>)>, Conflict> {
    let path = T::path(id);
    let conflict = |reason| Conflict { path: T::path(id), reason };
    let merged = join_record(versions.clone(), new_ids).ok_or_else(|| conflict(Reason::BothChanged))?;
    let Some(merged) = merged else { return Ok(None) };
    let as_it_stands = [1, 2].into_iter().find(|side| versions[*side].as_ref() == Some(&merged));
    let text = match as_it_stands.and_then(|side| sides[side].get(&path)) {
        Some(text) => text.clone(),
        None => merged.write().map_err(|error| conflict(error.into()))?.into_bytes(),
    };
    Ok(Some((path, text)))
}

/// What becomes of a comment or a run, which goes where its node goes; `None` where both sides have rewritten it by hand.
fn join_record<T: Record>(
    mut versions: [Option<T>; 3],
    new_ids: &[HashMap<NodeId, NodeId>; 3],
) -> Option<Option<T>> {
    for (record, new_ids) in versions.iter_mut().zip(new_ids) {
        if let Some(node) = record.as_mut().and_then(|record| record.node_mut().as_mut())
            && let Some(new) = new_ids.get(node)
        {
            *node = new.clone();
        }
    }
    let [base, ours, theirs] = versions;
    three_way(&base, &ours, &theirs).or_else(|| {
        // Of a node that is gone, each side may have another id.
        let (mut ours, mut theirs) = ours.zip(theirs)?;
        let node = ours.node_mut().clone().min(theirs.node_mut().clone());
        ours.node_mut().clone_from(&node);
        theirs.node_mut().clone_from(&node);
        (ours == theirs).then_some(Some(ours))
    })
}

/// What becomes of the attachments, which go where their nodes go.
fn attachments(sides: &[&Files; 3], new_ids: &[HashMap<NodeId, NodeId>; 3]) -> Files {
    let mut versions: BTreeMap<(NodeId, AttachmentName), [Option<&Vec<u8>>; 3]> = BTreeMap::new();
    for (at, (side, new_ids)) in sides.iter().zip(new_ids).enumerate() {
        for (path, content) in side.iter() {
            if let Place::Attachment(node, name) = layout::place(path) {
                let node = new_ids.get(&node).cloned().unwrap_or(node);
                versions.entry((node, name)).or_default()[at] = Some(content);
            }
        }
    }
    // Names that differ in their letter case alone are one name on some systems.
    let mut named: BTreeMap<_, BTreeSet<(&Vec<u8>, AttachmentName)>> = BTreeMap::new();
    for ((node, name), [base, ours, theirs]) in versions {
        let kept = match three_way(&base, &ours, &theirs) {
            Some(content) => [content, None],
            // Removed by hand on one side, and changed on the other: what is there stays.
            None => [ours, theirs],
        };
        let key = (node, name.without_case());
        let kept = kept.into_iter().flatten().map(|content| (content, name.clone()));
        named.entry(key).or_default().extend(kept);
    }
    let mut files = Files::new();
    for ((node, _), several) in named {
        let Some((first, name)) = several.first().cloned() else { continue };
        files.insert(layout::attachment(&node, &name), first.clone());
        // The same under a name in other letter case is there already.
        let others = several.into_iter().filter(|(content, _)| *content != first);
        files.extend(
            others.map(|(content, name)| (layout::attachment(&node, &name.apart(content)), content.clone())),
        );
    }
    files
}

/// What becomes of a value that both sides may have changed; `None` where they have changed it to different ones.
fn three_way<T: PartialEq + Clone>(base: &T, ours: &T, theirs: &T) -> Option<T> {
    if ours == theirs || base == theirs {
        Some(ours.clone())
    } else if base == ours {
        Some(theirs.clone())
    } else {
        None
    }
}

/// The values of a file in three trees, or what is wrong with one of them.
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

/// The node in a file, which must be the one that its path names.
fn node_of(text: &str, id: &NodeId) -> Result<Node, YamlError> {
    let node = node_file::read(text)?;
    if node.id != *id {
        let message = format!("the file names {}, but its path names {id}", node.id);
        return Err(YamlError { line: None, column: None, message });
    }
    Ok(node)
}

/// The text of a node's file: as it stands on a side where it says just that, or else written anew.
fn text_of(
    node: &Node,
    as_it_stands: Vec<(usize, &Vec<u8>)>,
    base: Option<&Vec<u8>>,
) -> Result<Vec<u8>, YamlError> {
    let changed = as_it_stands.iter().map(|(_, text)| *text).filter(|text| Some(*text) != base).min();
    match changed.or(as_it_stands.first().map(|(_, text)| *text)) {
        Some(text) => Ok(text.clone()),
        None => Ok(node_file::write(node)?.into_bytes()),
    }
}
