//! Two results for one proposal, combined by a merge.

use std::sync::Arc;

use insta::assert_snapshot;
use tree_of_thoughts::decide::next::{LegalCall, Next, next};
use tree_of_thoughts::decide::reclassify::Reclassify;
use tree_of_thoughts::decide::standing::contested;
use tree_of_thoughts::domain::{Change, Classification, Code, Node};
use tree_of_thoughts::service::check::check_facts;

use crate::support::table::{Table, found, told, worded};

#[test]
fn results_that_differ_keep_the_end_away_until_somebody_decides() {
    let mut table = Table::in_mode("single-root", "smoke");
    table.propose(&[("R1.A", "")]);
    table.sleep(60);
    table.try_commit(vec![found("R1.A", "EXPLORE")]).unwrap();
    let mut node = Node::clone(table.node("R1.A"));
    let result = node.classification.as_mut().unwrap();
    result.other_results.push(Classification::new("DEAD".parse().unwrap(), "It does not hold.", table.now));
    table.investigation = table.investigation.with(&[Change::Node(Arc::new(node))]);
    assert_snapshot!(
        told(&contested(&table.investigation)),
        @"CONTESTED R1.A: R1.A has differing results: EXPLORE and DEAD. Read both results with tot_read, then use tot_reclassify to set the correct state, even if it is the current one."
    );
    let refused = table.try_end().unwrap_err();
    assert!(told(&refused.errors).contains("CONTESTED"), "{refused}");
    let plan = next(&table.investigation, &table.rules(), &Next::default(), table.now).unwrap();
    let next_call = plan.next_call.unwrap();
    worded(&next_call.reason);
    assert!(matches!(next_call.call, LegalCall::Reclassify(step) if step.node.as_str() == "R1.A"));
    // Naming the current state also decides; repeating the call changes nothing.
    let request = Reclassify {
        node_id: "R1.A".into(),
        new_state: "EXPLORE".into(),
        reason: Some("I repeated both.".into()),
        ..Reclassify::default()
    };
    assert!(table.try_reclassify(request.clone()).unwrap().event.is_some());
    assert!(contested(&table.investigation).is_empty());
    assert!(table.try_reclassify(request).unwrap().event.is_none());
    // The decision is not reported as a problem in its files.
    let found = check_facts(table.investigation.clone(), &table.ruleset);
    assert!(found.iter().all(|finding| finding.code != Code::ReclassifiedChain), "{found:?}");
}
