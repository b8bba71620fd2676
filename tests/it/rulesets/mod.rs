//! Rulesets of one's own: the folder, the command, the guide; and the copy that each investigation is judged by.

mod command;
mod guide;
mod pinned;

/// The authoring guide beside the built-in files.
const GUIDE: &str = include_str!("../../../src/core/ruleset/builtin/README.md");

/// The YAML blocks of the guide, in order.
fn blocks() -> Vec<&'static str> {
    GUIDE.split("\n```yaml\n").skip(1).map(|block| block.split("```").next().unwrap()).collect()
}

/// The guide's worked example, as written.
pub fn example() -> &'static str {
    let block = blocks()[0];
    assert!(block.starts_with("# post-mortem.yaml"), "{block}");
    block
}
