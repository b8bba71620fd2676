//! `tot check` on what servers wrote. `sessions/` has what it finds after tampering.

use serde_json::{Value, json};

use crate::support::{Sandbox, Session, TOT, node, result, short, there};

/// Returns what `tot check` says about an investigation, without notes.
fn checked(session: &Session) -> String {
    let output = session.sandbox.command(TOT).arg("check").arg(session.repository()).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let folder = format!("{}/", session.repository().display());
    said.replace(&folder, "").lines().filter(|line| !line.contains(": note ")).collect::<Vec<_>>().join("\n")
}

const CLEAN: &str = "1 investigation: 0 errors, 0 warnings";

#[test]
fn what_the_server_wrote_is_clean() {
    let mut session = Session::start(&Sandbox::new(), json!({"mode": "smoke", "allowEarlyTerminal": false}));
    session.grow(&[("R1.A", None)], "FOUND");
    session.ok("tot_propose", json!({"nodes": [node("R2.A1", Some("R1.A")), node("R2.A2", Some("R1.A"))]}));
    session.ok("tot_propose", json!({"withdraw": ["R2.A2"]}));
    session.grow(&[("R2.A1", Some("R1.A"))], "EXPLORE");
    session.ok("tot_reclassify", json!({"nodeId": "R2.A1", "newState": "DEAD", "reason": "No."}));
    session.ok("tot_end", json!({"conclusion": "Nothing."}));
    assert_eq!(checked(&session), CLEAN);
    for (tool, arguments) in [
        ("tot_reclassify", json!({"nodeId": "R2.A1", "newState": "EXPLORE"})),
        ("tot_amend", json!({"nodeId": "R2.A1", "reason": "A slip.", "evidence": "Seen.", "commands": []})),
        (
            "tot_amend",
            json!({"nodeId": "R2.A1", "reason": "Not all.", "references": [{"target": "src/a.rs"}]}),
        ),
        ("tot_reclassify", json!({"nodeId": "R2.A1", "newState": "DEAD"})),
        ("tot_end", json!({"conclusion": "Nothing."})),
        ("tot_amend", json!({"reason": "It was too short.", "conclusion": "Nothing at all."})),
        ("tot_amend", json!({"reason": "Still.", "conclusion": "Nothing that we looked at."})),
    ] {
        session.ok(tool, arguments);
    }
    assert_eq!(checked(&session), CLEAN);
    let log = session.sandbox.git(&session.repository(), &["log", "-1", "--format=%B"]);
    assert!(log.starts_with("Amend the conclusion\n\n    Still.\n\n    Nothing that we"), "{log}");
    let page = session.server.request("resources/read", json!({"uri": format!("tot://{}", session.id)}));
    let page = page["result"]["contents"][0]["text"].as_str().unwrap();
    for shown in ["It was too short.", "Nothing at all.", "Still.", "Nothing that we looked at."] {
        assert!(page.contains(shown), "{shown}: {page}");
    }
}

#[test]
fn every_ruleset_that_was_played_is_clean() {
    let sandbox = Sandbox::new();
    let roots = ["R1.A", "R1.B", "R1.C", "R1.D", "R1.E"].map(|id| (id, None));
    for (ruleset, open, number) in [
        ("drill", "DRILL", 5),
        ("found-verify", "EXPLORE", 2),
        ("exhaust", "DEAD", 2),
        ("multi-gate", "DRILL", 5),
    ] {
        let mut session = Session::start(&sandbox, json!({"ruleset": ruleset}));
        session.grow(&roots[..number], open);
        session.grow(&[("R2.A1", Some("R1.A")), ("R2.A2", Some("R1.A"))], open);
        assert_eq!(checked(&session), CLEAN, "{ruleset}");
        sandbox.sleep(60);
        if ruleset != "multi-gate" {
            continue;
        }
        // A confirmation, the only terminal state with children.
        for (id, parent, state) in [("R3.A1a", "R2.A1", "VALID_PENDING"), ("R4.A1a1", "R3.A1a", "VALID")] {
            let other = format!("{id}x");
            let nodes = [node(id, Some(parent)), node(&other, Some(parent))];
            session.ok("tot_propose", json!({"nodes": nodes}));
            sandbox.sleep(60);
            let mut results: [Value; 2] = [result(id, state), result(&other, open)];
            results[0]["evidence"] = json!("measured ".repeat(8));
            session.ok("tot_commit", json!({"results": results}));
        }
        assert_eq!(checked(&session), CLEAN);
        // The result of merging two clones: confirmed, but not promoted.
        let file = there(&session.repository(), "nodes/R3/R3.A1a.yaml");
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, text.split("reclassified:").next().unwrap()).unwrap();
        sandbox.git(&session.repository(), &["commit", "-qam", "By hand"]);
        let found = short(&checked(&session));
        assert!(found.starts_with("nodes/R3/R3.A1a.yaml:7: warning CONFIRMATION_DUE "), "{found}");
        assert!(found.contains(" error STORED_LOST "), "{found}");
    }
}
