//! The file `investigation.yaml`.

use crate::domain::Meta;
use crate::yaml::YamlError;

/// Serializes the file.
///
/// # Errors
///
/// None in practice; see [`super::files`].
pub fn write(meta: &Meta) -> Result<String, YamlError> {
    super::write(meta)
}

/// Parses the file.
///
/// # Errors
///
/// The file is invalid. The error has the line, if known.
pub fn read(text: &str) -> Result<Meta, YamlError> {
    super::read(text)
}
