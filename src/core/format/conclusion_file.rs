//! The `conclusion.yaml` file.

use crate::domain::Conclusion;
use crate::yaml::YamlError;

/// Serializes the file.
///
/// # Errors
///
/// Never fails in practice; see [`super::files`].
pub fn write(conclusion: &Conclusion) -> Result<String, YamlError> {
    let mut conclusion = conclusion.clone();
    conclusion.visit_ids(&mut |id| id.show_whole(true));
    super::write(&conclusion)
}

/// Parses the file.
///
/// # Errors
///
/// Returns an error if the file is invalid. The error includes the line, if known.
pub fn read(text: &str) -> Result<Conclusion, YamlError> {
    super::read(text)
}
