//! Claims, through the server and the person's command.

use insta::assert_snapshot;
use serde_json::json;

use crate::support::{Sandbox, Session, TOT, codes, node, result};

#[test]
fn two_agents_share_the_work_and_nothing_that_was_researched_is_lost() {
    let sandbox = Sandbox::new();
    let mut session = Session::begun(&sandbox);
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

    sandbox.sleep(60);
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

    let repository = session.repository();
    let id = session.id.clone();
    session.server.finish();
    let tot = |arguments: &[&str]| {
        let said = sandbox.run(TOT, arguments);
        (said.status, said.out + &said.err)
    };
    // By the clock of the machine, the claim of the story is over long since.
    let (status, said) = tot(&["next", "--claim", "-i", &id[..8], "R2.A2", "--as", "b"]);
    assert_eq!((status, said.starts_with("R2.A2 Title of R2.A2: claimed by b until ")), (0, true), "{said}");
    let (status, refused) = tot(&["next", "--claim", "-i", &id, "R2.A2", "--as", "me"]);
    assert_eq!(status, 1);
    assert!(refused.starts_with("tot next: R2.A2 is claimed by `b` until "), "{refused}");
    assert_eq!(tot(&["next", "--release", "R2.A2"]), (0, "R2.A2 Title of R2.A2: free\n".to_owned()));
    assert_eq!(tot(&["next", "--claim", "R2.A2", "--as", "me", "--for", "5"]).0, 0);
    let (_, said) = tot(&["next", "--release", "R2.A2", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!(document["nodes"], json!([{"nodeId": "R2.A2"}]));
    assert_eq!(document["commit"], sandbox.head(&repository));

    sandbox.assert_sound(&repository);
    assert_snapshot!(sandbox.git(&repository, &["log", "--reverse", "--format=%s%n%(trailers:only)"]));
    assert_eq!(tot(&["check"]).0, 0);
}
