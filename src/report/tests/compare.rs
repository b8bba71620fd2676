//! Tests of the page that compares two commits.

use super::*;

/// Renders the page that compares two states.
fn compared(before: &ReportInput, after: &ReportInput, relation: Relation) -> String {
    let comparison = Comparison {
        before: before.snapshot.clone(),
        relation,
        names: ["ended/1".to_owned(), "HEAD".to_owned()],
    };
    let contents =
        SiteContents { inputs: vec![after.clone()], comparison: Some(comparison), ..SiteContents::default() };
    let files = site(&contents, &Templates::load(&SiteOptions::default()).unwrap()).unwrap();
    assert!(page(&files, "index.html").contains("<a href=\"compare.html\">Changes</a>"));
    page(&files, "compare.html")
}

/// Returns the input with changed nodes. `with` returns the new form of each node.
fn with_nodes(input: &ReportInput, with: impl FnMut(Node) -> Option<Node>) -> ReportInput {
    let old = input.snapshot.investigation.as_ref();
    let nodes = old.nodes().map(|node| node.as_ref().clone()).filter_map(with).map(Arc::new);
    let (new, faults) = Investigation::from_facts(old.meta().clone(), nodes, old.conclusion().cloned());
    assert!(faults.is_empty(), "{faults:?}");
    let mut changed = input.clone();
    changed.snapshot.investigation = Arc::new(new);
    changed.snapshot.head = "00112233445566778899aabbccddeeff00112233".parse().unwrap();
    changed
}

fn only(id: &'static str, change: impl Fn(&mut Node)) -> impl FnMut(Node) -> Option<Node> {
    move |mut node| {
        if node.id.as_str() == id {
            change(&mut node);
        }
        Some(node)
    }
}

/// Returns the sample before its last reclassification.
pub(super) fn before_a_reclassification() -> ReportInput {
    let last_one_undone = only("R2.A3", |node| {
        node.classification.as_mut().unwrap().reclassified.pop();
    });
    with_nodes(&sample(), last_one_undone)
}

fn section<'p>(page: &'p str, id: &str) -> &'p str {
    let start = page.find(&format!("<h2 id=\"{id}\"")).unwrap_or_else(|| panic!("no section {id} in {page}"));
    page[start..].split("</section>").next().unwrap()
}

#[test]
fn the_same_state_has_nothing_to_compare() {
    let page = compared(&sample(), &sample(), Relation::Same);
    assert!(
        page.contains("Both sides are the same commit.") && page.contains("No other differences."),
        "{page}"
    );
}

#[test]
fn what_was_added_committed_and_withdrawn_is_said() {
    let after = unfinished();
    let before = with_nodes(&after, |mut node| match node.id.as_str() {
        "R2.A1" => {
            node.classification = None;
            Some(node)
        }
        "R2.A2" => None,
        _ => Some(node),
    });
    let page = compared(&before, &after, Relation::Forward);
    let committed = section(&page, "committed");
    assert!(committed.contains("R2.A1.html") && committed.contains("Previously a proposal."));
    assert!(section(&page, "proposed").contains("nodes/R2.A2.html"));

    let page = compared(&after, &before, Relation::Forward);
    let gone = section(&page, "gone");
    assert!(gone.contains("What the cloud offers") && gone.contains("withdrawn"), "{gone}");
    assert!(!gone.contains("href"), "a node that is gone has no page");
    assert!(section(&page, "changed").contains("a proposal again"));

    let without_result = with_nodes(&sample(), |node| (node.id.as_str() != "R5.A1a1v").then_some(node));
    let page = compared(&sample(), &without_result, Relation::Forward);
    assert!(section(&page, "gone").contains("agents can’t remove explored nodes"));
    let verdict = section(&page, "verdict");
    assert!(
        verdict.contains("2 answers: 1 confirmed by another agent, same session, 1 not checked.")
            && verdict.contains("2 answers: all not checked.")
    );
    let verdict = section(&page, "answers");
    assert!(
        verdict.contains("</a>: confirmed by another agent, same session <")
            && verdict.contains("<b>not checked</b>"),
        "{verdict}"
    );
}

#[test]
fn a_reclassification_is_told_with_its_reason_and_not_as_an_edit() {
    let before = before_a_reclassification();
    let page = compared(&before, &sample(), Relation::Forward);
    let reclassified = section(&page, "reclassified");
    assert!(reclassified.contains("The trace shows a second path"), "{reclassified}");
    assert!(!reclassified.contains("Round trips did not change."), "that was known before");
    assert!(!page.contains("id=\"changed\""));
    // In this direction the step disappears, which counts as an edit of the list.
    let page = compared(&sample(), &before, Relation::Backward);
    assert!(!page.contains("id=\"reclassified\"") && section(&page, "changed").contains("Changes of state"));
    assert!(page.contains("The second commit is older than the first."));
}

#[test]
fn every_field_of_a_node_that_was_edited_is_shown() {
    let after = with_nodes(
        &sample(),
        only("R2.A1", |node| {
            node.title = "Another title".to_owned();
            node.planned_action.push_str(" And more.");
            let result = node.classification.as_mut().unwrap();
            result.state = "DEAD".parse().unwrap();
            result.requested_state = Some("FOUND".parse().unwrap());
            result.agent_id = None;
            result.committed_at = time(500);
            result.findings = result.findings.replace("94 %", "49 %");
            result.evidence = Some("A log.".to_owned());
            result.verification_method = Some("Read it.".to_owned());
            result.alternatives_considered = vec!["None".to_owned()];
            result.warnings =
                vec![Warning { code: Code::parse("SUSPICIOUS"), message: "Too fast.".to_owned() }];
        }),
    );
    let page = compared(&sample(), &after, Relation::Forward);
    let changed = section(&page, "changed");
    for field in [
        "Title",
        "What was planned",
        "State as committed",
        "Asked for",
        "Agent",
        "Committed",
        "Findings",
        "Evidence",
        "How the author checked it",
        "Alternatives considered",
        "Warnings",
    ] {
        assert!(changed.contains(&format!("<dt>{field}</dt>")), "{field} is missing in {changed}");
    }
    assert!(changed.contains("<mark>94</mark>") && changed.contains("<mark>49</mark>"), "{changed}");
    assert!(changed.contains("<ins dir=\"auto\">SUSPICIOUS: Too fast.</ins>"));
}

#[test]
fn conclusion_ruleset_facts_and_faults_are_compared() {
    let before = with_nodes(&sample(), Some);
    let mut after = sample();
    let old = after.snapshot.investigation.as_ref().clone();
    let mut end = old.conclusion().unwrap().clone();
    end.conclusion = end.conclusion.map(|text| text.replace("four minutes", "five minutes"));
    let meta = Meta { query: "Another question?".to_owned(), ..old.meta().clone() };
    let nodes: Vec<Arc<Node>> = old.nodes().cloned().collect();
    after.snapshot.investigation =
        Arc::new(Investigation::from_facts(meta.clone(), nodes.clone(), Some(end)).0);
    let file = builtin::all()[0].clone();
    let text = file.text.replacen("from_round: 4", "from_round: 3", 1);
    after.snapshot.ruleset =
        Ok(Arc::new(crate::ruleset::RulesetFile { text: format!("# Edited.\n{text}"), ..file }));
    after.snapshot.faults.push(Fault::new("nodes/R9/R9.X.yaml", Some(2), "no id"));
    let page = compared(&before, &after, Relation::Forward);
    assert!(section(&page, "conclusion").contains("Conclusion: changed"));
    assert!(section(&page, "conclusion").contains("<mark>five</mark>"), "{}", section(&page, "conclusion"));
    assert!(section(&page, "ruleset").contains("# Edited."));
    assert!(section(&page, "facts").contains("Another question?"));
    assert!(section(&page, "fault-changes").contains("<b>New:</b> nodes/R9/R9.X.yaml:2: no id"));

    let mut open = sample();
    open.snapshot.investigation = Arc::new(Investigation::from_facts(meta, nodes, None).0);
    assert!(
        section(&compared(&open, &sample(), Relation::Forward), "conclusion").contains("Conclusion: ended")
    );
    assert!(section(&compared(&sample(), &open, Relation::Forward), "conclusion").contains("reopened"));

    let mut broken = sample();
    broken.snapshot.ruleset = Err(Fault::new("ruleset.yaml", Some(3), "no states"));
    let page = compared(&sample(), &broken, Relation::Forward);
    assert!(section(&page, "ruleset").contains("ruleset.yaml:3: no states"));
    assert!(section(&page, "verdict").contains("unknown"));
}

#[test]
fn two_branches_are_no_earlier_and_later() {
    let page = compared(
        &unfinished(),
        &with_nodes(&unfinished(), |node| (node.id.as_str() != "R2.A2").then_some(node)),
        Relation::Diverged,
    );
    assert!(page.contains("The commits are on two branches"));
    assert!(!section(&page, "gone").contains("withdrawn"), "nobody took it back");
}

#[test]
fn what_strangers_write_stays_text_when_it_is_compared() {
    const EVIL: &str =
        "</title><script>alert(1)</script>\"'><img src=x onerror=alert(1)> {{ 1111*1111 }} \u{202e}gpj";
    let evil = all_texts(EVIL);
    for (before, after) in [(&sample(), &evil), (&evil, &sample()), (&evil, &empty())] {
        let page = compared(before, after, Relation::Diverged);
        for forbidden in ["<script>", "<img", "onerror=alert(1)>", "1234321", "\u{202e}"] {
            assert!(!page.contains(forbidden), "{forbidden} in {page}");
        }
    }
}

/// Returns the sample, ended both before and after its last reclassification.
pub(super) fn ended_twice() -> ReportInput {
    let end = |number: u32, input: ReportInput| EndedState {
        name: format!("ended/{number}"),
        snapshot: input.snapshot,
    };
    // A proposal that was removed later.
    let mut before = before_a_reclassification();
    let old = before.snapshot.investigation.as_ref();
    let proposal = pending("R2.A9", "A way that was withdrawn", "Look there.");
    let proposal = Node { parent: Some("R1.A".parse().unwrap()), ..proposal };
    let nodes = old.nodes().cloned().chain([Arc::new(proposal)]);
    let (investigation, faults) =
        Investigation::from_facts(old.meta().clone(), nodes, old.conclusion().cloned());
    assert!(faults.is_empty(), "{faults:?}");
    before.snapshot.investigation = Arc::new(investigation);
    let mut after = sample();
    let facts = Arc::unwrap_or_clone(after.snapshot.investigation);
    let mut conclusion = Conclusion::clone(facts.conclusion().unwrap());
    conclusion.not_covered = vec!["The other zone.".to_owned()];
    conclusion.answers[0].role = BoundAs::Part;
    after.snapshot.investigation = Arc::new(facts.with(&[Change::Concluded(Arc::new(conclusion))]));
    ReportInput { ends: vec![end(1, before), end(2, after.clone())], ..after }
}

#[test]
fn what_changed_from_one_end_to_the_next_has_a_page() {
    let files = render(&[ended_twice()]);
    assert!(page(&files, "history.html").contains("<a href=\"ended-1-2.html\">"));
    let page = page(&files, "ended-1-2.html");
    assert!(page.contains("From <b class=\"break\">ended/1</b> to <b class=\"break\">ended/2</b>"), "{page}");
    assert!(section(&page, "reclassified").contains("nodes/R2.A3.html"));
    let conclusion = section(&page, "conclusion");
    for shown in
        ["R4.A1a1 (answer)", "R4.A1a1 (part of the answer)", "<dt>Not covered</dt>", "The other zone."]
    {
        assert!(conclusion.contains(shown), "{shown}: {conclusion}");
    }
    // The removed proposal no longer has a page.
    assert!(section(&page, "gone").contains("R2.A9") && !page.contains("nodes/R2.A9"));
    let once = ReportInput { ends: Vec::new(), ..ended_twice() };
    assert!(!render(&[once]).contains_key("ended-1-2.html"));
}

/// The page once said that there were no other answers, next to an answer that it called possible.
#[test]
fn a_rival_of_the_conclusion_is_among_what_is_also_possible() {
    let mut input = sample();
    let before = sample().snapshot;
    let rules = before.rules();
    let facts = Investigation::clone(&input.snapshot.investigation);
    let mut conclusion = Conclusion::clone(facts.conclusion().unwrap());
    let answers = rules.iter().flat_map(|rules| rules.answers(&facts)).zip([BoundAs::Main, BoundAs::Rival]);
    conclusion.answers = answers.map(|(node, role)| BoundAnswer { id: node.id.clone(), role }).collect();
    assert_eq!(conclusion.answers.len(), 2);
    input.snapshot.investigation = Arc::new(facts.with(&[Change::Concluded(Arc::new(conclusion))]));
    let index = page(&render(&[input]), "index.html");
    let rivals = section(&index, "rivals");
    assert!(rivals.contains("title=\"R4.A3c1\"") && rivals.contains("not checked</b>"), "{rivals}");
}
