//! Comments by people and agents: through commands, the tool and an editor. How they are merged is tested with the merge.

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::Machine;
use crate::support::{Sandbox, Session};

#[test]
fn a_person_objects_an_agent_answers_and_a_person_resolves() {
    let one = Machine::new(&Sandbox::new(), "one");
    let id = one.start();
    one.grow(&id, &["R2.A1"]);
    let objection = one.json(&["object", "R2.A1", "-m", "The cache was *warm*."])["commentId"].clone();
    let objection = objection.as_str().unwrap();
    let log = one.git(&id, &["log", "-1", "--format=%an%n%B"]);
    // The checksum covers a random id.
    let log = log.split("Tot-Checksum").next().unwrap();
    let file = one.read(&id, &format!("comments/{objection}.yaml"));
    let at = file.lines().find(|line| line.starts_with("at: ")).unwrap().to_owned();
    assert_snapshot!(format!("{log}\n{}", file.replace(objection, "OBJECTION").replace(&at, "at: TIME")));

    let mut server = one.server();
    let plan = server.ok("tot_next", json!({"sessionId": id}));
    assert_eq!(plan["nextCall"]["tool"], "tot_comment", "{plan}");
    let mut answer = plan["nextCall"]["arguments"].clone();
    assert_eq!(answer["replyTo"], json!(objection));
    let message = plan["message"].as_str().unwrap();
    assert!(message.contains("Tester (a person) objects to R2.A1: “The cache was *warm*”"), "{message}");
    assert_eq!(server.refused("tot_comment", answer.clone()), ["INVALID_ARGUMENT"]);
    answer["text"] = json!("It was run again, cold: 4 s.");
    answer["agentId"] = json!("agent-R2.A1");
    let said = server.ok("tot_comment", answer.clone());
    assert!(said["commentId"].is_string() && said["commit"].is_string(), "{said}");
    let again = server.ok("tot_comment", answer.clone());
    assert!(again["commentId"].is_null() && again["commit"].is_null(), "{again}");
    answer["kind"] = json!("resolution");
    assert_eq!(server.refused("tot_comment", answer), ["RESOLVED_BY_AUTHOR"]);
    let read = server.ok("tot_read", json!({"sessionId": id, "nodeIds": ["R2.A1"]}));
    // The server's clock is simulated, so the order of these times means nothing.
    let comments = read["nodes"][0]["comments"].as_array().unwrap().iter();
    let mut kinds: Vec<Value> = comments.map(|it| json!([it["kind"], it["by"]["kind"]])).collect();
    kinds.sort_by_key(Value::to_string);
    assert_eq!(kinds, [json!(["answer", "agent"]), json!(["objection", "person"])]);
    server.finish();

    let said = one.ok(&["resolve", "R2.A1", "-m", "Seen."]);
    assert!(said.starts_with("resolution ") && said.ends_with(" on R2.A1; no objection is open\n"), "{said}");
    let none = one.refuses(&["resolve", "R2.A1", "-m", "Seen."], &[]);
    assert_eq!(none.err, "tot resolve: There is no open objection or correction `R2.A1`.\n");
    one.assert_sound(&id);
}

/// Where the verdict alone does not say so. `surfaces.rs` compares the verdicts.
#[test]
fn a_contested_answer_is_called_so_by_tools_and_on_the_page() {
    let mut session = Session::grown(&Sandbox::new(), &["R2.A1"], "FOUND");
    let text = "It was another day.";
    let objection = json!({"nodeId": "R1.A", "kind": "objection", "text": text, "agentId": "x"});
    let comment = session.ok("tot_comment", objection)["commentId"].clone();
    let read = session.ok("tot_read", json!({"nodeIds": ["R2.A1"]}));
    assert_eq!(read["nodes"][0]["verdict"]["contestedBy"], json!([comment]));
    session.ok("tot_end", json!({"conclusion": "It was the cache.", "stopped": {"reason": "enough"}}));
    let readme = session.text("README.md");
    assert!(readme.contains("**1 open objection; 1 answer contested by that:**"), "{readme}");
}
