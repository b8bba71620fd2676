use super::*;
use crate::domain::{Investigation, Meta, Timestamp};
use crate::ruleset::builtin;
use crate::store::{Annotation, CommitId, SignOffTag, SignOffTags, SignedFiles, Since};

fn commit() -> CommitId {
    "1a2b3c4d5e6f708192a3b4c5d6e7f8091a2b3c4d".parse().unwrap()
}

/// A signed tag of the state shown, as `tot approve` creates it.
fn tag() -> SignOffTag {
    let files = SignedFiles { conclusion: None, ruleset: Some("aa".into()) };
    let name = "approved/anna-1".to_owned();
    let message = "Approve x: y\n\nGood.\n\nConclusion: none\nRuleset: aa\nOpen: none\n".to_owned();
    let tagger = "Anna <anna@x>".to_owned();
    let at = Timestamp::from_milliseconds(0).unwrap();
    let annotation = Ok(Annotation { name: name.clone(), tagger, at, message, is_signed: true });
    SignOffTag {
        name,
        object: "bb".into(),
        commit: commit(),
        annotation,
        committed_at: None,
        files,
        since: Since::Nothing,
    }
}

fn good() -> Signature {
    Signature::Good { signer: "anna@example.org".into() }
}

fn judged(change: impl FnOnce(&mut SignOffTag), signature: Signature) -> SignOff {
    let mut tag = tag();
    change(&mut tag);
    sign_offs(&SignOffTags { tags: vec![tag], left_out: 0 }, &[signature]).all.remove(0)
}

fn message(tag: &mut SignOffTag, from: &str, to: &str) {
    let annotation = tag.annotation.as_mut().unwrap();
    annotation.message = annotation.message.replace(from, to);
}

#[test]
fn only_a_good_signature_of_the_state_shown_is_valid() {
    let later = || Since::Later { commits: 1, nodes: Vec::new(), files: Vec::new() };
    let bad = || Signature::Bad { why: "x".into() };
    let unchecked = || Signature::Unchecked { why: "x".into() };
    let unsigned = |tag: &mut SignOffTag| tag.annotation.as_mut().unwrap().is_signed = false;
    for (found, state) in [
        (judged(|_| {}, good()), SignOffState::Valid),
        (judged(|tag| tag.since = later(), good()), SignOffState::Stale),
        (judged(unsigned, unchecked()), SignOffState::Unsigned),
        // git's verdict on another tag does not apply to one without a signature.
        (judged(unsigned, good()), SignOffState::Unsigned),
        (judged(|_| {}, unchecked()), SignOffState::Unchecked),
        (judged(|_| {}, bad()), SignOffState::Invalid),
        (judged(|tag| tag.since = Since::Elsewhere, good()), SignOffState::Invalid),
        (judged(|tag| tag.name.push('2'), good()), SignOffState::Invalid),
        (judged(|tag| tag.annotation = Err("x".into()), good()), SignOffState::Invalid),
        (judged(|tag| message(tag, "Ruleset: aa", "Ruleset: ab"), good()), SignOffState::Invalid),
        (judged(|tag| message(tag, "Conclusion: none", "Conclusion: aa"), good()), SignOffState::Invalid),
        (judged(|tag| message(tag, "Conclusion: none\n", ""), good()), SignOffState::Valid),
    ] {
        assert_eq!(found.state, state, "{found:?}");
        assert_eq!(
            found.signer.is_some(),
            matches!(state, SignOffState::Valid | SignOffState::Stale),
            "{found:?}"
        );
        assert_eq!(
            found.reason.is_some(),
            matches!(state, SignOffState::Invalid | SignOffState::Unchecked),
            "{found:?}"
        );
    }
}

#[test]
fn approval_needs_a_valid_sign_off_and_no_contradicting_one() {
    let all = |tags: Vec<(SignOffTag, Signature)>| {
        let (tags, signatures): (Vec<_>, Vec<_>) = tags.into_iter().unzip();
        sign_offs(&SignOffTags { tags, left_out: 0 }, &signatures)
    };
    let rejected = || {
        let mut tag = tag();
        tag.name = "rejected/anna-1".into();
        tag.annotation.as_mut().unwrap().name = tag.name.clone();
        tag
    };
    let bad = Signature::Bad { why: "x".into() };
    let unchecked = Signature::Unchecked { why: "x".into() };
    assert!(all(vec![(tag(), good())]).is_approved());
    assert!(all(vec![(tag(), good()), (tag(), unchecked.clone())]).is_approved());
    assert!(all(vec![(tag(), good()), (rejected(), unchecked.clone())]).is_approved());
    assert!(!all(vec![(tag(), good()), (rejected(), good())]).is_approved());
    assert!(!all(vec![(tag(), good()), (rejected(), bad)]).is_approved());
    assert!(!all(vec![(tag(), unchecked)]).is_approved());
    assert!(!all(vec![(rejected(), good())]).is_approved());
    assert!(!all(Vec::new()).is_approved());
    let unread = SignOffs { left_out: 1, ..all(vec![(tag(), good())]) };
    assert!(!unread.is_approved());
}

#[test]
fn tag_names_suit_git_and_every_file_system() {
    let of = |person: &str| tag_name(SignOffDecision::Approved, person, commit(), 0x7f3);
    assert_eq!(of("Anna"), "approved/anna-1a2b3c4d5e-07f3");
    assert_eq!(of(" Ánna  O’Hara.lock"), "approved/nna-o-hara-lock-1a2b3c4d5e-07f3");
    assert_eq!(of("../../../x"), "approved/x-1a2b3c4d5e-07f3");
    assert_eq!(of("李明"), "approved/somebody-1a2b3c4d5e-07f3");
    assert_eq!(of(&"a ".repeat(100)).len(), "approved/-1a2b3c4d5e-07f3".len() + 39);
    assert_eq!(tag_name(SignOffDecision::Rejected, "Anna", commit(), 0), "rejected/anna-1a2b3c4d5e-0000");
}

#[test]
fn foreign_text_is_not_parsed_as_a_trailer() {
    let ruleset = builtin::all()[0].clone();
    let meta = Meta {
        id: "01890a5d-ac96-774b-bcce-b302099a8057".parse().unwrap(),
        title: "Title\n\nRuleset: bad".into(),
        query: "x".into(),
        context: None,
        ruleset: ruleset.ruleset.name.clone(),
        mode: "deep".into(),
        min_rounds: 1,
        min_roots: 1,
        allow_early_terminal: false,
        started_at: Timestamp::from_milliseconds(0).unwrap(),
    };
    let snapshot = Snapshot::without_repository(Investigation::new(meta), ruleset);
    let files = SignedFiles { conclusion: Some("aa".into()), ruleset: Some("bb".into()) };
    let open = vec!["self-checked\nConclusion: none".to_owned(); 200];
    let text = "Mine\u{1b}[2J\n\nConclusion: cc";
    let message = statement(SignOffDecision::Approved, &snapshot, &files, &open, text);
    let read = Statement::read(&message).unwrap();
    assert_eq!(read.files, files);
    assert_eq!(read.text, "Mine␛[2J\n\nConclusion: cc");
    assert_eq!(read.open.len(), 101);
    assert_eq!(read.open[100], "100 more");
    assert_eq!(Statement::read("Fine."), None);
    assert_eq!(Statement::read("Fine.\n\nConclusion: none"), None);
}
