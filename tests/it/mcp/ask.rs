//! `--ask-before-end`: the person at the client is asked, in both generations of the protocol.

use serde_json::{Value, json};

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
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {"name": "it", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": self.capabilities,
            });
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
fn a_yes_is_stored_as_said_through_the_client() {
    for era in ERAS {
        // A client that names no kind of question supports forms.
        for capabilities in [can_ask(), json!({"elicitation": {}})] {
            let sandbox = Sandbox::new();
            let mut client = Client::new(&sandbox, era, capabilities, &["--ask-before-end"]).ready();
            let yes = json!({"action": "accept", "content": {"accept": true, "comment": " Good enough. "}});
            let (question, ended) = client.end(json!({"conclusion": "It sorts twice."}), &yes);
            let message = question["message"].as_str().unwrap();
            assert!(message.contains("Why is it slow?") && message.contains("It sorts twice."), "{message}");
            assert_eq!(question["requestedSchema"]["properties"]["comment"]["type"], "string");
            assert_eq!(ended["status"], "OK", "{ended:#}");
            assert_eq!(ended["asked"]["answer"], "accepted");
            assert_eq!(ended["asked"]["said"], "Good enough.");
            assert_eq!(ended["asked"]["note"], "said through the client, which is not a sign-off");
            assert!(!codes(&ended["warnings"]).contains(&"NOT_ACCEPTED".to_owned()), "{ended:#}");
            let file = client.stored().unwrap();
            assert!(file.contains("asked:\n  answer: accepted\n  said: Good enough.\n"), "{file}");
            // For an existing conclusion, no question is asked.
            assert_eq!(client.call("tot_end", json!({}))["tag"], "ended/1");
            sandbox.assert_sound(&sandbox.repository(&client.id));
        }
    }
}

#[test]
fn a_no_keeps_the_end_away_and_tells_why() {
    for era in ERAS {
        for no in [
            json!({"action": "accept", "content": {"accept": false, "comment": "Look at R2.A1 again."}}),
            json!({"action": "decline", "content": {"comment": "Look at R2.A1 again."}}),
            json!({"action": "decline"}),
        ] {
            let sandbox = Sandbox::new();
            let mut client = Client::new(&sandbox, era, can_ask(), &["--ask-before-end"]).ready();
            let head = sandbox.head(&sandbox.repository(&client.id));
            let (_, refused) = client.end(json!({"conclusion": "It sorts."}), &no);
            assert_eq!(codes(&refused["errors"]), ["END_DECLINED"], "{refused:#}");
            let message = refused["errors"][0]["message"].as_str().unwrap();
            assert_eq!(message.contains("“Look at R2.A1 again.”"), no["content"].is_object(), "{message}");
            assert_eq!(client.stored(), None);
            assert_eq!(sandbox.head(&sandbox.repository(&client.id)), head, "nothing is written");
            // A different conclusion is a different question.
            let (_, ended) = client.end(json!({"conclusion": "It sorts."}), &json!({"action": "accept"}));
            assert_eq!(ended["asked"]["answer"], "accepted", "{ended:#}");
        }
    }
}

#[test]
fn without_an_answer_it_ends_and_says_so() {
    let said = |client: &Client<'_>, ended: &Value, answer: &str| {
        assert_eq!(ended["status"], "OK", "{ended:#}");
        assert_eq!(ended["asked"]["answer"], answer, "{ended:#}");
        assert!(codes(&ended["warnings"]).contains(&"NOT_ACCEPTED".to_owned()), "{ended:#}");
        assert!(client.stored().unwrap().contains(&format!("asked:\n  answer: {answer}\n")));
    };
    let arguments = || json!({"conclusion": "It sorts."});
    for era in ERAS {
        let sandbox = Sandbox::new();
        let mut client = Client::new(&sandbox, era, can_ask(), &["--ask-before-end"]).ready();
        let (_, ended) = client.end(arguments(), &json!({"action": "cancel"}));
        said(&client, &ended, "cancelled");
        // A client that can only open URLs can't ask either.
        for capabilities in [json!({}), json!({"elicitation": {"url": {}}})] {
            let sandbox = Sandbox::new();
            let mut client = Client::new(&sandbox, era, capabilities, &["--ask-before-end"]).ready();
            let ended = client.call("tot_end", arguments());
            said(&client, &ended, "notOffered");
        }
    }
    // If the client holds the question, there is no time limit; if the call waits, there is one.
    let sandbox = Sandbox::new();
    let mut client = Client::new(&sandbox, Era::Sessions, can_ask(), &["--ask-before-end=1"]).ready();
    let params = client.params("tot_end", arguments());
    let number = client.server.begin("tools/call", params).unwrap();
    let ended = loop {
        let message = client.server.receive().unwrap();
        if message["id"] == number && message.get("method").is_none() {
            break reply(&message);
        }
    };
    said(&client, &ended, "unanswered");
    let sandbox = Sandbox::new();
    let mut client = Client::new(&sandbox, Era::Stateless, can_ask(), &["--ask-before-end"]).ready();
    let mut params = client.params("tot_end", arguments());
    params["inputResponses"] = json!({"another": {"action": "accept"}});
    let ended = reply(&client.server.request("tools/call", params));
    said(&client, &ended, "unanswered");
}

#[test]
fn a_rejected_end_asks_nobody_and_neither_does_a_server_that_was_not_told_to() {
    for era in ERAS {
        let sandbox = Sandbox::new();
        let mut client = Client::new(&sandbox, era, can_ask(), &["--ask-before-end"]);
        let refused = client.call("tot_end", json!({"conclusion": "It sorts."}));
        assert_eq!(codes(&refused["errors"])[0], "NO_NODES", "{refused:#}");
        let sandbox = Sandbox::new();
        let mut client = Client::new(&sandbox, era, can_ask(), &[]).ready();
        let ended = client.call("tot_end", json!({"conclusion": "It sorts."}));
        assert!(ended["asked"].is_null() && ended["status"] == "OK", "{ended:#}");
        assert!(!client.stored().unwrap().contains("asked"));
    }
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
    let id = client.id.clone();
    client.server.finish_listening();
    let file = std::fs::read_to_string(sandbox.repository(&id).join("conclusion.yaml")).unwrap();
    assert!(file.contains("answer: unanswered"), "{file}");
}
