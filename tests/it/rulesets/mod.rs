//! Custom rulesets: the folder, the guide, and the copy that each investigation is judged by.

mod guide;
mod pinned;

use serde_json::{Value, json};

use crate::support::{Sandbox, Session};

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

/// Starts a server whose folder of rulesets, `rules`, holds the example, and an investigation with it. Returns the reply
/// to the start too.
fn begun(sandbox: &Sandbox) -> (Session, Value) {
    std::fs::create_dir(sandbox.path("rules")).unwrap();
    std::fs::write(sandbox.path("rules/post-mortem.yaml"), example()).unwrap();
    let mut server = sandbox.server_with(&["--rulesets", "rules"]);
    let query = "Why were orders refused on Friday?";
    let start = server.ok("tot_start", json!({"query": query, "ruleset": "post-mortem"}));
    (Session::of(sandbox, server, start["sessionId"].as_str().unwrap()), start)
}
