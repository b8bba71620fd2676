//! `withheld.yaml`, written by a person: the nodes whose texts are left out of what is published.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::domain::NodeId;
use crate::yaml::{self, YamlError};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    withheld: Vec<Entry>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    nodes: Vec<NodeId>,
    #[serde(serialize_with = "yaml::text")]
    by: String,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "yaml::some_text")]
    why: Option<String>,
}

/// The nodes of such a list.
pub type WithheldList = BTreeMap<NodeId, Withholding>;

/// A decision to withhold the texts of a node: by whom, and why.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Withholding {
    /// The person, in their own words.
    pub by: String,
    /// Why, where that is said.
    pub why: Option<String>,
}

/// The list in a text.
///
/// # Errors
///
/// A text that is no such list.
pub fn read(text: &str) -> Result<WithheldList, YamlError> {
    let entries = yaml::from_text::<File>(text)?.withheld.into_iter();
    let of_entry = |Entry { nodes, by, why }| {
        let withholding = Withholding { by, why };
        nodes.into_iter().map(move |node| (node, withholding.clone()))
    };
    Ok(entries.flat_map(of_entry).collect())
}

/// The text of the list.
///
/// # Errors
///
/// None in practice; see [`super::files`].
pub fn write(list: &WithheldList) -> Result<String, YamlError> {
    let mut entries: BTreeMap<&Withholding, Vec<NodeId>> = BTreeMap::new();
    for (node, withholding) in list {
        entries.entry(withholding).or_default().push(node.clone());
    }
    let entry = |(Withholding { by, why }, nodes): (&Withholding, Vec<NodeId>)| Entry {
        nodes,
        by: by.clone(),
        why: why.clone(),
    };
    yaml::to_text(&File { withheld: entries.into_iter().map(entry).collect() })
}
