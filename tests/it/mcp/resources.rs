//! Resources, notices of their changes, prompts and completions.

use serde_json::{Value, json};

use crate::support::{Sandbox, Server, Session, node, stdio};

/// The text of a resource, and its type.
fn read(server: &mut Server, address: &str) -> (String, String) {
    let answer = server.request("resources/read", json!({"uri": address}));
    let content = &answer["result"]["contents"][0];
    assert_eq!(content["uri"], address, "{answer}");
    let text = |field: &str| content[field].as_str().unwrap().to_owned();
    (text("text"), text("mimeType"))
}

fn grown(sandbox: &Sandbox) -> Session<'_> {
    let mut session = Session::start(sandbox, json!({"mode": "smoke", "context": "On Earth, by day."}));
    session.grow(&[("R1.A", None)], "FOUND");
    session.grow(&[("R2.A1", Some("R1.A"))], "VERIFY");
    session
}

#[test]
fn an_investigation_is_read_as_a_person_would() {
    let sandbox = Sandbox::new();
    let mut session = grown(&sandbox);
    session.ok("tot_end", json!({"conclusion": "It **scatters**.", "agentId": "judge"}));
    let id = session.id.clone();
    let shown = |text: &str| text.replace(&id, "ID");
    let (text, mime) = read(&mut session.server, &format!("tot://{id}"));
    assert_eq!(mime, "text/markdown");
    insta::assert_snapshot!(shown(&text));
    let (text, _) = read(&mut session.server, &format!("tot://{}/nodes/R1.A", &id[..13]));
    insta::assert_snapshot!(shown(&text));
    let (text, _) = read(&mut session.server, &format!("tot://{id}/history"));
    assert_eq!(text.lines().filter(|line| line.starts_with("- ")).count(), 6, "{text}");
    assert!(text.contains("(ended/1)"), "{text}");
    let (text, _) = read(&mut session.server, "tot://investigations");
    assert!(text.contains(&format!("[Why is the sky blue?](tot://{id}): ended")), "{text}");
}

#[test]
fn the_graph_is_a_resource() {
    let sandbox = Sandbox::new();
    let mut session = grown(&sandbox);
    let id = session.id.clone();
    let (dot, mime) = read(&mut session.server, &format!("tot://{id}/graph.dot"));
    assert!(dot.starts_with("digraph Investigation {") && dot.contains("R1_A -> R2_A1"), "{dot}");
    assert_eq!(mime, "text/vnd.graphviz");
    let (svg, mime) = read(&mut session.server, &format!("tot://{id}/graph.svg"));
    assert!(svg.starts_with("<svg xmlns=") && svg.trim_end().ends_with("</svg>"));
    assert_eq!(mime, "image/svg+xml");
}

#[test]
fn resources_are_listed_in_pages() {
    let sandbox = Sandbox::new();
    let mut server = sandbox.server();
    for number in 0..53 {
        sandbox.sleep(1);
        server.ok("tot_start", json!({"query": format!("Question {number}?"), "mode": "smoke"}));
    }
    let first = server.request("resources/list", json!({}))["result"].clone();
    assert_eq!(first["resources"][0]["uri"], "tot://investigations");
    assert_eq!(first["resources"][1]["title"], "Question 52?");
    let second = server.request("resources/list", json!({"cursor": first["nextCursor"]}))["result"].clone();
    assert_eq!(second["resources"].as_array().unwrap().len(), 3);
    assert!(second["nextCursor"].is_null());
    let wrong = server.request("resources/list", json!({"cursor": "x"}));
    assert_eq!(wrong["error"]["code"], -32602, "{wrong}");
}

#[test]
fn what_is_not_there_is_not_found() {
    let sandbox = Sandbox::new();
    let mut session = grown(&sandbox);
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
        let modern = session.server.request("resources/read", json!({"uri": address, "_meta": meta()}));
        assert_eq!(modern["error"]["code"], -32602, "{address}: {modern}");
    }
}

/// What each request of the stateless protocol has.
fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "it", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

/// The addresses that updates came for, and how often the list was said to be another.
fn heard(messages: &[Value]) -> (Vec<String>, usize) {
    let of = |method: &str| {
        messages.iter().filter(move |message| message["method"] == method).cloned().collect::<Vec<_>>()
    };
    let updated = of("notifications/resources/updated");
    let mut updated: Vec<String> =
        updated.iter().map(|message| message["params"]["uri"].as_str().unwrap().to_owned()).collect();
    updated.sort();
    (updated, of("notifications/resources/list_changed").len())
}

#[test]
fn a_client_of_the_older_protocol_hears_of_new_investigations_and_may_not_subscribe() {
    let sandbox = Sandbox::new();
    let mut session = grown(&sandbox);
    let address = format!("tot://{}", session.id);
    let subscribed = session.server.request("resources/subscribe", json!({"uri": address}));
    assert_eq!(subscribed["error"]["code"], -32601, "{subscribed}");
    session.ok("tot_propose", json!({"nodes": [node("R2.A2", Some("R1.A"))]}));
    session.server.heard.clear();
    session.server.ok("tot_start", json!({"query": "Another?"}));
    session.server.listen_for("notifications/resources/list_changed");
    assert_eq!(heard(&session.server.heard), (Vec::new(), 1));
    session.server.finish();
}

#[test]
fn a_client_of_the_newest_protocol_hears_of_what_it_listens_to() {
    let sandbox = Sandbox::new();
    let session = grown(&sandbox);
    let id = session.id.clone();
    let mut server = sandbox.bare_server();
    let history = format!("tot://{id}/history");
    let wanted = json!({"resourcesListChanged": true, "resourceSubscriptions": [history, "file:///x"]});
    server.send(&json!({"jsonrpc": "2.0", "id": "listen", "method": "subscriptions/listen",
        "params": {"notifications": wanted, "_meta": meta()}}));
    let accepted = server.listen_for("notifications/subscriptions/acknowledged");
    assert_eq!(
        accepted["params"]["notifications"],
        json!({"resourcesListChanged": true, "resourceSubscriptions": [history]})
    );
    let call = |tool: &str, arguments: Value| json!({"name": tool, "arguments": arguments, "_meta": meta()});
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
    let sandbox = Sandbox::new();
    let mut session = grown(&sandbox);
    session.ok("tot_propose", json!({"nodes": [node("R2.A2", Some("R1.A"))]}));
    let listed = session.server.request("prompts/list", json!({}))["result"]["prompts"].clone();
    let names: Vec<&str> =
        listed.as_array().unwrap().iter().map(|prompt| prompt["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["investigate", "continue", "research", "verify"]);
    let id = session.id.clone();
    let mut prompt = |name: &str, arguments: Value| {
        let answer = session.server.request("prompts/get", json!({"name": name, "arguments": arguments}));
        match answer["result"]["messages"][0]["content"]["text"].as_str() {
            Some(text) => text.replace(&id, "ID"),
            None => answer["error"]["message"].as_str().unwrap().to_owned(),
        }
    };
    let text = prompt("investigate", json!({"query": "Why is grass green?", "ruleset": "found-verify"}));
    assert!(text.contains("> Why is grass green?") && text.contains("# found-verify (mode deep)"), "{text}");
    let text = prompt("continue", json!({"sessionId": id}));
    for part in [
        "> Why is the sky blue?",
        "> On Earth, by day.",
        "- R2.A2: Title of R2.A2",
        "# single-root (mode smoke)",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let text = prompt("verify", json!({"sessionId": id, "nodeId": "R1.A"}));
    for part in
        ["Findings of R1.A.", "A child in VERIFY confirms it.", "Propose the check as R2.A3 with parent R1.A"]
    {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(prompt("investigate", json!({})), "The prompt `investigate` needs `query`: The question.");
    assert!(prompt("investigate", json!({"query": "q", "ruleset": "x"})).contains("The rulesets are"));
    assert!(prompt("verify", json!({"sessionId": id, "nodeId": "R2.A2"})).contains("no committed node"));
    assert!(prompt("explain", json!({})).contains("The prompts are investigate, continue, research, verify"));
}

#[test]
fn arguments_are_completed() {
    let sandbox = Sandbox::new();
    let mut session = grown(&sandbox);
    let id = session.id.clone();
    let mut complete = |argument: &str, value: &str, known: Value| {
        let params = json!({"ref": {"type": "ref/prompt", "name": "verify"},
            "argument": {"name": argument, "value": value}, "context": {"arguments": known}});
        session.server.request("completion/complete", params)["result"]["completion"]["values"].clone()
    };
    assert_eq!(complete("sessionId", &id[..6], json!({})), json!([id]));
    assert_eq!(complete("sessionId", "SKY", json!({})), json!([id]));
    assert_eq!(complete("nodeId", "r2", json!({"sessionId": id})), json!(["R2.A1"]));
    assert_eq!(complete("nodeId", "", json!({})), json!([]));
    assert_eq!(complete("nodeId", "", json!({"sessionId": "nosuch"})), json!([]));
    assert_eq!(complete("ruleset", "M", json!({})), json!(["multi-gate"]));
    assert_eq!(complete("query", "why", json!({})), json!([]));
}
