//! Sign-offs on the pages.

use super::*;
use crate::service::signoff::{SignOff, SignOffDecision, SignOffState, Statement};
use crate::store::{SignedFiles, Since};

const HOSTILE: &str = "</p><script>alert(1)</script>\u{202e}\u{1b}[31m";

fn sign_off(input: &ReportInput, number: usize, state: SignOffState) -> SignOff {
    let commit = input.history[usize::from(state == SignOffState::Stale)].commit;
    let checked = matches!(state, SignOffState::Valid | SignOffState::Stale);
    SignOff {
        tag: format!("approved/{number}"),
        decision: SignOffDecision::Approved,
        commit,
        state,
        reason: (!checked).then(|| format!("reason {number}{HOSTILE}")),
        signer: checked.then(|| format!("anna{number}@example.org{HOSTILE}")),
        tagger: Some(format!("Boss {number} <boss@example.org>{HOSTILE}")),
        at: Some(time(200)),
        statement: Some(Statement {
            text: format!("Text {number}{HOSTILE}"),
            files: SignedFiles::default(),
            open: vec![format!("MIN_ROUNDS{HOSTILE}")],
        }),
        since: match state {
            SignOffState::Stale => Since::Later {
                commits: 2,
                nodes: vec!["R2.A1".parse().unwrap()],
                files: vec!["conclusion.yaml".to_owned()],
            },
            _ => Since::Nothing,
        },
    }
}

/// Returns an investigation with a sign-off of each validity.
pub(super) fn signed_off() -> ReportInput {
    let mut input = sample();
    let states = [
        SignOffState::Valid,
        SignOffState::Stale,
        SignOffState::Unsigned,
        SignOffState::Unchecked,
        SignOffState::Invalid,
    ];
    let mut all: Vec<SignOff> =
        states.iter().enumerate().map(|(number, state)| sign_off(&input, number, *state)).collect();
    all.push(SignOff {
        decision: SignOffDecision::Rejected,
        tag: "rejected/5".to_owned(),
        statement: None,
        ..sign_off(&input, 5, SignOffState::Valid)
    });
    input.history[0].tags.extend(all.iter().map(|it| it.tag.clone()));
    input.sign_offs = SignOffs { all, left_out: 3 };
    input
}

/// Returns the mark of each sign-off, in order.
fn marks(page: &str) -> Vec<&str> {
    let marks = page.split_once("<ul class=\"sign-offs\">").unwrap().1.split("</section>").next().unwrap();
    let marks = marks.split("<span class=\"status ").skip(1);
    marks.map(|mark| mark.split("</span>").next().unwrap()).collect()
}

#[test]
fn each_sign_off_says_what_it_is_worth_and_by_whom() {
    let files = render(&[signed_off()]);
    let page = page(&files, "index.html");
    let expected = [
        "valid\">Approved",
        "stale\">Approved before later changes",
        "unsigned\">Unsigned approval",
        "unchecked\">Approval, not checked",
        "invalid\">Invalid approval",
        "rejected\">Rejected",
    ];
    assert_eq!(marks(&page), expected);
    assert!(page.contains("by <bdi>anna0@example.org"), "{page}");
    assert!(page.contains("by <bdi>somebody using the name Boss 2"), "{page}");
    assert!(!page.contains("anna2@") && !page.contains("<bdi>Boss"), "{page}");
    assert!(page.contains("2 commits since then; changed: R2.A1, conclusion.yaml."), "{page}");
    assert!(page.contains("3 more sign-offs were skipped."), "{page}");
    let print = super::page(&files, "print.html");
    assert_eq!(marks(&print), expected);
    // A tag name alone must not suggest an approval.
    for (path, page) in pages(&files) {
        let is_told = ["index.html", "print.html"].contains(&path.as_str());
        assert!(is_told || !page.contains("approved/"), "{path}");
        assert!(
            !page.contains("<script>alert") && !page.contains('\u{1b}') && !page.contains('\u{202e}'),
            "{path}"
        );
    }
    let data: serde_json::Value = serde_json::from_slice(&files["investigation.json"]).unwrap();
    let states: Vec<&str> =
        data["signOffs"].as_array().unwrap().iter().map(|it| it["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["valid", "stale", "unsigned", "unchecked", "invalid", "valid"]);
    assert_eq!(data["signOffs"][2]["signer"], serde_json::Value::Null);
}

#[test]
fn the_index_counts_sign_offs_by_what_they_are_worth() {
    let mut input = signed_off();
    let again = input.sign_offs.all[3].clone();
    input.sign_offs.all.push(again);
    let page = page(&render(&[input, unfinished()]), "index.html");
    assert!(page.contains("<span class=\"status unchecked\">2 × Approval, not checked</span>"), "{page}");
    assert!(page.contains("<span class=\"status rejected\">Rejected</span>"), "{page}");
}
