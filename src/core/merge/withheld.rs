//! Merges the list of withheld nodes, which follows renamed ids.

use std::collections::{BTreeSet, HashMap};

use super::three_way;
use crate::domain::NodeId;
use crate::format::withheld_file::WithheldList;

/// Joins the lists from base, ours and theirs. If both sides changed an entry and only one side withholds the node,
/// the node stays withheld.
pub(super) fn join(
    lists: &[Option<WithheldList>; 3],
    new_ids: &[HashMap<NodeId, NodeId>; 3],
) -> WithheldList {
    let [base, ours, theirs] = [0, 1, 2].map(|side| -> WithheldList {
        let moved = |id: &NodeId| new_ids[side].get(id).unwrap_or(id).clone();
        lists[side].iter().flatten().map(|(node, withholding)| (moved(node), withholding.clone())).collect()
    });
    let nodes: BTreeSet<&NodeId> = base.keys().chain(ours.keys()).chain(theirs.keys()).collect();
    let joined = |node: &NodeId| {
        let [base, ours, theirs] = [&base, &ours, &theirs].map(|list| list.get(node));
        let kept = three_way(&base, &ours, &theirs).unwrap_or_else(|| ours.into_iter().chain(theirs).min());
        Some((node.clone(), kept?.clone()))
    };
    nodes.into_iter().filter_map(joined).collect()
}
