//! A server that only reads, and a server that asks for more rounds.

use serde_json::json;

use crate::support::{Sandbox, Session, files, node};

#[test]
fn the_tools_that_write_are_not_offered_and_nothing_is_written() {
    let sandbox = Sandbox::new();
    // A missing root is not created either.
    let mut server = sandbox.server_with(&["--read-only"]);
    assert_eq!(server.refused("tot_status", json!({"sessionId": "abcd"})), ["SESSION_NOT_FOUND"]);
    server.finish();
    assert!(!sandbox.root().exists());

    let mut session = Session::start(&sandbox, json!({}));
    session.grow(&[("R1.A", None)], "EXPLORE");
    // What a killed writer leaves behind, which any other server would put right.
    let git = session.repository().join(".git");
    std::fs::write(git.join("tot-journal"), "half a journal").unwrap();
    std::fs::write(git.join("index.lock"), "").unwrap();
    let id = session.id.clone();
    session.server.kill();
    let before = files(&sandbox.root(), true);

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
    assert!(files(&sandbox.root(), true) == before, "a file was changed");
}

#[test]
fn the_floor_of_rounds_holds_in_every_mode() {
    let sandbox = Sandbox::new();
    let mut server = sandbox.server_with(&["--min-rounds", "6"]);
    for mode in ["deep", "exhaustive", "smoke"] {
        for (asked, rounds) in [(json!(null), 6), (json!(7), 7)] {
            sandbox.sleep(1);
            let start = json!({"query": "x", "mode": mode, "minRounds": asked});
            assert_eq!(server.ok("tot_start", start)["minRounds"], rounds, "{mode}");
        }
        let reply = server.call("tot_start", json!({"query": "x", "mode": mode, "minRounds": 5}));
        let error = &reply["errors"][0];
        assert_eq!(error["code"], "INVALID_ARGUMENT", "{reply}");
        assert!(error["message"].as_str().unwrap().contains("this server requires at least 6"), "{reply}");
    }
}
