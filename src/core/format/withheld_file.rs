//! The `withheld.yaml` file, written by a person: the nodes whose text is not published.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::layout::{self, FileRole};
use crate::domain::NodeId;
use crate::yaml::{self, YamlError};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WithheldFile {
    withheld: Vec<WithheldEntry>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WithheldEntry {
    nodes: Vec<NodeId>,
    by: String,
    why: Option<String>,
}

/// The withheld nodes, each with the decision to withhold it.
pub type WithheldList = BTreeMap<NodeId, Withholding>;

/// The decision to withhold a node's text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Withholding {
    /// The person who made the decision, as free text.
    pub by: String,
    /// The reason, if stated.
    pub why: Option<String>,
}

/// Returns true if a person may take the file at this path for the list, although it is not: its name or its folder is slightly
/// different.
pub fn is_misnamed(path: &str) -> bool {
    if path == layout::WITHHELD || matches!(layout::file_role(path), FileRole::Attachment(..)) {
        return false;
    }
    let name = path.rsplit('/').next().unwrap_or(path).trim_start_matches('.').to_lowercase();
    let mut parts = name.split('.');
    let stem = parts.next().unwrap_or_default().chars().filter(char::is_ascii_lowercase).collect::<String>();
    let is_text = parts.all(|ending| {
        let is_near = strsim::levenshtein(ending, "yaml") <= 1 && !ending.ends_with('~');
        is_near || ["yml", "txt", "json", "md", "toml"].contains(&ending)
    });
    is_text
        && (stem.starts_with("withheld")
            || stem.starts_with("withhold")
            || strsim::levenshtein(&stem, "withheld") <= 2)
}

/// Parses the file.
///
/// # Errors
///
/// Returns an error if the text is not a list of withheld nodes, or if an entry names none.
pub fn read(text: &str) -> Result<WithheldList, YamlError> {
    let entries = yaml::from_text::<WithheldFile>(text)?.withheld.into_iter();
    if entries.as_slice().iter().any(|entry| entry.nodes.is_empty()) {
        let message = "an entry names no node".to_owned();
        return Err(YamlError { line: None, column: None, message });
    }
    let of_entry = |WithheldEntry { nodes, by, why }| {
        let withholding = Withholding { by, why };
        nodes.into_iter().map(move |node| (node, withholding.clone()))
    };
    Ok(entries.flat_map(of_entry).collect())
}

/// Serializes the file.
///
/// # Errors
///
/// Never fails in practice; see [`super::files`].
pub fn write(list: &WithheldList) -> Result<String, YamlError> {
    let mut entries: BTreeMap<&Withholding, Vec<NodeId>> = BTreeMap::new();
    for (node, withholding) in list {
        let mut node = node.clone();
        node.show_whole(true);
        entries.entry(withholding).or_default().push(node);
    }
    let entry = |(Withholding { by, why }, nodes): (&Withholding, Vec<NodeId>)| WithheldEntry {
        nodes,
        by: by.clone(),
        why: why.clone(),
    };
    yaml::to_text(&WithheldFile { withheld: entries.into_iter().map(entry).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_under_nearly_the_right_name_is_noticed() {
        for path in [
            "withheld.yml",
            "Withheld.yaml",
            "WITHHELD.YAML",
            ".withheld.yaml",
            "withheld.yaml.txt",
            "withheld",
            "witheld.yaml",
            "withold.yaml",
            "withhold.yaml",
            "wihtheld.yaml",
            "with-held.yml",
            "withheld-nodes.yaml",
            "withheld (1).yaml",
            "withheld.yamll",
            "nodes/withheld.yaml",
            "nodes/R2/withheld.yaml",
            ".tot/withheld.yaml",
            "attachments/withheld.yaml",
            "../withheld.yaml",
        ] {
            assert!(is_misnamed(path), "{path}");
        }
        for path in [
            "withheld.yaml",
            // What editors and merges leave beside it.
            "withheld.yaml~",
            "withheld.yaml.orig",
            ".withheld.yaml.swp",
            "withheld.py",
            "attachments/R1.A/withheld.yaml",
            "weather.yaml",
            "within.yaml",
            "nodes/R2/R2.A1.yaml",
            "README.md",
        ] {
            assert!(!is_misnamed(path), "{path}");
        }
    }
}
