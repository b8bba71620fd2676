//! (placeholder until the graph is merged)
#![allow(missing_docs)]
pub fn dot(_: &crate::domain::Investigation, _: &crate::ruleset::Ruleset) -> String {
    String::new()
}
pub fn mermaid(_: &crate::domain::Investigation, _: &crate::ruleset::Ruleset) -> String {
    String::new()
}
