//! Formats an investigation's tree, folded to the nodes that matter.

use std::collections::{BTreeMap, HashSet};

use crate::assess::{Assessment, differs};
use crate::cli::screen::{NodeLine, QUIET, Screen, styled};
use crate::domain::{Node, NodeId};
use crate::text::{columns, one_line};

/// The part of the tree to show.
#[derive(Clone, Copy)]
pub(super) struct TreeExtent {
    /// Whether to show every node.
    pub all: bool,
    /// The maximum number of rounds.
    pub depth: Option<u32>,
}

/// A line of the tree: a node, or a count of hidden nodes.
enum TreeLine<'a> {
    Node(&'a Node),
    More(Vec<&'a Node>),
}

/// Formats the tree. Folded nodes are counted by state.
pub(super) fn shown(assessment: &Assessment<'_>, extent: TreeExtent, screen: Screen) -> String {
    let investigation = assessment.investigation;
    let order = investigation.preorder();
    let is_whole = extent.all || order.len() <= FEW;
    let matters = if is_whole { None } else { Some(what_matters(assessment)) };
    let is_shown = |node: &Node| {
        matters.as_ref().is_none_or(|ids| ids.contains(&node.id))
            && extent.depth.is_none_or(|depth| node.round() <= depth)
    };
    // The size of each subtree, including its root. Children come after their parents.
    let mut sizes: BTreeMap<&NodeId, usize> = BTreeMap::new();
    for node in order.iter().rev() {
        let size = *sizes.entry(&node.id).and_modify(|size| *size += 1).or_insert(1);
        if let Some(parent) = &node.parent {
            *sizes.entry(parent).or_default() += size;
        }
    }
    let below = |node: Option<&NodeId>| -> Vec<TreeLine<'_>> {
        let children: Vec<&Node> = match node {
            Some(id) => investigation.children(id).map(AsRef::as_ref).collect(),
            None => investigation.roots().map(AsRef::as_ref).collect(),
        };
        let (seen, hidden): (Vec<&Node>, Vec<&Node>) =
            children.into_iter().partition(|child| is_shown(child));
        let mut lines: Vec<TreeLine<'_>> = seen.into_iter().map(TreeLine::Node).collect();
        match hidden.as_slice() {
            [] => {}
            // A single hidden node takes as much room as the line that counts it.
            [only]
                if sizes.get(&only.id) == Some(&1)
                    && extent.depth.is_none_or(|depth| only.round() <= depth) =>
            {
                lines.push(TreeLine::Node(only));
            }
            _ => lines.push(TreeLine::More(hidden)),
        }
        lines
    };
    let mut text = String::new();
    let mut is_folded = false;
    let mut stack: Vec<(String, std::vec::IntoIter<TreeLine<'_>>)> =
        vec![(String::new(), below(None).into_iter())];
    loop {
        let is_root = stack.len() == 1;
        let Some((prefix, lines)) = stack.last_mut() else { break };
        let Some(line) = lines.next() else {
            stack.pop();
            continue;
        };
        let is_last = lines.as_slice().is_empty();
        let (branch, rest) = match (is_root, is_last) {
            (true, _) => ("", ""),
            (_, true) => ("└─ ", "   "),
            (_, false) => ("├─ ", "│  "),
        };
        let inner = format!("{prefix}{rest}");
        let drawn = within(&format!("{prefix}{branch}"), screen);
        match line {
            TreeLine::Node(node) => {
                let taken = columns(&drawn) + 2;
                text.push_str(&format!(
                    "  {}{}\n",
                    styled(QUIET, &drawn),
                    NodeLine::new(assessment, node).text(screen, taken)
                ));
                stack.push((inner, below(Some(&node.id)).into_iter()));
            }
            TreeLine::More(nodes) => {
                is_folded |= nodes.iter().any(|node| extent.depth.is_none_or(|depth| node.round() <= depth));
                let number: usize = nodes.iter().filter_map(|node| sizes.get(&node.id)).sum();
                let more = screen
                    .rest(&format!("{number} more: {}", by_state(&nodes, assessment)), columns(&drawn) + 2);
                text.push_str(&format!("  {}\n", styled(QUIET, &format!("{drawn}{more}"))));
            }
        }
    }
    // Nodes beyond --depth were left out on request.
    if is_folded {
        text.push_str(&format!("  {}\n", styled(QUIET, "--all shows every node")));
    }
    text
}

/// Returns the branch lines before a node. Outer lines are cut if they would leave no room for the node.
fn within(prefix: &str, screen: Screen) -> String {
    let most = screen.columns.map_or(usize::MAX, |all| all / 2);
    let length = prefix.chars().count();
    if length <= most {
        return prefix.to_owned();
    }
    let kept: String = prefix.chars().skip(length - most + 1).collect();
    format!("…{kept}")
}

/// Counts these nodes and their descendants by state, most frequent state first.
fn by_state(nodes: &[&Node], assessment: &Assessment<'_>) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut stack: Vec<&Node> = nodes.to_vec();
    while let Some(node) = stack.pop() {
        let mark = assessment.mark(node);
        let label =
            mark.refutes.map_or_else(|| one_line(&mark.label).to_lowercase(), |_| "refuting".to_owned());
        *counts.entry(label).or_default() += 1;
        stack.extend(assessment.investigation.children(&node.id).map(AsRef::as_ref));
    }
    let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts.iter().map(|(state, count)| format!("{count} {state}")).collect::<Vec<_>>().join(", ")
}

/// The maximum number of nodes in a tree that is never folded.
const FEW: usize = 20;

/// The maximum number of nodes of each kind in a folded tree.
const SHOWN: usize = 20;

/// Returns the nodes in a folded tree: the first answers, theories, proposals, and nodes that await confirmation, are refuted,
/// are contested or have open objections. Includes the nodes that confirm or refute these, and the paths to all of them.
fn what_matters(assessment: &Assessment<'_>) -> HashSet<NodeId> {
    let investigation = assessment.investigation;
    let pending: Vec<_> = investigation.pending().collect();
    let differing: Vec<_> = investigation.nodes().filter(|node| differs(node)).collect();
    let answers: Vec<_> = assessment.answers.iter().map(|answer| answer.node).collect();
    let refuted: Vec<_> = assessment.refuted.iter().map(|answer| answer.node).collect();
    let kinds = [&answers, &assessment.theories, &assessment.awaiting, &refuted, &differing, &pending];
    let chosen = kinds.iter().flat_map(|kind| kind.iter().take(SHOWN)).map(|node| &node.id);
    let objected = assessment.open.iter().filter_map(|objection| objection.comment.node.as_ref());
    let mut ids: HashSet<NodeId> = HashSet::new();
    let mut add = |id: &NodeId| ids.extend(investigation.path(id).iter().map(|node| node.id.clone()));
    for id in chosen.chain(objected.take(SHOWN)) {
        add(id);
        if let Some(answer) = assessment.answer(id) {
            answer.confirming.iter().map(|it| &it.node).chain(&answer.refuted_by).for_each(&mut add);
        }
    }
    ids
}
