//! A server that only reads.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::SystemTime;

use serde_json::json;

use crate::support::{Sandbox, Session, node};

/// Every file below a folder, with when it was changed.
fn files(folder: &Path) -> BTreeMap<String, SystemTime> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let metadata = entry.metadata().unwrap();
            found.insert(entry.path().display().to_string(), metadata.modified().unwrap());
            if metadata.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    found
}

#[test]
fn the_tools_that_write_are_not_offered_and_nothing_is_written() {
    let sandbox = Sandbox::new();
    let mut session = Session::start(&sandbox, json!({}));
    session.grow(&[("R1.A", None)], "EXPLORE");
    // What a killed writer leaves behind, which any other server would put right.
    let git = session.repository().join(".git");
    std::fs::write(git.join("tot-journal"), "half a journal").unwrap();
    std::fs::write(git.join("index.lock"), "").unwrap();
    let id = session.id.clone();
    session.server.kill();
    let before = files(&sandbox.root());

    let mut server = sandbox.server_with(&["--read-only"]);
    let list = server.request("tools/list", json!({}));
    let tools = list["result"]["tools"].as_array().unwrap();
    assert!(tools.iter().any(|tool| tool["name"] == "tot_status"));
    for tool in tools {
        assert_eq!(tool["annotations"]["readOnlyHint"], true, "{}", tool["name"]);
    }
    for tool in ["tot_start", "tot_propose", "tot_commit", "tot_reclassify", "tot_end", "tot_step"] {
        let arguments = json!({"sessionId": id, "query": "x", "nodes": [node("R2.A1", Some("R1.A"))]});
        assert_eq!(server.refused(tool, arguments), ["READ_ONLY"], "{tool}");
    }
    assert_eq!(server.ok("tot_status", json!({"sessionId": id}))["totalNodes"], 1);
    server.ok("tot_next", json!({"sessionId": id}));
    let claim = json!({"sessionId": id, "agentId": "agent-7", "claim": true});
    assert_eq!(server.refused("tot_next", claim), ["READ_ONLY"]);
    server.finish();
    assert_eq!(files(&sandbox.root()), before, "not a file was touched");
}

#[test]
fn a_root_that_is_not_there_is_not_made() {
    let sandbox = Sandbox::new();
    let mut server = sandbox.server_with(&["--read-only"]);
    assert_eq!(server.refused("tot_status", json!({"sessionId": "abcd"})), ["SESSION_NOT_FOUND"]);
    server.finish();
    assert!(!sandbox.root().exists());
}

#[test]
fn the_floor_of_rounds_holds_in_every_mode() {
    let sandbox = Sandbox::new();
    let mut server = sandbox.server_with(&["--min-rounds", "6"]);
    for mode in ["deep", "exhaustive", "smoke"] {
        let start = |rounds: Option<u32>| {
            let mut arguments = json!({"query": "x", "mode": mode});
            if let Some(rounds) = rounds {
                arguments["minRounds"] = json!(rounds);
            }
            arguments
        };
        assert_eq!(server.ok("tot_start", start(None))["minRounds"], 6, "{mode}");
        sandbox.sleep(1);
        assert_eq!(server.ok("tot_start", start(Some(7)))["minRounds"], 7, "{mode}");
        let reply = server.call("tot_start", start(Some(5)));
        assert_eq!(reply["errors"][0]["code"], "INVALID_ARGUMENT", "{reply}");
        assert!(
            reply["errors"][0]["message"].as_str().unwrap().contains("this server requires at least 6"),
            "{reply}"
        );
        sandbox.sleep(1);
    }
    server.finish();
}
