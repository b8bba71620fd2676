//! tot_report.

use serde_json::json;

use super::rest;
use crate::support::http::{HttpServer, call};
use crate::support::{Sandbox, Session, node};

#[test]
fn the_report_goes_to_the_folder_of_the_server() {
    let mut session = Session::start(&Sandbox::new(), json!({}));
    session.grow(&[("R1.A", None)], "EXPLORE");
    let reply = session.ok("tot_report", json!({}));
    let index = session.sandbox.root().join("site").join(&session.id).join("index.html");
    assert_eq!(reply["index"], json!(index.display().to_string()));
    assert_eq!((&reply["totalNodes"], &reply["totalCommits"]), (&json!(1), &json!(3)));
    assert!(std::fs::read_to_string(&index).unwrap().contains("Why is the sky blue?"));
    // It is not taken for an investigation.
    assert_eq!(session.server.ok("tot_list", json!({}))["total"], 1);
    // What is new is in the next one.
    session.grow(&[("R2.A1", Some("R1.A"))], "EXPLORE");
    assert_eq!(session.ok("tot_report", json!({}))["totalNodes"], 2);
    assert!(index.parent().unwrap().join("nodes/R2.A1.html").exists());
    // The operator can choose another folder, and a client can't.
    assert_eq!(session.refused("tot_report", json!({"site": "/tmp/x"})), ["INVALID_ARGUMENT"]);
    let site = session.sandbox.path("public");
    session.server = session.sandbox.server_with(&["--site", site.to_str().unwrap()]);
    let reply = session.ok("tot_report", json!({}));
    assert_eq!(reply["index"], json!(site.join(&session.id).join("index.html").display().to_string()));
}

#[test]
fn reports_written_at_once_are_whole() {
    let mut session = Session::start(&Sandbox::new(), json!({}));
    session.grow(&[("R1.A", None)], "EXPLORE");
    let id = session.id;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut server = session.sandbox.server();
                for _ in 0..3 {
                    server.ok("tot_report", json!({"sessionId": id}));
                }
            });
        }
    });
    let names: Vec<String> = std::fs::read_dir(session.sandbox.root().join("site"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(names, [id], "nothing is left behind");
}

#[test]
fn what_others_put_there_is_not_replaced() {
    let mut session = Session::start(&Sandbox::new(), json!({}));
    let site = session.sandbox.root().join("site");
    let file = site.join(&session.id).join("mine.txt");
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(&file, "mine").unwrap();
    assert_eq!(session.refused("tot_report", json!({})), ["REPORT_ERROR"]);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine");
    std::fs::remove_file(file).unwrap();
    // A clone that somebody called `site`.
    session.sandbox.git(&site, &["init", "-q"]);
    assert_eq!(session.refused("tot_report", json!({})), ["REPORT_ERROR"]);
}

#[test]
fn reports_that_wait_for_another_process_hold_up_nobody() {
    let sandbox = Sandbox::new();
    let server = HttpServer::start(&sandbox, &[]);
    let client = server.client(&[]);
    let (id, other) = (client.start(), client.start());
    let site = sandbox.root().join("site").join(&id);
    std::fs::create_dir_all(&site).unwrap();
    let lock = std::fs::File::create(site.join(".tot-report.lock")).unwrap();
    lock.lock().unwrap();
    // More than there are threads for calls.
    let reports: Vec<_> = (100..200)
        .map(|number| {
            let mut message = call("tot_report", json!({"sessionId": id}));
            message["id"] = json!(number);
            client.begin(&message)
        })
        .collect();
    let proposal = json!({"sessionId": id, "nodes": [node("R1.A", None)]});
    assert_eq!(client.call("tot_propose", proposal)["status"], "OK");
    assert_eq!(client.call("tot_status", json!({"sessionId": other}))["status"], "OK");
    assert_eq!(client.call("tot_report", json!({"sessionId": other}))["status"], "OK");
    assert!(!site.join("index.html").exists());
    drop(lock);
    for said in reports.into_iter().map(rest) {
        assert!(said.contains("\"isError\":false"), "{said}");
    }
}
