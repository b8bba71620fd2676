//! The page that a forge shows for an investigation: its README.md.

use insta::assert_snapshot;
use serde_json::json;

use crate::support::{Sandbox, Session, TOT, node, result};

fn page(session: &Session<'_>) -> String {
    std::fs::read_to_string(session.repository().join("README.md")).unwrap()
}

/// Returns what `tot check` says about the page.
fn checked(session: &Session<'_>) -> String {
    let output = session.sandbox.command(TOT).arg("check").arg(session.repository()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().filter(|line| line.contains("README")).collect()
}

#[test]
fn it_has_the_question_and_at_the_end_the_answer_with_what_it_rests_on() {
    let sandbox = Sandbox::new();
    let mut session = Session::start(
        &sandbox,
        json!({"mode": "smoke", "allowEarlyTerminal": true, "title": "Sky | <b>blue</b>"}),
    );
    assert_snapshot!("begun", page(&session));
    assert_eq!(checked(&session), "");
    let begun = page(&session);
    session.grow(&[("R1.A", None)], "EXPLORE");
    session.ok("tot_propose", json!({"nodes": [node("R2.A1", Some("R1.A")), node("R2.A2", Some("R1.A"))]}));
    sandbox.sleep(60);
    let mut found = result("R2.A1", "FOUND");
    found["evidence"] = json!("The spectrum that we measured falls with the fourth power of the wavelength.");
    found["headline"] = json!("Small particles scatter short waves *more*.");
    let results = json!([found, result("R2.A2", "DEAD")]);
    session.ok("tot_commit", json!({"results": results}));
    assert_eq!(page(&session), begun, "nothing in between writes it");
    let conclusion = "Air scatters blue light.\n\n```\nunclosed";
    session
        .ok("tot_end", json!({"conclusion": conclusion, "agentId": "lead", "stopped": {"reason": "enough"}}));
    assert_snapshot!("ended", page(&session));
    assert_eq!(checked(&session), "");
    // The conclusion's other fields are on it too. After reopening, there is no answer.
    session.ok("tot_amend", json!({"conclusion": "Rayleigh scattering.", "reason": "Shorter."}));
    assert!(page(&session).contains("> Rayleigh scattering."), "{}", page(&session));
    assert_eq!(checked(&session), "");
    session
        .ok("tot_reclassify", json!({"nodeId": "R2.A2", "newState": "EXPLORE", "reason": "There is more."}));
    assert_eq!(page(&session), begun);
    assert_eq!(checked(&session), "");
    sandbox.assert_sound(&session.repository());
}

#[test]
fn what_is_changed_in_it_by_hand_is_named_and_another_page_is_left_alone() {
    let sandbox = Sandbox::new();
    let session = Session::start(&sandbox, json!({}));
    let path = session.repository().join("README.md");
    std::fs::write(&path, page(&session).replace("Why is the sky blue?", "Why is it red?")).unwrap();
    sandbox.git(&session.repository(), &["commit", "--quiet", "--all", "-m", "Edit the page"]);
    assert!(checked(&session).contains("README_DIFFERS"), "{}", checked(&session));
    std::fs::write(&path, "# Mine\n").unwrap();
    sandbox.git(&session.repository(), &["commit", "--quiet", "--all", "-m", "Another page"]);
    assert_eq!(checked(&session), "");
}

#[test]
fn the_words_of_an_earlier_version_are_no_fault() {
    let sandbox = Sandbox::new();
    let mut session = Session::begun(&sandbox);
    session.ok("tot_end", json!({"conclusion": "Nothing.", "stopped": {"reason": "stuck"}}));
    let folder = session.repository();
    let path = folder.join("README.md");
    std::fs::write(&path, page(&session).replace("## How far to trust it", "## How sure it is")).unwrap();
    sandbox.git(&folder, &["commit", "--quiet", "--all", "--amend", "--no-edit"]);
    assert_eq!(checked(&session), "", "a call wrote it, and the facts are the same");
    // The page's correct content is unknown after manual changes.
    let node = folder.join("nodes/R1/R1.A.yaml");
    let text = std::fs::read_to_string(&node).unwrap().replace("Findings of", "Other findings of");
    std::fs::write(&node, text).unwrap();
    sandbox.git(&folder, &["commit", "--quiet", "--all", "-m", "By hand"]);
    assert!(checked(&session).contains("The facts themselves are unaffected"), "{}", checked(&session));
}

#[test]
fn two_ends_keep_the_page_of_the_earlier_one() {
    let sandbox = Sandbox::new();
    let mut session = Session::begun(&sandbox);
    let there = sandbox.path("there");
    std::fs::create_dir(&there).unwrap();
    sandbox.git(&there, &["clone", "--quiet", session.repository().to_str().unwrap()]);
    let end =
        |text: &str| json!({"conclusion": text, "stopped": {"reason": "stuck"}, "sessionId": session.id});
    let (earlier, later) = (end("The earlier answer."), end("The later answer."));
    session.server.ok("tot_end", earlier);
    sandbox.sleep(60);
    let mut server = sandbox.server_in(&there, &[]);
    server.ok("tot_end", later);
    let theirs = sandbox.head(&there.join(&session.id));
    sandbox.git(&session.repository(), &["fetch", "--quiet", there.join(&session.id).to_str().unwrap()]);
    let store = tree_of_thoughts::store::Store::new(sandbox.root());
    store.join(&session.repository(), theirs.parse().unwrap()).unwrap();
    assert!(page(&session).contains("The earlier answer."), "{}", page(&session));
    let document = std::fs::read_to_string(session.repository().join("conclusion.yaml")).unwrap();
    assert!(document.contains("The later answer."), "{document}");
}

/// Git leaves markers in the page too, or one side's page.
#[test]
fn a_page_after_resolved_markers_shows_the_end_that_is_in_force() {
    let sandbox = Sandbox::new();
    let mut session = Session::begun(&sandbox);
    let there = sandbox.path("there");
    std::fs::create_dir(&there).unwrap();
    sandbox.git(&there, &["clone", "--quiet", session.repository().to_str().unwrap()]);
    let end =
        |text: &str| json!({"conclusion": text, "stopped": {"reason": "stuck"}, "sessionId": session.id});
    let (earlier, later) = (end("The earlier answer."), end("The later answer."));
    sandbox.server_in(&there, &[]).ok("tot_end", earlier);
    sandbox.sleep(60);
    session.server.ok("tot_end", later);
    let (folder, theirs) = (session.repository(), sandbox.head(&there.join(&session.id)));
    sandbox.git(&folder, &["fetch", "--quiet", there.join(&session.id).to_str().unwrap()]);
    assert!(!sandbox.try_git(&folder, &["merge", "--quiet", theirs.trim()]).status.success());
    sandbox.git(&folder, &["commit", "--quiet", "--all", "--no-edit"]);
    let root = sandbox.root();
    let resolve = ["merge", "--resolve", "--root", root.to_str().unwrap()];
    let ran = sandbox.command(TOT).args(resolve).output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
    let page = page(&session);
    assert!(page.contains("The earlier answer.") && !page.contains("<<<<<<<"), "{page}");
    assert_eq!(checked(&session), "");
}

/// It was the page of the side with the earlier conclusion, which the other had reopened.
#[test]
fn a_page_after_a_merge_shows_the_end_that_is_in_force() {
    let sandbox = Sandbox::new();
    let mut session = Session::begun(&sandbox);
    let end =
        |text: &str| json!({"conclusion": text, "stopped": {"reason": "stuck"}, "sessionId": session.id});
    let (first, second) = (end("The first answer."), end("The second answer."));
    session.server.ok("tot_end", first);
    let there = sandbox.path("there");
    std::fs::create_dir(&there).unwrap();
    sandbox.git(&there, &["clone", "--quiet", session.repository().to_str().unwrap()]);
    sandbox.sleep(60);
    let mut server = sandbox.server_in(&there, &[]);
    let opened = json!({"sessionId": session.id, "nodeId": "R1.A", "newState": "DEAD", "reason": "No."});
    server.refused("tot_reclassify", opened);
    let nodes = json!({"sessionId": session.id, "nodeId": "R1.A", "newState": "FOUND", "reason": "Open it."});
    server.ok("tot_reclassify", nodes);
    sandbox.sleep(60);
    server.ok("tot_end", second);
    // Here somebody objects to the first, as the page shows.
    session.ok("tot_comment", json!({"nodeId": "R1.A", "kind": "objection", "text": "It was another day."}));
    let theirs = sandbox.head(&there.join(&session.id));
    sandbox.git(&session.repository(), &["fetch", "--quiet", there.join(&session.id).to_str().unwrap()]);
    let store = tree_of_thoughts::store::Store::new(sandbox.root());
    store.join(&session.repository(), theirs.parse().unwrap()).unwrap();
    let page = page(&session);
    assert!(page.contains("The second answer.") && !page.contains("The first answer."), "{page}");
    assert_eq!(checked(&session), "");
}
