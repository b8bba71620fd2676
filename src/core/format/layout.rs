//! File paths. The path of a node's file depends only on its id, so all clones agree on it, and the file never moves as
//! the investigation grows.
//!
//! # The path of a node
//!
//! A node's file is in the folder of its round: `nodes/R3/R3.A1a-k3f9q2.yaml`. Longer suffixes add subfolders. A suffix
//! is long if it has more than three characters, or more than four from round 4 on. It is cut after 3, 6, 12, 24, …
//! characters, and each piece except the last names a folder.
//!
//! | id | file |
//! |---|---|
//! | `R4.A1a1-k3f9q2` | `nodes/R4/R4.A1a1-k3f9q2.yaml` |
//! | `R5.A1a1b-k3f9q2` | `nodes/R5/A1a/R5.A1a1b-k3f9q2.yaml` |
//! | `R2.A123-k3f9q2` | `nodes/R2/A12/R2.A123-k3f9q2.yaml` |
//! | `R8.A1a1b2a1-k3f9q2` | `nodes/R8/A1a/1b2/R8.A1a1b2a1-k3f9q2.yaml` |
//!
//! A small investigation therefore has one folder for each round. Where letters and digits alternate, the deeper
//! descendants of `R3.A1a` share a folder. The file name is the complete id, so a single pattern finds a node or a
//! branch in any folder, because `*` in git patterns also matches `/`.
//!
//! ```sh
//! git log -p -- 'nodes/*/R8.A1a1b2a1-*'                          # one node
//! git log -- 'nodes/*/R*.A1-*' 'nodes/*/R*.A1[a-z]*'             # R2.A1 and its descendants
//! ```
//!
//! # Why rounds have subfolders
//!
//! A commit rewrites every folder on the path of a changed file. A folder lists names and object ids, and the ids (20
//! bytes each) do not compress. The size of a commit therefore depends on the sizes of the folders that it touches. If
//! all nodes of a round were in one folder, a commit would write several times as many bytes in a large round as in a
//! small one. With subfolders, the size hardly grows.
//!
//! The ideal pieces depend on the shape of the tree, which the id does not reveal. Some twenty layouts were compared on
//! generated investigations of different shapes:
//!
//! - Folders named with four characters or two segments (`A1`) fail if the root has many children (`A123`).
//! - A single level of folders fails if a round grows slowly.
//! - Folders based on ancestry alone, without the round, cost more in every shape and are slow because of their many
//!   small trees.
//! - Pieces of increasing length are close to the best layout in every shape. The depth grows logarithmically with the
//!   length of the id.

use std::str::FromStr;

use crate::domain::{AttachmentName, CommentId, NodeId, RunId};

/// The file with the facts fixed by `tot_start`.
pub const META: &str = "investigation.yaml";
/// The ruleset file, stored verbatim.
pub const RULESET: &str = "ruleset.yaml";
/// The conclusion file.
pub const CONCLUSION: &str = "conclusion.yaml";
/// The file that makes git preserve line endings, regardless of `core.autocrlf`, and names the merge driver of nodes and
/// conclusions. Only a clone's own configuration says what the driver runs. Without it, git merges by line.
pub const ATTRIBUTES: &str = ".gitattributes";
/// The content of [`ATTRIBUTES`].
pub const ATTRIBUTES_TEXT: &str = "* -text\nnodes/** merge=tot\n/conclusion.yaml merge=tot\n";
/// The page shown by git forges; see [`super::readme`].
pub const README: &str = "README.md";
/// The list of nodes whose text is not published, written by a person. Optional.
pub const WITHHELD: &str = "withheld.yaml";
/// The folder for nodes.
pub const NODES: &str = "nodes/";
/// The folder for comments.
pub const COMMENTS: &str = "comments/";

/// The folder for runs.
pub const RUNS: &str = "runs/";
/// The folder for attachments, with a subfolder for each node.
pub const ATTACHMENTS: &str = "attachments/";

/// The positions at which a suffix is cut into folder names.
const CUTS: [usize; 7] = [3, 6, 12, 24, 48, 96, 192];

/// The names reserved by Windows that a piece can have. Longer reserved names have four characters and end with a
/// digit, but no piece has four characters.
const RESERVED: [&str; 4] = ["aux", "con", "nul", "prn"];

/// Returns the path of a node's file.
pub fn node(id: &NodeId) -> String {
    let suffix = id.suffix();
    let mut path = format!("{NODES}R{}/", id.round());
    let is_short = suffix.len() <= if id.round() < 4 { 3 } else { 4 };
    let mut start = 0;
    for end in CUTS.into_iter().take_while(|end| *end < suffix.len() && !is_short) {
        // A suffix is ASCII, so any index is a character boundary.
        let piece = &suffix[start..end];
        path.push_str(piece);
        if RESERVED.iter().any(|name| name.eq_ignore_ascii_case(piece)) {
            path.push('_');
        }
        path.push('/');
        start = end;
    }
    path.push_str(id.whole());
    path.push_str(".yaml");
    path
}

/// Returns the path of a comment's file.
pub fn comment(id: CommentId) -> String {
    format!("{COMMENTS}{id}.yaml")
}

/// Returns the path of a run's file.
pub fn run(id: RunId) -> String {
    format!("{RUNS}{id}.yaml")
}

/// Returns the path of an attachment.
pub fn attachment(node: &NodeId, name: &AttachmentName) -> String {
    format!("{ATTACHMENTS}{}/{name}", node.whole())
}

/// The kind of file at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileRole {
    /// The [`META`] file.
    Meta,
    /// The [`RULESET`] file.
    Ruleset,
    /// The [`CONCLUSION`] file.
    Conclusion,
    /// A node file.
    Node(NodeId),
    /// A comment file.
    Comment(CommentId),
    /// A run file.
    Run(RunId),
    /// A file attached to a node.
    Attachment(NodeId, AttachmentName),
    /// A path below [`NODES`], [`COMMENTS`], [`RUNS`] or [`ATTACHMENTS`] that is not valid for any file there.
    Stray,
    /// Any other file: [`README`], [`ATTRIBUTES`], or a user's file, such as notes or a script.
    Other,
}

/// Returns the kind of file at the path.
pub fn file_role(path: &str) -> FileRole {
    match path {
        META => FileRole::Meta,
        RULESET => FileRole::Ruleset,
        CONCLUSION => FileRole::Conclusion,
        path => {
            // A file with the same name as a folder hides all files that belong in the folder.
            let (folder, rest) = path.split_once('/').unwrap_or((path, ""));
            let place = match format!("{folder}/").as_str() {
                NODES => named(rest).filter(|id| node(id) == path).map(FileRole::Node),
                COMMENTS => stem(rest).map(FileRole::Comment),
                RUNS => stem(rest).map(FileRole::Run),
                ATTACHMENTS => rest.split_once('/').and_then(|(id, name)| {
                    Some(FileRole::Attachment(NodeId::in_file(id).ok()?, name.parse().ok()?))
                }),
                _ => return FileRole::Other,
            };
            place.unwrap_or(FileRole::Stray)
        }
    }
}

/// Returns the correct path for a file that is named like a node, regardless of its location.
pub fn home(path: &str) -> Option<String> {
    named(path).map(|id| node(&id))
}

/// Returns the node id in the file name.
fn named(path: &str) -> Option<NodeId> {
    NodeId::in_file(path.rsplit_once('/').map_or(path, |(_, file)| file).strip_suffix(".yaml")?).ok()
}

fn stem<T: FromStr>(file: &str) -> Option<T> {
    file.strip_suffix(".yaml")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_of_a_node_follows_from_its_id() {
        for (id, path) in [
            ("R1.A", "nodes/R1/R1.A.yaml"),
            ("R3.A1a", "nodes/R3/R3.A1a.yaml"),
            ("R4.A1a1", "nodes/R4/R4.A1a1.yaml"),
            ("R5.A1a1b", "nodes/R5/A1a/R5.A1a1b.yaml"),
            ("R2.A12", "nodes/R2/R2.A12.yaml"),
            ("R2.A123", "nodes/R2/A12/R2.A123.yaml"),
            ("R4.A12a1", "nodes/R4/A12/R4.A12a1.yaml"),
            ("R6.A1a1b1", "nodes/R6/A1a/R6.A1a1b1.yaml"),
            ("R7.A1a1b1c", "nodes/R7/A1a/1b1/R7.A1a1b1c.yaml"),
            ("R12.A1a1b1c1a1a1", "nodes/R12/A1a/1b1/R12.A1a1b1c1a1a1.yaml"),
            ("R13.A1a1b1c1a1a1a", "nodes/R13/A1a/1b1/c1a1a1/R13.A1a1b1c1a1a1a.yaml"),
        ] {
            let id: NodeId = id.parse().unwrap();
            assert_eq!(node(&id), path);
            assert_eq!(file_role(path), FileRole::Node(id));
        }
    }

    #[test]
    fn a_path_tells_what_it_holds() {
        for stray in [
            "nodes/R2/R3.A1a.yaml",
            "nodes/R3/A1a/R3.A1a.yaml",
            "nodes/R4/A1a/R4.A1a1.yaml",
            "nodes/R5/R5.A1a1a.yaml",
            "nodes/R5/A1b/R5.A1a1a.yaml",
            "nodes/R1.A.yaml",
            "nodes/R3/notes.md",
            "nodes/",
            "comments/notes.md",
            "comments/01890A5D-AC96-774B-BCCE-B302099A8057.yaml",
            "comments/a/01890a5d-ac96-774b-bcce-b302099a8057.yaml",
            "runs",
            "runs/notes.md",
            "attachments/plot.png",
            "attachments/R1.A",
            "attachments/R1-A/plot.png",
            "attachments/R1.A/.htaccess",
            "attachments/R1.A/plots/a.png",
        ] {
            assert_eq!(file_role(stray), FileRole::Stray, "{stray}");
        }
        assert_eq!(file_role("README.md"), FileRole::Other);
        let id: CommentId = "01890a5d-ac96-774b-bcce-b302099a8057".parse().unwrap();
        assert_eq!(file_role(&comment(id)), FileRole::Comment(id));
        let id: RunId = "01890a5d-ac96-774b-bcce-b302099a8057".parse().unwrap();
        assert_eq!(file_role(&run(id)), FileRole::Run(id));
        let (id, name): (NodeId, AttachmentName) = ("R1.A".parse().unwrap(), "plot 1.png".parse().unwrap());
        assert_eq!(attachment(&id, &name), "attachments/R1.A/plot 1.png");
        assert_eq!(file_role(&attachment(&id, &name)), FileRole::Attachment(id, name));
    }

    #[test]
    fn no_folder_has_a_name_that_windows_reserves() {
        for (id, path) in [
            ("R2.Aux1", "nodes/R2/Aux_/R2.Aux1.yaml"),
            ("R2.A1acon7", "nodes/R2/A1a/con_/R2.A1acon7.yaml"),
            ("R1.CON", "nodes/R1/R1.CON.yaml"),
            ("R2.COM1a", "nodes/R2/COM/R2.COM1a.yaml"),
        ] {
            let id: NodeId = id.parse().unwrap();
            assert_eq!(node(&id), path);
            assert_eq!(file_role(path), FileRole::Node(id));
        }
    }

    #[test]
    fn the_longest_id_has_a_path() {
        let id: NodeId = format!("R1.{}", "A".repeat(197)).parse().unwrap();
        let path = node(&id);
        assert_eq!(path.matches('/').count(), 2 + CUTS.len());
        assert_eq!(file_role(&path), FileRole::Node(id));
    }
}
