//! Sample investigations for the tests of this module.

use std::sync::Arc;

use crate::assess::Assessment;
use crate::domain::{Classification, Investigation, Meta, Node, SessionId, Timestamp};
use crate::ruleset::{EffectiveRules, Ruleset, builtin};

/// Returns the default ruleset.
fn ruleset() -> &'static Ruleset {
    &builtin::all()[0].ruleset
}

/// Assesses an investigation under the default ruleset.
pub(super) fn assessed(investigation: &Investigation) -> Assessment<'_> {
    Assessment::new(investigation, Some(EffectiveRules::new(ruleset(), investigation.meta())))
}

/// Builds an investigation from the id, parent, state (`None` for a proposal) and title of each node.
pub(super) fn build(nodes: &[(&str, Option<&str>, Option<&str>, &str)]) -> Investigation {
    of(nodes.iter().map(|(id, parent, state, title)| node(id, *parent, *state, title)).collect())
}

/// Builds an investigation with these nodes.
pub(super) fn of(nodes: Vec<Node>) -> Investigation {
    let (investigation, faults) = Investigation::from_facts(
        Meta {
            id: SessionId::new(0, [0; 10]),
            title: "Sample <1> & \"2\"".to_owned(),
            query: String::new(),
            context: None,
            ruleset: ruleset().name.clone(),
            mode: "deep".to_owned(),
            min_rounds: 5,
            min_roots: 1,
            allow_early_terminal: false,
            started_at: time(),
        },
        nodes.into_iter().map(Arc::new),
        None,
    );
    assert!(faults.is_empty(), "{faults:?}");
    investigation
}

/// Returns the parents in a tree with `nodes` nodes, each with `children` children.
pub(super) fn complete(nodes: usize, children: usize) -> Vec<Option<usize>> {
    (0..nodes).map(|node| node.checked_sub(1).map(|before| before / children)).collect()
}

/// Builds an investigation in which node `i` is a child of node `parents[i]`. A parent's index must be lower than `i`.
pub(super) fn tree(
    parents: &[Option<usize>],
    state: impl Fn(usize) -> Option<&'static str>,
) -> Investigation {
    let mut rounds: Vec<u32> = Vec::new();
    for parent in parents {
        rounds.push(parent.map_or(1, |parent: usize| rounds[parent] + 1));
    }
    let ids: Vec<String> = (0..parents.len()).map(|node| format!("R{}.N{node:06}", rounds[node])).collect();
    let has_children = {
        let mut has = vec![false; parents.len()];
        for parent in parents.iter().flatten() {
            has[*parent] = true;
        }
        has
    };
    let words =
        ["cache", "latency", "fsync", "retry", "segment", "vector", "lock", "allocator", "queue", "日本語"];
    let titles: Vec<String> = (0..parents.len())
        .map(|node| {
            (0..node * 7 % 11 + 1).map(|word| words[(node * 3 + word * 5) % 10]).collect::<Vec<_>>().join(" ")
        })
        .collect();
    let nodes: Vec<_> = (0..parents.len())
        .map(|node| {
            // A proposal cannot have children.
            let state = state(node).or(has_children[node].then_some("EXPLORE"));
            (
                ids[node].as_str(),
                parents[node].map(|parent| ids[parent].as_str()),
                state,
                titles[node].as_str(),
            )
        })
        .collect();
    build(&nodes)
}

/// Returns a node with findings. Each node has a different agent, so one node can confirm another.
pub(super) fn node(id: &str, parent: Option<&str>, state: Option<&str>, title: &str) -> Node {
    Node {
        classification: state.map(|state| Classification {
            agent_id: Some(format!("agent-{id}")),
            ..Classification::new(state.parse().unwrap(), "Looked, and measured it.", time())
        }),
        ..Node::new(id.parse().unwrap(), parent.map(|parent| parent.parse().unwrap()), title, time())
    }
}

fn time() -> Timestamp {
    Timestamp::from_milliseconds(0).unwrap()
}

/// Asserts that the markup is well-formed XML and that each `id` is unique.
pub(super) fn well_formed(markup: &str) {
    let document = match roxmltree::Document::parse(markup) {
        Ok(document) => document,
        Err(error) => panic!("{error} in {markup}"),
    };
    let ids: Vec<&str> = document.descendants().filter_map(|node| node.attribute("id")).collect();
    assert_eq!(ids.iter().collect::<std::collections::BTreeSet<_>>().len(), ids.len());
}
