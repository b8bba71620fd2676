//! tot_report.

use std::io::Read;
use std::path::Path;

use serde_json::json;

use crate::support::http::{HttpServer, call};
use crate::support::{Sandbox, Session, node};

#[test]
fn the_report_goes_to_the_servers_folder() {
    let sandbox = Sandbox::new();
    let mut session = Session::start(&sandbox, json!({}));
    session.grow(&[("R1.A", None)], "EXPLORE");
    let reply = session.ok("tot_report", json!({}));
    let index = sandbox.root().join("site").join(&session.id).join("index.html");
    assert_eq!(reply["index"], json!(index.display().to_string()));
    assert_eq!((&reply["nodes"], &reply["commits"]), (&json!(1), &json!(3)));
    let page = |path: &Path| std::fs::read_to_string(path).unwrap();
    assert!(page(&index).contains("Why is the sky blue?"));
    // It is not taken for an investigation, and shows in no git status of a project around it.
    assert_eq!(session.server.ok("tot_list", json!({}))["total"], 1);
    // What is new is in the next one.
    session.grow(&[("R2.A1", Some("R1.A"))], "EXPLORE");
    assert_eq!(session.ok("tot_report", json!({}))["nodes"], 2);
    assert!(index.parent().unwrap().join("nodes/R2.A1.html").exists());
    // A client can't choose where.
    let codes = session.refused("tot_report", json!({"site": "/tmp/x"}));
    assert_eq!(codes, ["INVALID_ARGUMENT"]);
}

#[test]
fn the_operator_chooses_the_folder() {
    let sandbox = Sandbox::new();
    let site = sandbox.path("public");
    let mut server = sandbox.server_with(&["--site", site.to_str().unwrap()]);
    let id = server.ok("tot_start", json!({"query": "q"}))["sessionId"].as_str().unwrap().to_owned();
    let reply = server.ok("tot_report", json!({"sessionId": id}));
    assert_eq!(reply["index"], json!(site.join(&id).join("index.html").display().to_string()));
    assert!(!sandbox.root().join("site").exists());
}

#[test]
fn reports_written_at_once_are_whole() {
    let sandbox = Sandbox::new();
    let mut session = Session::start(&sandbox, json!({}));
    session.grow(&[("R1.A", None)], "EXPLORE");
    let (sandbox, id) = (&sandbox, session.id.clone());
    let mut servers: Vec<_> = (0..4).map(|_| sandbox.server()).collect();
    std::thread::scope(|scope| {
        for server in &mut servers {
            let id = id.clone();
            scope.spawn(move || {
                for _ in 0..3 {
                    server.ok("tot_report", json!({"sessionId": id}));
                }
            });
        }
    });
    let folder = sandbox.root().join("site");
    let names: Vec<String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| *name != format!(".tot-report-{id}.lock"))
        .collect();
    assert_eq!(names, [id], "nothing is left behind");
}

#[test]
fn what_others_put_there_is_not_replaced() {
    let sandbox = Sandbox::new();
    let mut session = Session::start(&sandbox, json!({}));
    let out = sandbox.root().join("site").join(&session.id);
    std::fs::create_dir_all(&out).unwrap();
    std::fs::write(out.join("mine.txt"), "mine").unwrap();
    assert_eq!(session.refused("tot_report", json!({})), ["REPORT_ERROR"]);
    assert_eq!(std::fs::read_to_string(out.join("mine.txt")).unwrap(), "mine");
    std::fs::remove_file(out.join("mine.txt")).unwrap();
    // A clone that somebody called `site`.
    sandbox.git(&sandbox.root().join("site"), &["init", "-q"]);
    assert_eq!(session.refused("tot_report", json!({})), ["REPORT_ERROR"]);
}

#[test]
fn a_report_holds_up_no_call() {
    const NODES: usize = 300;
    let sandbox = Sandbox::new();
    let mut session = Session::start(&sandbox, json!({}));
    session.grow(&[("R1.A", None)], "EXPLORE");
    let names: Vec<String> = (1..=NODES).map(|number| format!("R2.A{number}")).collect();
    let nodes: Vec<_> = names.iter().map(|name| (name.as_str(), Some("R1.A"))).collect();
    for nodes in nodes.chunks(50) {
        session.grow(nodes, "EXPLORE");
    }
    let id = session.id.clone();
    let report = json!({"name": "tot_report", "arguments": {"sessionId": id}});
    for number in 0..4 {
        let id = format!("report {number}");
        session
            .server
            .send(&json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": report.clone()}));
    }
    session.ok("tot_propose", json!({"nodes": [node("R3.A1a", Some("R2.A1"))]}));
    session.ok("tot_status", json!({}));
    let answered = |session: &Session| {
        let heard = session.server.heard.iter();
        heard.filter(|message| message["id"].as_str().is_some_and(|id| id.starts_with("report"))).count()
    };
    assert_eq!(answered(&session), 0, "a report takes longer than a proposal beside it");
    while answered(&session) < 4 {
        session.server.request("ping", json!({}));
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    assert_eq!(session.ok("tot_report", json!({}))["nodes"], NODES + 2);
}

#[test]
fn reports_that_wait_for_another_process_hold_up_nobody() {
    let sandbox = Sandbox::new();
    let server = HttpServer::start(&sandbox, &["--max-rate", "0"]);
    let client = server.client(&[]);
    let (id, other) = (client.start(), client.start());
    let site = sandbox.root().join("site");
    std::fs::create_dir_all(&site).unwrap();
    let lock = std::fs::File::create(site.join(format!(".tot-report-{id}.lock"))).unwrap();
    lock.lock().unwrap();
    // More than there are threads for calls.
    let reports: Vec<_> = (100..200)
        .map(|number| {
            let mut message = call("tot_report", json!({"sessionId": id}));
            message["id"] = json!(number);
            client.begin(&message)
        })
        .collect();
    assert_eq!(
        client.call("tot_propose", json!({"sessionId": id, "nodes": [node("R1.A", None)]}))["status"],
        "OK"
    );
    assert_eq!(client.call("tot_status", json!({"sessionId": other}))["status"], "OK");
    assert_eq!(client.call("tot_report", json!({"sessionId": other}))["status"], "OK");
    assert!(!site.join(&id).exists());
    drop(lock);
    for mut stream in reports {
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        assert!(said.contains("\"isError\":false"), "{said}");
    }
}
