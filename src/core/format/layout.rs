//! The path of each file. A node's path depends only on its id, so two clones never disagree, and no number of nodes ever moves
//! a file.
//!
//! # Where a node's file is
//!
//! In the folder of its round, `nodes/R3/R3.A1a.yaml`. An id with more than three characters behind the dot, from round 4
//! on more than four, lies further in: what it begins with is cut into pieces, which end after 3, 6, 12, 24 … characters,
//! and each piece with something behind it is a folder.
//!
//! | id | file |
//! |---|---|
//! | `R4.A1a1` | `nodes/R4/R4.A1a1.yaml` |
//! | `R5.A1a1b` | `nodes/R5/A1a/R5.A1a1b.yaml` |
//! | `R2.A123` | `nodes/R2/A12/R2.A123.yaml` |
//! | `R8.A1a1b2a1` | `nodes/R8/A1a/1b2/R8.A1a1b2a1.yaml` |
//!
//! So a small investigation has one folder for each round, and where letters and digits alternate, the deeper descendants of
//! `R3.A1a` are together. The name of a file is the whole id, so one pattern finds a node or a branch in any folder: in git's
//! patterns `*` matches folders, too.
//!
//! ```sh
//! git log -p -- 'nodes/*/R8.A1a1b2a1.yaml'                       # one node
//! git log -- 'nodes/*/R*.A1.yaml' 'nodes/*/R*.A1[a-z]*'          # R2.A1 and what is below it
//! ```
//!
//! # Why folders in the round
//!
//! A commit rewrites each folder on the way to a changed file: its list of names and ids, of which the ids (20 bytes each) do
//! not compress. So the cost of a commit follows the size of the folders that it touches. With all of a round in one folder, a
//! commit writes several times the bytes in a large round than in a small one. With folders it hardly
//!
//! The best pieces depend on how the tree of thoughts grew, and the id does not tell that. Some twenty layouts were
//! compared on made-up investigations of different shapes. Folders by four characters or by two segments (`A1`) fail where
//! the root has many children (`A123`); one level of folders fails where a round grows slowly; folders by ancestry alone,
//! without the round, cost more everywhere, and time for their many small trees. Pieces that get longer are close to the
//! best of all in each shape, with a depth that grows with the logarithm of the id's length.

use crate::domain::{AttachmentName, CommentId, NodeId, RunId};

/// The facts fixed by `tot_start`.
pub const META: &str = "investigation.yaml";
/// The ruleset in force, as it was given.
pub const RULESET: &str = "ruleset.yaml";
/// The end.
pub const CONCLUSION: &str = "conclusion.yaml";
/// Keeps line endings as they are, whatever `core.autocrlf` says.
pub const ATTRIBUTES: &str = ".gitattributes";
/// The text of [`ATTRIBUTES`].
pub const ATTRIBUTES_TEXT: &str = "* -text\n";
/// The page that a forge shows; see [`super::readme`].
pub const README: &str = "README.md";
/// The nodes whose texts are left out of what is published, if any; written by a person.
pub const WITHHELD: &str = "withheld.yaml";
/// The folder of the nodes.
pub const NODES: &str = "nodes/";
/// The folder of the comments.
pub const COMMENTS: &str = "comments/";

/// The folder of the runs.
pub const RUNS: &str = "runs/";
/// The folder of the attachments, in which each node has its own.
pub const ATTACHMENTS: &str = "attachments/";

/// The suffix of an id is cut after so many characters; what is before the last cut names the folder.
const CUTS: [usize; 7] = [3, 6, 12, 24, 48, 96, 192];

/// Names that no file or folder on Windows can have, of the length of a piece. Longer ones have a number at their end
/// and four characters, and no piece has four.
const RESERVED: [&str; 4] = ["aux", "con", "nul", "prn"];

/// The file of a node.
pub fn node(id: &NodeId) -> String {
    let suffix = id.suffix();
    let mut path = format!("{NODES}R{}/", id.round());
    let is_short = suffix.len() <= if id.round() < 4 { 3 } else { 4 };
    let mut start = 0;
    for end in CUTS.into_iter().take_while(|end| *end < suffix.len() && !is_short) {
        // A suffix is ASCII, so any place in it is one between two characters.
        let piece = &suffix[start..end];
        path.push_str(piece);
        if RESERVED.iter().any(|name| name.eq_ignore_ascii_case(piece)) {
            path.push('_');
        }
        path.push('/');
        start = end;
    }
    path.push_str(id.as_str());
    path.push_str(".yaml");
    path
}

/// The file of a comment.
pub fn comment(id: CommentId) -> String {
    format!("{COMMENTS}{id}.yaml")
}

/// The file of a run.
pub fn run(id: RunId) -> String {
    format!("{RUNS}{id}.yaml")
}

/// The file of an attachment.
pub fn attachment(node: &NodeId, name: &AttachmentName) -> String {
    format!("{ATTACHMENTS}{node}/{name}")
}

/// The kind of content at a path.
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
    /// The file of a comment.
    Comment(CommentId),
    /// The file of a run.
    Run(RunId),
    /// An attachment of a node.
    Attachment(NodeId, AttachmentName),
    /// Below [`NODES`], [`COMMENTS`], [`RUNS`] or [`ATTACHMENTS`], but not where a file of those can be.
    Stray,
    /// A file of the user's own, such as notes or a script; or [`README`] or [`ATTRIBUTES`].
    Other,
}

/// Returns the kind of content at the path.
pub fn place(path: &str) -> Place {
    match path {
        META => Place::Meta,
        RULESET => Place::Ruleset,
        CONCLUSION => Place::Conclusion,
        path => {
            if let Some(rest) = path.strip_prefix(NODES) {
                named(rest).filter(|id| node(id) == path).map_or(Place::Stray, Place::Node)
            } else if let Some(rest) = path.strip_prefix(COMMENTS) {
                let id = rest.strip_suffix(".yaml").and_then(|id| id.parse().ok());
                id.map_or(Place::Stray, Place::Comment)
            } else if let Some(rest) = path.strip_prefix(RUNS) {
                let id = rest.strip_suffix(".yaml").and_then(|id| id.parse().ok());
                id.map_or(Place::Stray, Place::Run)
            } else if let Some(rest) = path.strip_prefix(ATTACHMENTS) {
                let parts =
                    rest.split_once('/').and_then(|(id, name)| Some((id.parse().ok()?, name.parse().ok()?)));
                parts.map_or(Place::Stray, |(id, name)| Place::Attachment(id, name))
            } else if [NODES, COMMENTS, RUNS, ATTACHMENTS].iter().any(|it| it.strip_suffix('/') == Some(path))
            {
                // A file in place of a folder shadows all files that belong in it.
                Place::Stray
            } else {
                Place::Other
            }
        }
    }
}

/// Returns the right path of a file that is named like a node, wherever it is.
pub fn home(path: &str) -> Option<String> {
    named(path).map(|id| node(&id))
}

/// The node whose id is the name of the file.
fn named(path: &str) -> Option<NodeId> {
    let file = path.rsplit_once('/').map_or(path, |(_, file)| file);
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
            assert_eq!(place(path), Place::Node(id));
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
            assert_eq!(place(stray), Place::Stray, "{stray}");
        }
        assert_eq!(place("README.md"), Place::Other);
        let id: CommentId = "01890a5d-ac96-774b-bcce-b302099a8057".parse().unwrap();
        assert_eq!(place(&comment(id)), Place::Comment(id));
        let id: RunId = "01890a5d-ac96-774b-bcce-b302099a8057".parse().unwrap();
        assert_eq!(place(&run(id)), Place::Run(id));
        let (id, name): (NodeId, AttachmentName) = ("R1.A".parse().unwrap(), "plot 1.png".parse().unwrap());
        assert_eq!(attachment(&id, &name), "attachments/R1.A/plot 1.png");
        assert_eq!(place(&attachment(&id, &name)), Place::Attachment(id, name));
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
            assert_eq!(place(path), Place::Node(id));
        }
    }

    #[test]
    fn the_longest_id_has_a_path() {
        let id: NodeId = format!("R1.{}", "A".repeat(197)).parse().unwrap();
        let path = node(&id);
        assert_eq!(path.matches('/').count(), 2 + CUTS.len());
        assert_eq!(place(&path), Place::Node(id));
    }
}
