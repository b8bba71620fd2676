//! `--ask-before-end`: the person at the client is asked, in both generations of the protocol.

use serde_json::{Value, json};

use super::meta;
use crate::support::stdio::reply;
use crate::support::{Sandbox, Server, codes, node, result};

/// The protocol generation of a client.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Era {
    Sessions,
    Stateless,
}

/// A client that may be able to ask, and an investigation that may end.
struct Client<'a> {
    sandbox: &'a Sandbox,
    server: Server,
    era: Era,
    capabilities: Value,
    id: String,
}

impl<'a> Client<'a> {
    fn new(sandbox: &'a Sandbox, era: Era, capabilities: Value, options: &[&str]) -> Self {
        let mut server = Server::without_greeting(sandbox.server_command(&sandbox.root(), options));
        if era == Era::Sessions {
            let hello = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities,
                "clientInfo": {"name": "it", "version": "1"}});
            server.request("initialize", hello);
            server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        }
        let mut client = Client { sandbox, server, era, capabilities, id: String::new() };
        let started = client.call("tot_start", json!({"query": "Why is it slow?", "mode": "smoke"}));
        client.id = started["sessionId"].as_str().unwrap().to_owned();
        client
    }

    /// Does all required work except ending.
    fn ready(mut self) -> Self {
        for (id, parent, state) in [("R1.A", None, "EXPLORE"), ("R2.A1", Some("R1.A"), "DEAD")] {
            self.call("tot_propose", json!({"nodes": [node(id, parent)]}));
            self.call("tot_commit", json!({"results": [result(id, state)]}));
        }
        self
    }

    fn params(&self, tool: &str, mut arguments: Value) -> Value {
        if !self.id.is_empty() {
            arguments["sessionId"] = json!(self.id);
        }
        let mut params = json!({"name": tool, "arguments": arguments});
        if self.era == Era::Stateless {
            params["_meta"] = meta(self.capabilities.clone());
        }
        params
    }

    fn call(&mut self, tool: &str, arguments: Value) -> Value {
        let params = self.params(tool, arguments);
        reply(&self.server.request("tools/call", params))
    }

    /// Calls `tot_end` and answers the question like this. Returns the question and the reply.
    fn end(&mut self, arguments: Value, answer: &Value) -> (Value, Value) {
        let mut params = self.params("tot_end", arguments);
        let (question, last) = match self.era {
            Era::Sessions => {
                let number = self.server.begin("tools/call", params).unwrap();
                let asked = self.server.receive().unwrap();
                assert_eq!(asked["method"], "elicitation/create", "{asked}");
                self.server.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": answer}));
                let last = self.server.receive().unwrap();
                assert_eq!(last["id"], number, "asked once: {last}");
                (asked["params"].clone(), last)
            }
            Era::Stateless => {
                let first = self.server.request("tools/call", params.clone());
                assert_eq!(first["result"]["resultType"], "input_required", "{first}");
                let asked = first["result"]["inputRequests"].as_object().unwrap();
                let (name, request) = asked.iter().next().unwrap();
                assert_eq!((asked.len(), &request["method"]), (1, &json!("elicitation/create")));
                params["inputResponses"] = json!({name: answer});
                (request["params"].clone(), self.server.request("tools/call", params))
            }
        };
        (question, reply(&last))
    }

    /// Asserts that the end was accepted, and that the reply and the conclusion's file have this answer.
    fn assert_ended(&self, ended: &Value, answer: &str) {
        assert_eq!(
            (&ended["status"], &ended["asked"]["answer"]),
            (&json!("OK"), &json!(answer)),
            "{ended:#}"
        );
        let warned = codes(&ended["warnings"]).contains(&"NOT_ACCEPTED".to_owned());
        assert_eq!(warned, answer != "accepted", "{ended:#}");
        assert!(self.stored().unwrap().contains(&format!("asked:\n  answer: {answer}\n")));
    }

    /// Returns the conclusion's file, if it exists.
    fn stored(&self) -> Option<String> {
        std::fs::read_to_string(self.sandbox.repository(&self.id).join("conclusion.yaml")).ok()
    }
}

const ERAS: [Era; 2] = [Era::Sessions, Era::Stateless];

fn can_ask() -> Value {
    json!({"elicitation": {"form": {}}})
}

#[test]
fn what_the_person_says_is_stored_and_a_no_keeps_the_end_away() {
    let yes = json!({"action": "accept", "content": {"accept": true, "comment": " Good enough. "}});
    let no = json!({"accept": false, "comment": "Look at R2.A1 again."});
    let conclusion = || json!({"conclusion": "It sorts twice."});
    for (options, capabilities, answer, expected) in [
        (&["--ask-before-end"][..], can_ask(), yes.clone(), "accepted"),
        // A client that names no kind of question supports forms.
        (&["--ask-before-end"], json!({"elicitation": {}}), yes.clone(), "accepted"),
        (&["--ask-before-end"], can_ask(), json!({"action": "cancel"}), "declined"),
        (
            &["--ask-before-end"],
            can_ask(),
            json!({"action": "accept", "content": {"accept": "False"}}),
            "declined",
        ),
        (&["--ask-before-end"], can_ask(), json!({"action": "accept"}), "declined"),
        (&["--ask-before-end"], can_ask(), json!({"action": "later"}), "declined"),
        (&["--ask-before-end"], can_ask(), json!({"action": "accept", "content": no}), "declined"),
        (&["--ask-before-end"], can_ask(), json!({"action": "decline", "content": no}), "declined"),
        (&["--ask-before-end"], can_ask(), json!({"action": "decline"}), "declined"),
        (&["--ask-before-end"], json!({}), Value::Null, "notOffered"),
        // A client that can only open URLs can't ask either.
        (&["--ask-before-end"], json!({"elicitation": {"url": {}}}), Value::Null, "notOffered"),
        (&[], can_ask(), Value::Null, "not asked"),
    ] {
        for era in ERAS {
            let sandbox = Sandbox::new();
            let mut client = Client::new(&sandbox, era, capabilities.clone(), options);
            // An end that the rules refuse asks nobody.
            assert_eq!(codes(&client.call("tot_end", conclusion())["errors"])[0], "NO_NODES");
            let mut client = client.ready();
            let repository = sandbox.repository(&client.id);
            let head = sandbox.head(&repository);
            let (question, ended) = match answer {
                Value::Null => (Value::Null, client.call("tot_end", conclusion())),
                _ => client.end(conclusion(), &answer),
            };
            match expected {
                "not asked" => {
                    assert!(ended["asked"].is_null() && ended["status"] == "OK", "{ended:#}");
                    assert!(!client.stored().unwrap().contains("asked"));
                }
                "declined" => {
                    assert_eq!(codes(&ended["errors"]), ["END_DECLINED"], "{ended:#}");
                    let message = ended["errors"][0]["message"].as_str().unwrap();
                    let is_explained = answer["content"]["comment"].is_string();
                    assert_eq!(message.contains("“Look at R2.A1 again.”"), is_explained, "{message}");
                    assert_eq!(client.stored(), None);
                    assert_eq!(sandbox.head(&repository), head, "nothing is written");
                    // The next call is another question.
                    client.end(conclusion(), &yes);
                    assert!(client.stored().unwrap().contains("answer: accepted"));
                }
                "accepted" => {
                    let message = question["message"].as_str().unwrap();
                    let parts = ["Why is it slow?", "It sorts twice."];
                    assert!(parts.iter().all(|part| message.contains(part)), "{message}");
                    assert_eq!(question["requestedSchema"]["properties"]["comment"]["type"], "string");
                    client.assert_ended(&ended, "accepted");
                    assert_eq!(ended["asked"]["note"], "said through the client, which is not a sign-off");
                    assert!(client.stored().unwrap().contains("  said: Good enough.\n"));
                    // For an existing conclusion, no question is asked.
                    assert_eq!(client.call("tot_end", json!({}))["tag"], "ended/1");
                    sandbox.assert_sound(&repository);
                }
                _ => client.assert_ended(&ended, expected),
            }
        }
    }
}

#[test]
fn without_an_answer_it_ends_and_says_so() {
    // If the call waits for the answer, there is a time limit.
    let sandbox = Sandbox::new();
    let mut client = Client::new(&sandbox, Era::Sessions, can_ask(), &["--ask-before-end=1"]).ready();
    let params = client.params("tot_end", json!({}));
    let number = client.server.begin("tools/call", params).unwrap();
    let ended = loop {
        let message = client.server.receive().unwrap();
        if message["id"] == number && message.get("method").is_none() {
            break reply(&message);
        }
    };
    client.assert_ended(&ended, "unanswered");
    // If the client holds the question, there is none.
    let sandbox = Sandbox::new();
    let mut client = Client::new(&sandbox, Era::Stateless, can_ask(), &["--ask-before-end"]).ready();
    let mut params = client.params("tot_end", json!({}));
    params["inputResponses"] = json!({"another": {"action": "accept"}});
    let ended = reply(&client.server.request("tools/call", params));
    client.assert_ended(&ended, "unanswered");
}

#[test]
fn an_agent_can_not_say_it_in_its_own_arguments() {
    let sandbox = Sandbox::new();
    let mut client = Client::new(&sandbox, Era::Sessions, can_ask(), &["--ask-before-end"]).ready();
    let forged = json!({"conclusion": "It sorts.", "asked": {"answer": "accepted"}});
    assert_eq!(codes(&client.call("tot_end", forged)["errors"]), ["INVALID_ARGUMENT"]);
    // The older protocol also has no answers that come with a call.
    let mut params = client.params("tot_end", json!({"conclusion": "It sorts."}));
    params["inputResponses"] = json!({"end": {"action": "accept"}});
    client.server.begin("tools/call", params).unwrap();
    assert_eq!(client.server.receive().unwrap()["method"], "elicitation/create");
    // A client that disconnects has not declined.
    let conclusion = sandbox.repository(&client.id).join("conclusion.yaml");
    client.server.finish_listening();
    let file = std::fs::read_to_string(conclusion).unwrap();
    assert!(file.contains("answer: unanswered"), "{file}");
}
