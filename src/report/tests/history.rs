//! The pages of the history.

use super::*;

#[test]
fn an_edit_by_hand_is_shown_as_a_difference() {
    let page = page(&render(&[edited()]), "history.html");
    for text in
        ["Edited by hand", "<summary>Findings", "<mark>", "class=\"line removed\"", "Wrote findings, "]
    {
        assert!(page.contains(text), "{text} is missing");
    }
    assert!(!page.contains("Ada Lovelace"), "what an agent wrote is not the person's whose git it is");
}

#[test]
fn a_long_history_has_pages_and_every_commit_is_found_on_its_own() {
    let mut input = sample();
    let first = input.history.last().unwrap().clone();
    for number in 0..450_u32 {
        let commit = format!("{number:040x}").parse().unwrap();
        input.history.push(HistoryEntry { commit, happenings: Vec::new(), ..first.clone() });
    }
    // The oldest commit is on the last page.
    let number = input.history.len();
    let oldest = input.history.remove(number - 451);
    input.history.push(oldest);
    let files = render(&[input]);
    assert!(page(&files, "history.html").contains("href=\"history-2.html\""));
    assert!(page(&files, "history-2.html").contains("Page 2 of 3"));
    assert!(!files.contains_key("history-4.html"));
    assert!(page(&files, "nodes/R1.A.html").contains("href=\"../history.html#c-"));
}

#[test]
fn a_report_of_an_earlier_commit_says_so_on_every_page() {
    let input = ReportInput { rev: Some("v1~2".to_owned()), ..sample() };
    for (path, page) in pages(&render(&[input])) {
        assert!(page.contains("A newer state may exist.") && page.contains("v1~2"), "{path}");
    }
    assert!(pages(&render(&[sample()])).iter().all(|(_, page)| !page.contains("A newer state may exist.")));
}

/// Texts changed by hand in every commit are compared only until the comparisons become too expensive.
#[test]
fn a_long_text_that_is_edited_again_and_again_does_not_fill_the_memory() {
    let mut input = edited();
    let happening = input.history[0].happenings.pop().unwrap();
    let Happening::Edited(node) = happening else { panic!("{happening:?}") };
    let version = |number: usize| {
        let mut node = Node::clone(&node);
        let classification = node.classification.as_mut().unwrap();
        classification.findings = format!("version {number}\n{}", "The same line.\n".repeat(60_000));
        Happening::Edited(Arc::new(node))
    };
    let versions = [version(1), version(2)];
    let entry = input.history[0].clone();
    for number in 0..30 {
        let happenings = vec![versions[number % 2].clone()];
        input.history.insert(0, HistoryEntry { happenings, ..entry.clone() });
    }
    let report = model::Report::of(&input);
    let (_, page) = report.history.pages().next().unwrap();
    let edits = || page.entries[..29].iter().map(|entry| &entry.happenings[0]);
    let compared: Vec<usize> = edits().map(|edit| edit.changes.len()).collect();
    assert!((2..6).contains(&compared.iter().sum::<usize>()), "{compared:?}");
    assert_eq!(edits().next().unwrap().wrote, ["findings, 60001 lines"]);
}

#[test]
fn the_first_page_of_the_history_tells_where_something_is_left_out() {
    let mut input = sample();
    assert!(!page(&render(std::slice::from_ref(&input)), "history.html").contains("shown in part"));
    let oldest = input.history.last_mut().unwrap();
    oldest.gaps.push("What came before is not there.".to_owned());
    let place = format!("href=\"history.html#c-{}\"", &oldest.commit.to_string()[..10]);
    let page = page(&render(&[input]), "history.html");
    let (head, entries) = page.split_once("<div class=\"timeline\">").unwrap();
    assert!(head.contains("1 commit is shown only in part") && head.contains(&place), "{head}");
    assert!(entries.contains("What came before is not there."));
}
