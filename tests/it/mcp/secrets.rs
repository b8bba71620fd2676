//! What looks like a credential is warned of, or refused, and never repeated.

use serde_json::{Value, json};
use tree_of_thoughts::store::Store;

use crate::support::{Sandbox, Session, TOT_REPORT, codes, node, short};

/// A token that no scanner finds in this file.
fn token() -> String {
    ["gh", "p_", "k9Zt3QwL7", "mVx2Rb8Nc4", "Yd6Hf1Js5P", "gT0aUe2"].concat()
}

fn warnings(reply: &Value) -> Vec<String> {
    codes(&reply["warnings"]).into_iter().filter(|code| code == "SECRET_SUSPECTED").collect()
}

#[test]
fn every_text_is_looked_into_and_the_warning_stays() {
    let sandbox = Sandbox::new();
    let secret = token();
    let text = format!("The log says\nkey: {secret}\n");
    let mut session = Session::start(&sandbox, json!({"mode": "smoke", "context": text}));
    let start = session.git(&["log", "-1", "--format=%B"]);
    assert!(
        start.contains("    SECRET_SUSPECTED: `context` may contain a GitHub token (line 2).\n"),
        "{start}"
    );
    assert!(start.contains("\nWarning: SECRET_SUSPECTED\n"), "{start}");

    let proposed = json!({"id": "R1.A", "parent": null, "title": "Root", "plannedAction": text});
    let reply = session.ok("tot_propose", json!({"nodes": [proposed]}));
    assert_eq!(warnings(&reply).len(), 1, "{reply:#}");
    let trailers = ["log", "-1", "--format=%(trailers:key=Warning,valueonly)"];
    assert_eq!(session.git(&trailers).trim(), "SECRET_SUSPECTED R1.A");

    sandbox.sleep(60);
    let result = json!({"nodeId": "R1.A", "state": "EXPLORE", "agentId": "a", "findings": text, "evidence": text,
        "verificationMethod": text, "alternativesConsidered": ["none", text], "caveats": [text]});
    let reply = session.ok("tot_commit", json!({"results": [result]}));
    assert_eq!(warnings(&reply).len(), 6, "the plan, and each text of the result: {reply:#}");
    assert!(!reply.to_string().contains(&secret), "the secret is not repeated: {reply:#}");
    insta::assert_snapshot!(reply["warnings"][0]["message"].as_str().unwrap(), @"`findings` of R1.A may contain a GitHub token (line 2).");
    let stored = session.text("nodes/R1/R1.A.yaml");
    assert_eq!(stored.matches("code: SECRET_SUSPECTED").count(), 6, "{stored}");

    session.grow(&[("R2.A1", Some("R1.A"))], "DEAD");
    let change = json!({"nodeId": "R2.A1", "newState": "EXPLORE", "reason": text});
    assert_eq!(warnings(&session.ok("tot_reclassify", change)).len(), 1);
    session.ok("tot_reclassify", json!({"nodeId": "R2.A1", "newState": "DEAD"}));
    let reply = session.ok("tot_end", json!({"conclusion": text}));
    assert_eq!(warnings(&reply).len(), 1, "{reply:#}");
    let message = session.git(&["log", "-1", "--format=%B"]);
    assert!(message.contains("SECRET_SUSPECTED: `conclusion` may contain a GitHub token"), "{message}");

    // The report shows it, and the check finds every place.
    let site = sandbox.path("site");
    let report = sandbox.command(TOT_REPORT).arg(session.repository()).arg("--out").arg(&site).status();
    assert!(report.unwrap().success());
    let page = std::fs::read_to_string(site.join("judged.html")).unwrap();
    assert!(page.contains("SECRET_SUSPECTED"));
    let lines = short(&session.check());
    assert!(!lines.contains(&secret), "{lines}");
    for path in ["investigation.yaml:", "nodes/R1/R1.A.yaml:", "nodes/R2/R2.A1.yaml:", "conclusion.yaml:"] {
        assert!(lines.contains(path), "{path}: {lines}");
    }
    let store = Store::new(sandbox.root());
    assert!(store.load(&session.repository()).unwrap().faults.is_empty());
}

#[test]
fn an_operator_may_have_them_refused() {
    let sandbox = Sandbox::new();
    let text = format!("key: {}", token());
    let mut server = sandbox.server_with(&["--reject-secrets"]);
    let refused = server.refused("tot_start", json!({"query": text, "mode": "x"}));
    assert_eq!(refused, ["INVALID_ARGUMENT", "SECRET_SUSPECTED"]);
    assert!(Store::new(sandbox.root()).folders().is_empty());
    let started = server.ok("tot_start", json!({"query": "q", "mode": "smoke"}));
    assert!(started["instructions"].as_str().unwrap().contains("credential is refused."), "{started:#}");
    let mut session = Session::of(&sandbox, server, started["sessionId"].as_str().unwrap());
    session.grow(&[("R1.A", None)], "EXPLORE");
    session.grow(&[("R2.A1", Some("R1.A"))], "DEAD");
    session.ok("tot_propose", json!({"nodes": [node("R2.A2", Some("R1.A"))]}));
    let with_file = |name: &str, text: &str| {
        let file = json!({"name": name, "text": text});
        json!({"results": [{"nodeId": "R2.A2", "state": "DEAD", "findings": "None.", "attachments": [file]}]})
    };
    for (tool, arguments) in [
        ("tot_propose", json!({"nodes": [{"id": "R2.A3", "parent": "R1.A", "title": text}]})),
        ("tot_commit", json!({"results": [{"nodeId": "R2.A2", "state": "DEAD", "findings": text}]})),
        ("tot_reclassify", json!({"nodeId": "R2.A1", "newState": "EXPLORE", "evidence": text})),
        ("tot_comment", json!({"nodeId": "R2.A1", "text": "Why?", "agentId": text})),
        ("tot_next", json!({"claim": true, "agentId": text})),
        ("tot_commit", with_file(&token(), "x")),
        ("tot_commit", with_file("utf-16.log", &text.split("").collect::<Vec<_>>().join("\0"))),
        ("tot_end", json!({"conclusion": text})),
    ] {
        let reply = session.call(tool, arguments);
        assert!(codes(&reply["errors"]).contains(&"SECRET_SUSPECTED".to_owned()), "{reply:#}");
        assert!(!reply.to_string().contains(&token()), "{reply:#}");
    }
    session.ok("tot_propose", json!({"withdraw": ["R2.A2"]}));
    session.ok("tot_end", json!({"conclusion": "fine"}));
}
