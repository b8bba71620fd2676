//! The file `conclusion.yaml`.

use crate::domain::Conclusion;
use crate::yaml::YamlError;

/// Serializes the file.
///
/// # Errors
///
/// None in practice; see [`super::files`].
pub fn write(conclusion: &Conclusion) -> Result<String, YamlError> {
    super::write(conclusion)
}

/// Parses the file.
///
/// # Errors
///
/// The file is invalid. The error has the line, if known.
pub fn read(text: &str) -> Result<Conclusion, YamlError> {
    super::read(text)
}
