//! Every hostile payload in every field that a stranger can set, through git and through the server.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::json;
use tree_of_thoughts::report::{ReportInput, SiteOptions, Templates, site};
use tree_of_thoughts::service::project::{Drift, Forge, ProjectEvidence};
use tree_of_thoughts::service::signoff::SignOffs;
use tree_of_thoughts::store::Store;

use super::judge::faults;
use crate::specimens::{hostile, payloads::payloads};
use crate::support::testing::folder;
use crate::support::{Sandbox, Session, some};

#[test]
fn strangers_repositories_give_sound_sites() {
    let folder = folder();
    let folders = hostile::write(folder.path(), &some(payloads()));
    let mut names = BTreeMap::new();
    let mut inputs = Vec::new();
    let mut readable = 0;
    for (name, path) in folders {
        let input = input(path);
        let investigation = &input.snapshot.investigation;
        assert_eq!(investigation.nodes().count(), 7, "{name}: all are there to be shown");
        readable += usize::from(input.snapshot.ruleset.is_ok());
        names.insert(investigation.meta().id.to_string(), name);
        inputs.push(input);
    }
    assert!(
        readable * 3 > inputs.len(),
        "only {readable} have a ruleset, without which nothing is an answer"
    );
    let files = render(&inputs);
    assert!(files.keys().any(|path| path.contains("/answers/")), "an answer has a page");
    let faulty: Vec<String> = faults(&files)
        .into_iter()
        .map(|fault| match fault.split_once('/').and_then(|(id, _)| names.get(id)) {
            Some(name) => format!("{name}: {fault}"),
            None => fault,
        })
        .collect();
    assert!(faulty.is_empty(), "{} faults:\n{}", faulty.len(), faulty.join("\n"));
}

#[test]
fn what_comes_through_the_server_gives_sound_sites() {
    let sandbox = Sandbox::new();
    let mut session = Session::begun(&sandbox);
    let mut stored = 0;
    let tried = some(payloads());
    for (number, (name, text)) in tried.iter().enumerate() {
        let id = format!("R2.A{number}");
        let title = if text.trim().is_empty() { name } else { text.as_str() };
        let node = json!({"id": id, "parent": "R1.A", "title": title, "plannedAction": text});
        if session.call("tot_propose", json!({"nodes": [node]}))["status"] != "OK" {
            continue;
        }
        sandbox.sleep(60);
        let result = json!({"nodeId": id, "state": "DEAD", "findings": text, "evidence": text, "agentId": text,
            "verificationMethod": text, "alternativesConsidered": [text, text], "caveats": [text],
            "attachments": [{"name": "page.html", "text": text}]});
        stored += usize::from(session.call("tot_commit", json!({"results": [result]}))["status"] == "OK");
        let change = json!({"nodeId": id, "newState": "EXPLORE", "reason": text, "agentId": text});
        session.call("tot_reclassify", change);
        let objection = json!({"nodeId": id, "kind": "objection", "text": text, "agentId": text});
        session.call("tot_comment", objection);
        session.call("tot_comment", json!({"text": text, "agentId": text}));
    }
    assert!(stored * 4 >= tried.len() * 3, "only {stored} of {} were taken", tried.len());
    let mut inputs = vec![input(session.repository())];
    for (_, text) in tried {
        let started = session
            .server
            .call("tot_start", json!({"query": text, "title": text, "context": text, "mode": "smoke"}));
        if let Some(id) = started["sessionId"].as_str() {
            inputs.push(input(sandbox.repository(id)));
        }
    }
    let faulty = faults(&render(&inputs));
    assert!(faulty.is_empty(), "{} faults:\n{}", faulty.len(), faulty.join("\n"));
}

fn input(path: PathBuf) -> ReportInput {
    let store = Store::new(path.parent().unwrap());
    let snapshot = store.load(&path).unwrap();
    let history = store.history(&snapshot).unwrap();
    // As if all cited lines had moved, in a project on a forge.
    let pins = snapshot.investigation.pins();
    let moved = pins.map(|(_, pin)| (pin.clone(), Drift::Moved { path: pin.path.clone(), lines: pin.lines }));
    let evidence = ProjectEvidence { drift: moved.collect(), forge: Forge::of("https://github.com/o/n") };
    let attachments = store.attachments(&snapshot).unwrap();
    let nothing = Default::default();
    let sign_offs = SignOffs::default();
    ReportInput {
        snapshot,
        history,
        rev: None,
        sign_offs,
        evidence,
        attachments,
        withheld: nothing,
        ends: Vec::new(),
    }
}

fn render(inputs: &[ReportInput]) -> BTreeMap<String, Vec<u8>> {
    site(&inputs.into(), &Templates::load(&SiteOptions::default()).unwrap()).unwrap()
}
