//! The `withheld.yaml` file, written by a person: the nodes whose text is not published.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

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
    #[serde(serialize_with = "yaml::text")]
    by: String,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "yaml::some_text")]
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

/// Parses the file.
///
/// # Errors
///
/// Returns an error if the text is not a list of withheld nodes.
pub fn read(text: &str) -> Result<WithheldList, YamlError> {
    let entries = yaml::from_text::<WithheldFile>(text)?.withheld.into_iter();
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
        entries.entry(withholding).or_default().push(node.clone());
    }
    let entry = |(Withholding { by, why }, nodes): (&Withholding, Vec<NodeId>)| WithheldEntry {
        nodes,
        by: by.clone(),
        why: why.clone(),
    };
    yaml::to_text(&WithheldFile { withheld: entries.into_iter().map(entry).collect() })
}
