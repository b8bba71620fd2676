//! The `investigation.yaml` file.

use crate::domain::Meta;
use crate::yaml::YamlError;

/// Serializes the file.
///
/// # Errors
///
/// Never fails in practice; see [`super::files`].
pub fn write(meta: &Meta) -> Result<String, YamlError> {
    super::write(meta)
}

/// Parses the file.
///
/// # Errors
///
/// Returns an error if the file is invalid. The error includes the line, if known.
pub fn read(text: &str) -> Result<Meta, YamlError> {
    super::read(text)
}
