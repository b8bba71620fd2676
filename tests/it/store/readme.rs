//! The page that a forge shows for an investigation: its README.md.

use insta::assert_snapshot;
use serde_json::{Value, json};
use tree_of_thoughts::format::FileChange;
use tree_of_thoughts::store::git::{CommitText, Git, GitOptions};

use super::{join, load, resolved};
use crate::support::{Sandbox, Session, node, result};

fn page(session: &Session) -> String {
    session.text("README.md")
}

/// Returns what `tot check` says about the page.
fn checked(session: &Session) -> String {
    session.check().lines().filter(|line| line.contains("README")).collect()
}

fn end(conclusion: &str) -> Value {
    json!({"conclusion": conclusion, "stopped": {"reason": "stuck"}})
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
    session.ok("tot_commit", json!({"results": [found, result("R2.A2", "DEAD")]}));
    assert_eq!(page(&session), begun, "nothing in between writes it");
    let conclusion = "Air scatters blue light.\n\n```\nunclosed";
    session
        .ok("tot_end", json!({"conclusion": conclusion, "agentId": "lead", "stopped": {"reason": "enough"}}));
    assert_snapshot!("ended", page(&session));
    assert_eq!(checked(&session), "");
    // The conclusion's other fields are on it too. After reopening, it stays.
    session.ok("tot_amend", json!({"conclusion": "Rayleigh scattering.", "reason": "Shorter."}));
    assert!(page(&session).contains("> Rayleigh scattering."), "{}", page(&session));
    assert_eq!(checked(&session), "");
    session
        .ok("tot_reclassify", json!({"nodeId": "R2.A2", "newState": "EXPLORE", "reason": "There is more."}));
    assert!(page(&session).contains(": There is more.**\n"), "{}", page(&session));
    assert_eq!(checked(&session), "");
    session.assert_sound();
}

#[test]
fn what_is_changed_in_it_by_hand_is_named_and_other_pages_are_no_fault() {
    let mut session = Session::begun(&Sandbox::new());
    session.edit("README.md", &page(&session).replace("Why is the sky blue?", "Why is it red?"));
    assert!(checked(&session).contains("README_DIFFERS"), "{}", checked(&session));
    session.edit("README.md", "# Mine\n");
    assert_eq!(checked(&session), "", "a page of their own");
    session.git(&["reset", "--quiet", "--hard", "HEAD~2"]);
    session.ok("tot_end", end("Nothing."));
    let (git, head) = (Git::open(&session.repository(), GitOptions::ISOLATED).unwrap(), load(&session).head);
    let content = page(&session).replace("## How far to trust it", "## How sure it is").into_bytes();
    let changes = [FileChange { path: "README.md".into(), content: Some(content) }];
    let commit = CommitText { changes: &changes, message: "End\n\nTool: tot_end\n", at: 1_795_000_000 };
    git.writer().unwrap().commit(head, &[commit], None, |_| Ok(())).unwrap().1.unwrap();
    assert_eq!(checked(&session), "", "a call of an earlier version wrote it, and the facts are the same");
    // The page's correct content is unknown after manual changes.
    let node = "nodes/R1/R1.A.yaml";
    session.edit(node, &session.text(node).replace("Findings of", "Other findings of"));
    assert!(checked(&session).contains("The facts themselves are unaffected"), "{}", checked(&session));
}

/// Git leaves markers in the page too, or one side's page.
#[test]
fn two_ends_keep_the_page_of_the_earlier_one() {
    for by_git in [false, true] {
        let mut here = Session::begun(&Sandbox::new());
        let mut there = here.cloned("there");
        there.ok("tot_end", end("The earlier answer."));
        here.sandbox.sleep(60);
        here.ok("tot_end", end("The later answer."));
        match by_git {
            true => resolved(&here, &there),
            false => drop(join(&here, &there)),
        }
        let page = page(&here);
        assert!(page.contains("The earlier answer.") && !page.contains("<<<<<<<"), "{page}");
        assert!(here.text("conclusion.yaml").contains("The later answer."));
        assert_eq!(checked(&here), "");
        // The next call took the merge for an end without a tag.
        assert!(!here.check().contains("ENDED_TAG"), "{}", here.check());
        here.ok("tot_comment", json!({"nodeId": "R1.A", "kind": "comment", "text": "Both ended."}));
        assert_eq!(here.git(&["tag"]), "ended/1\n");
    }
}

/// It was the page of the side with the earlier conclusion, which the other had reopened.
#[test]
fn a_page_after_a_merge_shows_the_end_that_is_in_force() {
    let mut here = Session::begun(&Sandbox::new());
    here.ok("tot_end", end("The first answer."));
    let mut there = here.cloned("there");
    here.sandbox.sleep(60);
    there.ok("tot_reclassify", json!({"nodeId": "R1.A", "newState": "FOUND", "reason": "Open it."}));
    here.sandbox.sleep(60);
    there.ok("tot_end", end("The second answer."));
    // Here somebody objects to the first, as the page shows.
    here.ok("tot_comment", json!({"nodeId": "R1.A", "kind": "objection", "text": "It was another day."}));
    join(&here, &there);
    let page = page(&here);
    assert!(page.contains("The second answer.") && !page.contains("The first answer."), "{page}");
    assert_eq!(checked(&here), "");
}
