//! Which path holds what. The path of a node depends on nothing but its id, so that two clones never disagree, and
//! `nodes/R3/` is a folder that a person can browse.
//!
//! # Why a folder per round
//!
//! A commit writes each folder on the way to a changed file anew: its list of names and ids, of which the ids (20 bytes
//! each) do not compress. So what a commit costs follows the size of the folders that it touches, and not that of the
//! investigation. Measured with `cargo bench --bench store`, commits of three files of 3 KB, in rounds of 2, 11, 111 and
//! 499 nodes, beside investigations of 10, 100, 1,000 and 10,000: 7.0, 7.3, 8.7 and 20.3 KB of objects. That is 27 bytes
//! for each node in the round, so 1.5 times the bytes at 100 nodes in a round of 150, and 4.5 times in one of 1,000; time
//! grows less, since 27 KB are little to hash and to compress.
//!
//! The others that were tried, for the same commit at 10,000 nodes: all nodes in one folder, 279 KB and 9 ms; folders
//! nested by ancestry, 9 KB and 12 ms, for the many small trees on the way; this one, 3 ms. A further level inside the
//! round (by the first letters of the suffix) would bound a commit at any size, and costs the reader of every smaller
//! investigation a folder to open for each handful of files.

use crate::domain::NodeId;

/// What `tot_start` fixed.
pub const META: &str = "investigation.yaml";
/// The ruleset in force, as it was given.
pub const RULESET: &str = "ruleset.yaml";
/// The end.
pub const CONCLUSION: &str = "conclusion.yaml";
/// Keeps line endings as they are, whatever `core.autocrlf` says.
pub const ATTRIBUTES: &str = ".gitattributes";
/// The text of [`ATTRIBUTES`].
pub const ATTRIBUTES_TEXT: &str = "* -text\n";
/// The folder of the nodes.
pub const NODES: &str = "nodes/";

/// The file of a node.
pub fn node(id: &NodeId) -> String {
    format!("{NODES}R{}/{id}.yaml", id.round())
}

/// What a path holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// [`META`].
    Meta,
    /// [`RULESET`].
    Ruleset,
    /// [`CONCLUSION`].
    Conclusion,
    /// The file of a node.
    Node(NodeId),
    /// Below [`NODES`], but not where a node's file can be.
    Stray,
    /// A file of the user's own: a README, notes, a script.
    Other,
}

/// What the path holds.
pub fn place(path: &str) -> Place {
    match path {
        META => Place::Meta,
        RULESET => Place::Ruleset,
        CONCLUSION => Place::Conclusion,
        path => match path.strip_prefix(NODES) {
            None => Place::Other,
            Some(rest) => {
                let id = rest
                    .split_once('/')
                    .and_then(|(_, file)| file.strip_suffix(".yaml"))
                    .and_then(|id| id.parse::<NodeId>().ok())
                    .filter(|id| node(id) == path);
                id.map_or(Place::Stray, Place::Node)
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_tells_what_it_holds() {
        let id: NodeId = "R3.A1a".parse().unwrap();
        assert_eq!(node(&id), "nodes/R3/R3.A1a.yaml");
        assert_eq!(place("nodes/R3/R3.A1a.yaml"), Place::Node(id));
        assert_eq!(place("nodes/R2/R3.A1a.yaml"), Place::Stray);
        assert_eq!(place("nodes/R3/notes.md"), Place::Stray);
        assert_eq!(place("README.md"), Place::Other);
    }
}
