//! `tot diff --markdown`: the changes in a pull request for an investigation.

use insta::assert_snapshot;
use serde_json::json;

use crate::support::{Sandbox, Session, TOT, node, result};

#[test]
fn what_came_between_two_commits_is_told_in_markdown() {
    let sandbox = Sandbox::new();
    let mut session = Session::start(&sandbox, json!({"mode": "smoke", "allowEarlyTerminal": true}));
    session.grow(&[("R1.A", None)], "EXPLORE");
    let before = sandbox.head(&session.repository());
    session.ok("tot_propose", json!({"nodes": [node("R2.A1", Some("R1.A")), node("R2.A2", Some("R1.A")), node("R2.A3", Some("R1.A"))]}));
    sandbox.sleep(60);
    let mut found = result("R2.A1", "FOUND");
    found["evidence"] = json!("The spectrum that we measured falls with the fourth power of the wavelength.");
    found["headline"] = json!("Small *particles* <scatter> @short waves more.");
    session.ok("tot_commit", json!({"results": [found, result("R2.A2", "EXPLORE")]}));
    let change = json!({"nodeId": "R2.A2", "newState": "DEAD", "reason": "All was tried."});
    session.ok("tot_reclassify", change);
    session.ok("tot_propose", json!({"withdraw": ["R2.A3"]}));
    session.call("tot_end", json!({"conclusion": "Air scatters.", "stopped": {"reason": "enough"}}));
    let diff = |what: &[&str]| {
        let mut command = sandbox.command(TOT);
        command.args(["diff", "--markdown"]).args(what).current_dir(session.repository());
        let output = command.output().unwrap();
        (output.status.code().unwrap(), String::from_utf8([output.stdout, output.stderr].concat()).unwrap())
    };
    let (status, page) = diff(&[&format!("{before}..HEAD")]);
    assert_eq!(status, 0, "{page}");
    assert_snapshot!(page.replace(&before, "BEFORE"));
    assert!(diff(&["HEAD..HEAD"]).1.contains("Nothing in the investigation changed."));
    assert_eq!(diff(&["HEAD"]).0, 2);
    assert_eq!(diff(&["nothing..HEAD"]).0, 1);
}
