//! What the server tells of its work, and what it never tells.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::http::HttpServer;
use crate::support::{Sandbox, Server, node};

/// What a server says on stderr while it is used over stdio.
fn said(arguments: &[&str]) -> String {
    let sandbox = Sandbox::new();
    let errors = sandbox.path("stderr");
    let mut command = sandbox.server_command(&sandbox.root(), arguments);
    command.stderr(Stdio::from(std::fs::File::create(&errors).unwrap()));
    let mut server = Server::start(command);
    let id = server.ok("tot_start", json!({"query": "the secret question"}))["sessionId"].clone();
    server.ok("tot_propose", json!({"sessionId": id, "nodes": [node("R1.A", None)]}));
    server.refused("tot_propose", json!({"sessionId": id, "nodes": [node("R2.A1", Some("R1.A"))]}));
    server.refused("tot_propose", json!({"sessionId": id, "nodes": "the secret nonsense"}));
    server.refused("tot_status", json!({"sessionId": "the secret id"}));
    server.request("tools/call", json!({"name": "the_secret_tool"}));
    server.send(&json!("the secret line"));
    let ended = id.as_str().unwrap()[28..].to_owned();
    server.finish();
    let said = std::fs::read_to_string(&errors).unwrap();
    assert!(!said.contains("secret"), "{said}");
    said.replace(&ended, "[id]")
}

/// Without what is another each time.
fn plain(said: &str) -> String {
    let word = |word: &str| match word {
        _ if word.ends_with('Z') && word.len() == 24 => "[time]".to_owned(),
        // Before the numbers: a commit may be digits alone, or digits around an `e`.
        _ if word.len() == 10 && word.bytes().all(|byte| byte.is_ascii_hexdigit()) => "[commit]".to_owned(),
        _ if word.parse::<f64>().is_ok() => "[n]".to_owned(),
        _ => word.to_owned(),
    };
    said.lines().map(|line| line.split(' ').map(word).collect::<Vec<_>>().join(" ") + "\n").collect()
}

#[test]
fn each_call_is_one_line_for_people_or_one_object_for_machines() {
    insta::assert_snapshot!(plain(&said(&["--log", "info"])), @r"
    [time] info  tot_start [id] ok [n] ms commit [commit]
    [time] info  tot_propose [id] ok [n] ms commit [commit]
    [time] info  tot_propose [id] rejected PARENT_NOT_FOUND [n] ms
    [time] info  tot_propose [id] rejected INVALID_ARGUMENT [n] ms
    [time] info  tot_status rejected SESSION_NOT_FOUND [n] ms
    [time] warn  call to an unknown tool
    ");
    let lines = said(&["--log", "info", "--log-format", "json"]);
    let lines = lines.lines().map(|line| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        for (name, value) in line.as_object_mut().unwrap() {
            if ["time", "ms", "commit"].contains(&name.as_str()) {
                *value = json!(if value.is_f64() { "[n]" } else { "[text]" });
            }
        }
        format!("{line}\n")
    });
    insta::assert_snapshot!(lines.collect::<String>(), @r#"
    {"time":"[text]","level":"info","tool":"tot_start","session":"[id]","outcome":"ok","ms":"[n]","commit":"[text]"}
    {"time":"[text]","level":"info","tool":"tot_propose","session":"[id]","outcome":"ok","ms":"[n]","commit":"[text]"}
    {"time":"[text]","level":"info","tool":"tot_propose","session":"[id]","outcome":"rejected","codes":["PARENT_NOT_FOUND"],"ms":"[n]"}
    {"time":"[text]","level":"info","tool":"tot_propose","session":"[id]","outcome":"rejected","codes":["INVALID_ARGUMENT"],"ms":"[n]"}
    {"time":"[text]","level":"info","tool":"tot_status","outcome":"rejected","codes":["SESSION_NOT_FOUND"],"ms":"[n]"}
    {"time":"[text]","level":"warn","message":"call to an unknown tool"}
    "#);
    assert_eq!(plain(&said(&[])).lines().count(), 1, "by default only the unknown tool");
    assert_eq!(said(&["--log", "off"]), "");
}

#[cfg(unix)]
#[test]
fn over_http_no_token_and_no_text_is_told() {
    let sandbox = Sandbox::new();
    let mut command = HttpServer::command(&sandbox, &["--log", "debug", "--log-format", "json"]);
    command.env("TOT_TOKEN", "the-secret-token-0123456789");
    let mut server = HttpServer::run(command);
    let client = server.client(&[("authorization", "Bearer the-secret-token-0123456789")]);
    client.call("tot_start", json!({"query": "the secret question"}));
    server.post(&[("authorization", "Bearer the-secret-guess-0123456789")], &json!("the secret line"));
    server.request("GET", "/the-secret-path", &[("host", "the-secret-host")], "");
    let session = client.session.clone();
    let token = ("authorization", "Bearer the-secret-token-0123456789");
    for (header, body) in [
        (("accept", "the/secret"), ""),
        (("content-type", "the/secret"), ""),
        (("mcp-session-id", "the-secret-session"), "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"),
        (("x-odd", "odd"), "{\"the secret\""),
    ] {
        server.request("POST", "/mcp", &[token, header], body);
    }
    server.terminate();
    let (_, said) = server.end();
    let lines: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(lines.iter().any(|line| line["tool"] == "tot_start" && line["session"].is_string()), "{said}");
    assert!(!said.contains("secret") && !said.contains(&session), "{said}");
    let reasons =
        ["401 to", "404 to 127.0.0.1: a path", "406 to", "415 to", "no such session", "invalid JSON"];
    assert!(reasons.iter().all(|why| said.contains(why)), "{said}");
}

#[test]
fn a_reader_that_does_not_read_the_log_holds_up_nothing() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.server_command(&sandbox.root(), &["--log", "info"]);
    command.stderr(Stdio::piped());
    let mut server = Server::start(command);
    // More than a pipe holds.
    for _ in 0..2_000 {
        server.refused("tot_status", json!({"sessionId": "absent"}));
    }
    server.finish();
}
