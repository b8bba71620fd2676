//! Withheld text, in every way of publishing an investigation.

use std::path::Path;

use serde_json::json;

use super::{page, published};
use crate::support::{Sandbox, Session, TOT, TOT_REPORT, files, node, result};

/// A word that occurs in only one node.
const SECRET: &str = "Quetzalcoatl";
const LABEL: &str = "Withheld by Anna: names a customer";
const LIST: &str = "withheld:\n- nodes: [R2.A1]\n  by: Anna\n  why: names a customer\n";
const FORMATS: [&str; 5] = ["json", "markdown", "dot", "svg", "mermaid"];

/// An investigation with the secret in the proposal, result, state change and amendment of R2.A1.
fn secret(sandbox: &Sandbox) -> Session {
    let mut session = Session::begun(sandbox);
    let text = |what: &str| format!("The {what} of {SECRET} is here.");
    let proposal =
        json!({"id": "R2.A1", "parent": "R1.A", "title": text("title"), "plannedAction": text("plan")});
    session.ok("tot_propose", json!({"nodes": [proposal, node("R2.A2", Some("R1.A"))]}));
    sandbox.sleep(60);
    let found = json!({
        "nodeId": "R2.A1", "state": "EXPLORE", "agentId": "one", "headline": text("headline"), "findings": text("findings"),
        "evidence": text("evidence"), "alternativesConsidered": [text("alternative")], "caveats": [text("caveat")],
        "commands": [{"command": text("command")}], "references": [{"target": format!("https://{SECRET}.example.org")}],
    });
    session.ok("tot_commit", json!({"results": [found, result("R2.A2", "EXPLORE")]}));
    let amended = json!({"nodeId": "R2.A1", "findings": text("new findings"), "reason": text("amendment")});
    session.ok("tot_amend", amended);
    session
}

/// Returns the number of files of a site that contain a word.
fn with_word(site: &Path, word: &str) -> usize {
    files(site, true).values().filter(|bytes| has(bytes, word)).count()
}

fn has(bytes: &[u8], word: &str) -> bool {
    String::from_utf8_lossy(bytes).to_lowercase().contains(&word.to_lowercase())
}

#[test]
fn a_committed_list_holds_for_every_door() {
    let sandbox = Sandbox::new();
    let mut session = secret(&sandbox);
    let repository = session.repository();
    assert!(with_word(&published(&sandbox, &repository, &[]).unwrap(), SECRET) > 8);
    sandbox.commit_file(&repository, "withheld.yaml", LIST);
    for more in [
        &[][..],
        // An earlier state, from before the list, and the changes since then.
        &["--rev", "HEAD~2"],
        &["--compare", "HEAD~3.."],
        &["--base-url", "https://example.org/"],
    ] {
        let site = published(&sandbox, &repository, more).unwrap();
        assert_eq!(with_word(&site, SECRET), 0, "{more:?}");
        assert!(with_word(&site, LABEL) > 4, "{more:?}");
    }
    let one = sandbox.path("one.html");
    sandbox.run(TOT_REPORT, &[repository.to_str().unwrap(), "--single-file", one.to_str().unwrap()]);
    let one = std::fs::read(one).unwrap();
    assert!(!has(&one, SECRET) && has(&one, "Withheld by Anna"));
    // Among several investigations.
    Session::start(&sandbox, json!({}));
    assert_eq!(with_word(&published(&sandbox, &sandbox.root(), &[]).unwrap(), SECRET), 0);
    let index = session.ok("tot_report", json!({}))["index"].as_str().unwrap().to_owned();
    assert_eq!(with_word(Path::new(&index).parent().unwrap(), SECRET), 0);
    let exports = FORMATS.map(|format| vec!["export", "-i", &session.id, "--format", format]);
    let diff = vec!["diff", "--markdown", "-i", &session.id, "HEAD~4..HEAD"];
    for arguments in exports.into_iter().chain([diff]) {
        let said = sandbox.run(TOT, &[&["--root", "investigations"], &arguments[..]].concat());
        assert_eq!(said.status, 0, "{said:?}");
        let text = said.out.as_bytes();
        assert!(!has(text, SECRET) && has(text, "Withheld by Anna"), "{arguments:?}: {said:?}");
    }
}

#[test]
fn nodes_can_be_named_when_it_is_published() {
    let session = secret(&Sandbox::new());
    // The root has only one.
    for source in [session.repository(), session.sandbox.root()] {
        let site =
            published(&session.sandbox, &source, &["--withhold", "R1.A", "--withhold", "R2.A1"]).unwrap();
        assert_eq!((with_word(&site, SECRET), with_word(&site, "Title of R1.A")), (0, 0));
        assert!(with_word(&site, "Withheld by the publisher") > 0);
    }
    for (node, words) in [("R2.A7", "R2.A7 can't be withheld: it is not a node"), ("nonsense", "nonsense")] {
        let said = published(&session.sandbox, &session.repository(), &["--withhold", node]).unwrap_err();
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn where_the_list_is_not_understood_nothing_is_published() {
    let sandbox = Sandbox::new();
    let mut session = secret(&sandbox);
    let repository = session.repository();
    for (list, words) in [
        ("withheld: [R2.A1]\n", "withheld.yaml"),
        ("withheld:\n- nodes: [R2.A9]\n  by: Anna\n", "R2.A9 can't be withheld"),
        ("nodes: [R2.A1]\n", "withheld.yaml"),
    ] {
        sandbox.commit_file(&repository, "withheld.yaml", list);
        let said = published(&sandbox, &repository, &[]).unwrap_err();
        assert!(said.contains(words), "{said}");
        let refused = session.call("tot_report", json!({}));
        assert_eq!(refused["status"], "REJECTED", "{refused:#}");
        assert!(refused["errors"][0]["message"].as_str().unwrap().contains(words), "{refused:#}");
    }
    // Among several investigations, the others are published.
    let other = Session::start(&sandbox, json!({})).id;
    assert_eq!(sandbox.run(TOT_REPORT, &["investigations", "--out", "several"]).status, 1);
    let site = sandbox.path("several");
    assert_eq!(with_word(&site, SECRET), 0);
    assert!(with_word(&site, &other) > 0);
    #[cfg(unix)]
    {
        std::fs::remove_file(repository.join("withheld.yaml")).unwrap();
        std::os::unix::fs::symlink("README.md", repository.join("withheld.yaml")).unwrap();
        session.git(&["commit", "-qam", "Link"]);
        let said = published(&sandbox, &repository, &[]).unwrap_err();
        assert!(said.contains("withheld.yaml is not a file"), "{said}");
    }
}

#[test]
fn messages_do_not_say_what_is_withheld_in_others_words() {
    let mut session = Session::start(&Sandbox::new(), json!({"mode": "smoke", "allowEarlyTerminal": true}));
    session.grow(&[("R1.A", None)], "EXPLORE");
    session.ok("tot_propose", json!({"nodes": [node("R2.A1", Some("R1.A"))]}));
    session.sandbox.sleep(60);
    let mut found = result("R2.A1", "FOUND");
    found["headline"] = json!(format!("{SECRET} is it"));
    found["evidence"] = json!(format!("{SECRET} was seen three times."));
    session.ok("tot_commit", json!({"results": [found]}));
    let objection = json!({"nodeId": "R2.A1", "kind": "objection", "agentId": "two", "text": format!("Nobody but {SECRET} says so.")});
    session.ok("tot_comment", objection);
    let end = json!({"conclusion": "It is known.", "answers": ["R2.A1"], "stopped": {"reason": "enough"}});
    let ended = session.ok("tot_end", end);
    assert!(ended["warnings"].to_string().contains("OBJECTION_OPEN"), "{ended:#}");
    let repository = session.repository();
    let message = session.git(&["log", "-1", "--format=%B"]);
    assert!(message.contains("OBJECTION_OPEN") && !message.contains(SECRET), "{message}");
    // As older conclusions said it, and as a person may.
    for message in
        [format!("End\n\nanswer R2.A1: {SECRET} is it\n"), format!("Note that somebody found {SECRET}")]
    {
        session.git(&["commit", "-q", "--allow-empty", "-m", &message]);
    }
    session.sandbox.commit_file(&repository, "withheld.yaml", LIST);
    let site = published(&session.sandbox, &repository, &[]).unwrap();
    assert_eq!(with_word(&site, SECRET), 0);
    let history = page(&site, "history.html");
    assert!(history.contains("Propose R1.A") && !history.contains("Note that"), "{history}");
}

#[test]
fn a_list_that_is_not_committed_is_not_passed_over() {
    let sandbox = Sandbox::new();
    let mut session = secret(&sandbox);
    let repository = session.repository();
    // An earlier site is not reused either.
    assert_eq!(sandbox.run(TOT_REPORT, &["investigations", "--out", "earlier"]).status, 0);
    std::fs::write(repository.join("withheld.yaml"), LIST).unwrap();
    let report = [
        &["--out", "earlier"][..],
        &["--out", "out"],
        &["--single-file", "out"],
        &["--serve", "127.0.0.1:0"],
    ];
    let report = report.map(|arguments| (TOT_REPORT, [&["investigations"], arguments].concat()));
    let work = [
        &["report", "-i", &session.id, "--out", "out"][..],
        &["report", "--open", "-i", &session.id],
        &["diff", "--markdown", "-i", &session.id, "HEAD~1..HEAD"],
    ];
    let exports = FORMATS.map(|format| ["export", "-i", &session.id, "--format", format]);
    let work = work.into_iter().chain(exports.iter().map(|arguments| &arguments[..]));
    let work = work.map(|arguments| (TOT, [arguments, &["--root", "investigations"]].concat()));
    for (program, arguments) in report.into_iter().chain(work) {
        let said = sandbox.run(program, &arguments);
        assert_eq!(said.status, 1, "{arguments:?}: {said:?}");
        for part in ["withheld.yaml has uncommitted changes", "git add withheld.yaml", "--ignore-uncommitted"]
        {
            assert!(said.err.contains(part), "{arguments:?}: {said:?}");
        }
        assert!(said.out.is_empty() && !sandbox.path("out").exists(), "{arguments:?}");
    }
    let refused = session.call("tot_report", json!({}));
    assert_eq!(refused["errors"][0]["code"], "REPORT_ERROR", "{refused:#}");
    // The committed list counts, as the message says.
    let ignoring = || published(&sandbox, &repository, &["--ignore-uncommitted"]).unwrap();
    assert!(with_word(&ignoring(), SECRET) > 0);
    sandbox.commit_file(&repository, "withheld.yaml", LIST);
    assert_eq!(with_word(&published(&sandbox, &repository, &[]).unwrap(), SECRET), 0);
    std::fs::write(repository.join("withheld.yaml"), LIST.replace("R2.A1", "R1.A")).unwrap();
    assert!(published(&sandbox, &repository, &[]).unwrap_err().contains("has uncommitted changes"));
    assert_eq!(with_word(&ignoring(), SECRET), 0);
}

#[test]
fn a_list_under_nearly_the_right_name_stops_every_door() {
    let mut session = secret(&Sandbox::new());
    let repository = session.repository();
    let words =
        |path: &str| format!("{path} looks like a list of withheld nodes, but only withheld.yaml in the");
    for path in ["withheld.yml", "nodes/withheld.yaml", "../withheld.yaml"] {
        let file = repository.join(path);
        std::fs::write(&file, LIST).unwrap();
        let ignoring = published(&session.sandbox, &repository, &["--ignore-uncommitted"]);
        assert!(ignoring.is_ok(), "{ignoring:?}");
        for is_committed in [false, !path.starts_with("..")] {
            if is_committed {
                session.sandbox.commit_file(&repository, path, LIST);
            }
            let said = published(&session.sandbox, &repository, &[]).unwrap_err();
            assert!(said.contains(&words(path)), "{said}");
            for more in [&["export", "--format", "json"][..], &["diff", "HEAD~1.."], &["report", "--open"]] {
                let said = session.sandbox.run(TOT, &[&["--root", "investigations"], more].concat());
                assert!(said.status == 1 && said.err.contains(&words(path)), "{more:?}: {said:?}");
            }
            let refused = session.call("tot_report", json!({}));
            assert!(refused["errors"][0]["message"].as_str().unwrap().contains(&words(path)), "{refused:#}");
        }
        std::fs::remove_file(&file).unwrap();
        session.git(&["commit", "-q", "--allow-empty", "-am", "Remove it"]);
    }
    assert!(published(&session.sandbox, &repository, &[]).is_ok());
}
