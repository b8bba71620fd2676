//! Claims on pending proposals.

use insta::assert_snapshot;
use tree_of_thoughts::decide::claim::{Claimant, claim, release};
use tree_of_thoughts::decide::commit::NodeResult;
use tree_of_thoughts::decide::next::{LegalCall, Next, Plan, claim_next, next};
use tree_of_thoughts::decide::standing::contested;
use tree_of_thoughts::domain::{Claim, NodeId};

use crate::support::table::{Table, found, said, told};

/// Two proposals below a root.
fn table() -> Table {
    let mut table = Table::in_mode("single-root", "smoke");
    table.grow(&[("R1.A", "", "EXPLORE")]);
    table.propose(&[("R2.A1", "R1.A"), ("R2.A2", "R1.A")]);
    table.sleep(60);
    table
}

fn of(agent: &str) -> Next {
    Next { agent_id: Some(agent.into()), max_tasks: Some(1), ..Next::default() }
}

impl Table {
    fn claim_next(&mut self, agent: &str) -> String {
        let decision = claim_next(&self.investigation, &self.rules(), &of(agent), Some(30), self.now);
        said(decision.map(|decision| self.apply(decision)))
    }

    fn claim(&mut self, agent: &str, nodes: &[&str], minutes: u32) -> String {
        let nodes: Vec<NodeId> = nodes.iter().map(|id| id.parse().unwrap()).collect();
        let claimant = Claimant { agent_id: Some(agent.into()), minutes: Some(minutes) };
        said(claim(&self.investigation, &nodes, &claimant, self.now).map(|decision| self.apply(decision)))
    }

    fn plan(&self, agent: &str) -> Plan {
        next(&self.investigation, &self.rules(), &of(agent), self.now).unwrap()
    }

    fn taken(&self, id: &str) -> Option<&str> {
        self.node(id).claim.as_ref().map(|claim| claim.agent_id.as_str())
    }
}

fn ids(plan: &Plan) -> Vec<&str> {
    plan.pending.iter().map(|task| task.id.as_str()).collect()
}

#[test]
fn each_agent_gets_what_nobody_else_has() {
    let mut table = table();
    assert_eq!(table.claim_next("a"), "");
    assert_eq!(table.taken("R2.A1"), Some("a"));
    assert_eq!(ids(&table.plan("b")), ["R2.A2"]);
    assert_eq!(table.plan("b").claimed[0].0.as_str(), "R2.A1");
    assert_eq!(ids(&table.plan("a")), ["R2.A1"], "what it has comes first");
    table.claim_next("b");
    assert_eq!((table.taken("R2.A1"), table.taken("R2.A2")), (Some("a"), Some("b")));
    // No task is left: the third agent waits instead of extending the tree.
    let waiting = table.plan("c");
    assert_eq!((waiting.next_call, waiting.pending, waiting.claimed.len()), (None, Vec::new(), 2));
    table.claim_next("c");
    assert_eq!((table.taken("R2.A1"), table.taken("R2.A2")), (Some("a"), Some("b")));
    // An expired claim has no effect.
    table.sleep(31 * 60);
    assert_eq!(ids(&table.plan("c")), ["R2.A1"]);
    table.claim_next("c");
    assert_eq!(table.taken("R2.A1"), Some("c"));
}

#[test]
fn who_asks_again_writes_nothing_until_half_of_the_time_is_over() {
    let mut table = table();
    table.claim_next("a");
    let before: Claim = table.node("R2.A1").claim.clone().unwrap();
    table.sleep(14 * 60);
    let again = claim_next(&table.investigation, &table.rules(), &of("a"), Some(30), table.now);
    assert_eq!(again.unwrap().event, None);
    table.sleep(2 * 60);
    table.claim_next("a");
    let after = table.node("R2.A1").claim.clone().unwrap();
    assert_eq!((after.at, after.until), (before.at, table.now.plus_minutes(30)));
}

#[test]
fn what_another_has_is_refused_by_name_and_can_be_released() {
    let mut table = table();
    assert_eq!(table.claim("a", &["R2.A1"], 60), "");
    assert_snapshot!(
        table.claim("b", &["R2.A1", "R2.A2", "R1.A"], 60),
        @r"
    CLAIMED_BY_OTHER R2.A1: R2.A1 is claimed by `a` until 2026-01-05T10:02:00.000Z.
    NOT_PROPOSED R1.A: `R1.A` is not a pending proposal. Only pending proposals can be claimed: tot_status lists them.
    "
    );
    assert_eq!(table.taken("R2.A2"), None, "all or nothing");
    assert_snapshot!(
        table.claim("b", &["R2.A2"], 0),
        @"INVALID_ARGUMENT: A claim can't last 0 minutes. Claim for 1 to 10080 minutes."
    );
    assert_snapshot!(
        table.claim(" ", &["R2.A2"], 1),
        @"INVALID_ARGUMENT: The claim has no agentId. Give the agentId that the result will have."
    );
    let free = release(&table.investigation, &["R2.A1".parse().unwrap()]).unwrap();
    table.apply(free);
    assert_eq!(table.claim("b", &["R2.A1"], 60), "");
    // After a new proposal, the node is still claimed.
    table.propose(&[("R2.A1", "R1.A")]);
    assert_eq!(table.taken("R2.A1"), Some("b"));
}

#[test]
fn a_result_for_what_another_has_claimed_is_stored_with_a_warning_and_answers_the_claim() {
    let mut table = table();
    table.claim("a", &["R2.A1"], 60);
    assert_snapshot!(
        table.commit(&[("R2.A1", "EXPLORE")]),
        @r"
    CLAIMED_BY_OTHER R2.A1: R2.A1 is claimed by `a` until 2026-01-05T10:02:00.000Z.
    INCOMPLETE_EXPLORE R2.A1: R2.A1 needs 1 child, and has 0.
    "
    );
    assert_eq!(table.taken("R2.A1"), None);
    let own = found("R2.A2", "EXPLORE").agent_id.unwrap();
    table.claim(&own, &["R2.A2"], 60);
    assert!(!table.commit(&[("R2.A2", "EXPLORE")]).contains("CLAIMED_BY_OTHER"));
    assert_eq!(table.taken("R2.A2"), None);
}

#[test]
fn a_late_result_that_comes_with_a_claim_is_kept_beside_the_first() {
    let mut table = table();
    table.claim("a", &["R2.A1"], 60);
    table.commit(&[("R2.A1", "EXPLORE")]);
    let late = NodeResult { agent_id: Some("a".into()), ..found("R2.A1", "DEAD") };
    assert_snapshot!(
        said(table.try_commit(vec![late.clone()])),
        @"NOT_PROPOSED R2.A1: R2.A1 is already committed as EXPLORE. If you had claimed it, give `claimed: true` to store your result next to it; to change its state, use tot_reclassify. Pending: R2.A2."
    );
    let late = NodeResult { claimed: true, ..late };
    let said_of_it = said(table.try_commit(vec![late.clone()]));
    assert_eq!(said_of_it, "INCOMPLETE_EXPLORE R2.A1: R2.A1 needs 1 child, and has 0.");
    assert_eq!(table.state("R2.A1"), "EXPLORE");
    let first = table.node("R2.A1").classification.clone().unwrap();
    assert_eq!(first.other_results[0].agent_id.as_deref(), Some("a"));
    assert_eq!(first.newest().state.as_str(), "DEAD");
    assert!(told(&contested(&table.investigation)).contains("EXPLORE and DEAD"));
    let plan = next(&table.investigation, &table.rules(), &Next::default(), table.now).unwrap();
    assert!(matches!(plan.next_call.unwrap().call, LegalCall::Commit(_)), "what is pending comes first");
    // The same call is refused the second time.
    assert!(said(table.try_commit(vec![late])).starts_with("NOT_PROPOSED"));
    assert_eq!(table.node("R2.A1").classification.as_ref().unwrap().other_results.len(), 1);
}
