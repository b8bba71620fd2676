//! Resources, notices of their changes, prompts and completions.

use serde_json::{Value, json};

use super::meta;
use crate::support::{Sandbox, Server, Session, node, stdio};

/// The text of a resource, and its type.
fn read(server: &mut Server, address: &str) -> (String, String) {
    let answer = server.request("resources/read", json!({"uri": address}));
    let content = &answer["result"]["contents"][0];
    assert_eq!(content["uri"], address, "{answer}");
    let text = |field: &str| content[field].as_str().unwrap().to_owned();
    (text("text"), text("mimeType"))
}

fn grown(sandbox: &Sandbox) -> Session {
    let mut session = Session::start(sandbox, json!({"mode": "smoke", "context": "On Earth, by day."}));
    session.grow(&[("R1.A", None)], "FOUND");
    session.grow(&[("R2.A1", Some("R1.A"))], "VERIFY");
    session
}

#[test]
fn an_investigation_is_read_as_a_person_would() {
    let mut session = grown(&Sandbox::new());
    session
        .ok("tot_end", json!({"conclusion": "It **scatters**.\n# Not\n~~~\n</p> <!--", "agentId": "judge"}));
    let id = session.id.clone();
    let shown = |text: &str| text.replace(&id, "ID");
    let (text, mime) = read(&mut session.server, &format!("tot://{id}"));
    assert_eq!(mime, "text/markdown");
    insta::assert_snapshot!(shown(&text));
    let (text, _) = read(&mut session.server, &format!("tot://{}/nodes/R1.A", &id[..4]));
    insta::assert_snapshot!(shown(&text));
    let listed = format!("[Why is the sky blue?](tot://{id}): ended");
    for (address, expected, part) in [
        (format!("tot://{id}/history"), "text/markdown", "(ended/1)"),
        (format!("tot://{id}/graph.dot"), "text/vnd.graphviz", "R1_A -> R2_A1"),
        (format!("tot://{id}/graph.svg"), "image/svg+xml", "<svg xmlns="),
        ("tot://investigations".to_owned(), "text/markdown", listed.as_str()),
    ] {
        let (text, mime) = read(&mut session.server, &address);
        assert!(mime == expected && text.contains(part), "{mime}: {text}");
    }
}

#[test]
fn what_is_not_there_is_not_found() {
    let mut session = grown(&Sandbox::new());
    let id = session.id.clone();
    for address in [
        "tot://nosuch",
        "tot://../x",
        "tot://",
        "file:///etc/passwd",
        &format!("tot://{id}/nodes/R9.A"),
        &format!("tot://{id}/x"),
    ] {
        let answer = session.server.request("resources/read", json!({"uri": address}));
        assert_eq!(answer["error"]["code"], -32002, "{address}: {answer}");
        let modern =
            session.server.request("resources/read", json!({"uri": address, "_meta": meta(json!({}))}));
        assert_eq!(modern["error"]["code"], -32602, "{address}: {modern}");
    }
}

#[test]
fn a_resource_is_short_and_says_what_it_leaves_out() {
    let mut session = grown(&Sandbox::new());
    let many: Vec<Value> = (10..150).map(|at| node(&format!("R2.A{at}"), Some("R1.A"))).collect();
    session.ok("tot_propose", json!({"nodes": many}));
    let long = "A line with “quotes” and a \\.\n\n".repeat(1_000);
    let changed = json!({"nodeId": "R1.A", "findings": long, "reason": "It was short."});
    session.ok("tot_amend", changed);
    let id = session.id.clone();
    for (address, said) in [
        (format!("tot://{id}/nodes/R1.A"), "lines left out: the text goes on at"),
        (format!("tot://{id}/nodes/R1.A?offset=20000"), "lines left out: the text goes on at"),
        (format!("tot://{id}/graph.dot"), "  // "),
        (format!("tot://{id}/graph.svg"), "</svg>"),
        (format!("tot://{}", "x".repeat(100_000)), ""),
    ] {
        let answer = session.server.request("resources/read", json!({"uri": address})).to_string();
        let said = serde_json::to_string(said).unwrap();
        assert!(answer.len() <= 12_000, "{}: {}", &address[..40.min(address.len())], answer.len());
        assert!(answer.contains(said.trim_matches('"')), "{address:.40}: {answer}");
    }
}

#[test]
fn a_client_of_the_older_protocol_hears_of_new_investigations_and_may_not_subscribe() {
    let mut session = grown(&Sandbox::new());
    let address = format!("tot://{}", session.id);
    let subscribed = session.server.request("resources/subscribe", json!({"uri": address}));
    assert_eq!(subscribed["error"]["code"], -32601, "{subscribed}");
    session.ok("tot_propose", json!({"nodes": [node("R2.A2", Some("R1.A"))]}));
    session.server.heard.clear();
    session.server.ok("tot_start", json!({"query": "Another?"}));
    session.server.listen_for("notifications/resources/list_changed");
    let heard: Vec<&Value> = session.server.heard.iter().map(|message| &message["method"]).collect();
    assert_eq!(heard, ["notifications/resources/list_changed"]);
}

#[test]
fn a_client_of_the_newest_protocol_hears_of_what_it_listens_to() {
    let session = grown(&Sandbox::new());
    let id = session.id.clone();
    let mut server = session.sandbox.bare_server();
    let history = format!("tot://{id}/history");
    let wanted = json!({"resourcesListChanged": true, "resourceSubscriptions": [history, "file:///x"]});
    server.send(&json!({"jsonrpc": "2.0", "id": "listen", "method": "subscriptions/listen",
        "params": {"notifications": wanted, "_meta": meta(json!({}))}}));
    let accepted = server.listen_for("notifications/subscriptions/acknowledged");
    assert_eq!(
        accepted["params"]["notifications"],
        json!({"resourcesListChanged": true, "resourceSubscriptions": [history]})
    );
    let call = |tool: &str, arguments: Value| json!({"name": tool, "arguments": arguments, "_meta": meta(json!({}))});
    let reply = server.request(
        "tools/call",
        call("tot_propose", json!({"sessionId": id, "nodes": [node("R2.A2", Some("R1.A"))]})),
    );
    assert_eq!(stdio::reply(&reply)["status"], "OK", "{reply}");
    let update = server.listen_for("notifications/resources/updated");
    assert_eq!(update["params"]["uri"], history);
    assert_eq!(update["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], "listen");
    server.request("tools/call", call("tot_start", json!({"query": "Another?"})));
    server.listen_for("notifications/resources/list_changed");
    // The end of the input ends the subscription with an answer. Were it not ended, the server would give up waiting, and
    // end without.
    let last = server.finish_listening();
    assert!(
        last.iter().any(|message| message["id"] == "listen" && message["result"].is_object()),
        "{last:?}"
    );
}

#[test]
fn prompts_teach_the_method() {
    let mut session = grown(&Sandbox::new());
    session.ok("tot_propose", json!({"nodes": [node("R2.A2", Some("R1.A"))]}));
    let listed = session.server.request("prompts/list", json!({}))["result"]["prompts"].clone();
    let names: Vec<&str> =
        listed.as_array().unwrap().iter().map(|prompt| prompt["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["investigate", "continue", "research", "verify"]);
    let id = session.id.clone();
    let green = json!({"query": "Why is grass green?", "ruleset": "found-verify"});
    let verify = |node: &str| json!({"sessionId": id, "nodeId": node});
    for (name, arguments, parts) in [
        ("investigate", green, &["> Why is grass green?", "# found-verify (mode deep)"][..]),
        (
            "continue",
            json!({"sessionId": id}),
            &[
                "> Why is the sky blue?",
                "> On Earth, by day.",
                "- R2.A2: Title of R2.A2",
                "# single-root (mode smoke)",
            ],
        ),
        (
            "verify",
            verify("R1.A"),
            &[
                "Findings of R1.A.",
                "## What to attack\\n\\n- R1.A confirmed by another agent, same session: Title of R1.A",
                "A child in VERIFY confirms it.",
                "Propose the check as R2.A3 with parent R1.A",
            ],
        ),
        (
            "verify",
            json!({"sessionId": id}),
            &["## R1.A\\n\\n- R1.A confirmed by another agent, same session: Title of R1.A"],
        ),
        ("verify", verify("R2.A2"), &["no committed node"]),
        ("investigate", json!({}), &["The prompt `investigate` needs `query`: The question."]),
        ("investigate", json!({"query": "q", "ruleset": "x"}), &["The rulesets are"]),
        ("explain", json!({}), &["The prompts are investigate, continue, research, verify"]),
    ] {
        let params = json!({"name": name, "arguments": arguments});
        let answer = session.server.request("prompts/get", params).to_string();
        assert!(parts.iter().all(|part| answer.contains(part)), "{name}: {answer}");
    }
    // The answer's own caveats are to be attacked, too.
    session.ok(
        "tot_amend",
        json!({"nodeId": "R1.A", "caveats": ["One day only."], "reason": "It was.", "agentId": "a"}),
    );
    let params = json!({"name": "verify", "arguments": verify("R1.A")});
    let answer = session.server.request("prompts/get", params).to_string();
    assert!(
        answer.contains("- Its caveat: One day only.") && answer.contains("Its caveats: One day only."),
        "{answer}"
    );
}
