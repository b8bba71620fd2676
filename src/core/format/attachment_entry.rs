//! Attachments in `investigation.json`, which contains all facts in one file.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};

use crate::domain::{Attached, AttachmentName, NodeId};

/// An attachment with its content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AttachmentEntry {
    node: NodeId,
    name: AttachmentName,
    base64: String,
}

impl AttachmentEntry {
    /// Encodes an attachment.
    pub fn of(file: &Attached) -> Self {
        AttachmentEntry {
            node: file.node.clone(),
            name: file.name.clone(),
            base64: STANDARD.encode(&file.content),
        }
    }

    /// Decodes the attachment.
    ///
    /// # Errors
    ///
    /// Returns an error if the content is not standard base64.
    pub fn attached(self) -> Result<Attached, String> {
        let content = STANDARD.decode(&self.base64).map_err(|error| error.to_string())?;
        Ok(Attached { node: self.node, name: self.name, content })
    }
}
