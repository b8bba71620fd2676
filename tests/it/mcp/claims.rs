//! Claims, through the server.

use insta::assert_snapshot;
use serde_json::json;

use crate::support::{Sandbox, Session, TOT, TOT_MCP, codes, node, result};

#[test]
fn two_agents_share_the_work_and_nothing_that_was_researched_is_lost() {
    let mut session = Session::begun(&Sandbox::new());
    session.ok("tot_propose", json!({"nodes": [node("R2.A1", Some("R1.A")), node("R2.A2", Some("R1.A"))]}));
    let claim = |agent: &str| json!({"claim": true, "agentId": agent, "maxTasks": 1, "ttlMinutes": 30});
    let taken = session.ok("tot_next", claim("a"));
    assert!(taken["commit"].is_string(), "{taken}");
    assert_eq!(taken["nextCall"]["arguments"]["results"], json!([{"nodeId": "R2.A1"}]));
    let other = session.ok("tot_next", claim("b"));
    assert_eq!(other["tasks"][0]["nodeId"], "R2.A2");
    assert_eq!(other["claimed"][0]["nodeId"], "R2.A1");
    assert_eq!(other["claimed"][0]["agentId"], "a");
    let idle = session.ok("tot_next", json!({}));
    assert!(idle["nextCall"].is_null(), "{idle}");
    assert!(idle["message"].as_str().unwrap().contains("claim of a on R2.A1"), "{idle}");
    assert!(idle["commit"].is_null(), "{idle}");

    session.sandbox.sleep(60);
    let first = session.ok("tot_commit", json!({"results": [result("R2.A1", "EXPLORE")]}));
    assert!(codes(&first["warnings"]).contains(&"CLAIMED_BY_OTHER".to_owned()), "{first}");
    let mut late = result("R2.A1", "DEAD");
    late["agentId"] = json!("a");
    assert_eq!(session.refused("tot_commit", json!({"results": [late]})), ["NOT_PROPOSED"]);
    late["claimed"] = json!(true);
    let late = session.ok("tot_commit", json!({"results": [late]}));
    assert_eq!(late["committed"], json!([{"nodeId": "R2.A1", "state": "EXPLORE", "requestedState": "DEAD"}]));
    assert!(late["owed"].to_string().contains("CONTESTED"), "{late}");
    let read = session.ok("tot_read", json!({"nodeIds": ["R2.A1"]}));
    assert_eq!(read["nodes"][0]["otherResults"][0]["agentId"], "a");

    // Only its own session proposes a node again.
    let proposal = json!({"nodes": [node("R2.A2", Some("R1.A"))]});
    let mut command = session.sandbox.command(TOT_MCP);
    command.env("CLAUDE_CODE_SESSION_ID", "session-2");
    let mut other = Session::of(&session.sandbox, session.sandbox.serve(command), &session.id);
    assert_eq!(other.refused("tot_propose", proposal), ["DUPLICATE_ID"]);

    session.assert_sound();
    assert_snapshot!(session.git(&["log", "--reverse", "--format=%s%n%(trailers:only)"]));
    assert_eq!(session.sandbox.run(TOT, &["check"]).status, 0);
    session.server.finish();
}
