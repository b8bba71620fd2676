//! Custom rulesets: the folder, the command and the guide; and the copy that each investigation is judged by.

mod command;
mod guide;
mod pinned;

/// The authoring guide next to the built-in files.
const GUIDE: &str = include_str!("../../../src/core/ruleset/builtin/README.md");

/// Returns the YAML blocks of the guide, in order.
fn blocks() -> Vec<&'static str> {
    GUIDE.split("\n```yaml\n").skip(1).map(|block| block.split("```").next().unwrap()).collect()
}

/// Returns the guide's worked example, as written.
pub fn example() -> &'static str {
    let block = blocks()[0];
    assert!(block.starts_with("# post-mortem.yaml"), "{block}");
    block
}
