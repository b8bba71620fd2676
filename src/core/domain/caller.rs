//! The author of a call: a person or an agent, with the client.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::stored;
use crate::text::folded;

/// The origin of a call, if known. It is reported by the client and not verified.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(into = "stored::StoredCaller", from = "Option<stored::StoredCaller>")]
pub struct Caller {
    /// The person, if the call came through a command for people. Absent for a tool call. Agents can run these commands
    /// too.
    pub person: Option<Person>,
    /// The person named in the file, if git names another author. The name is kept only in the file, and rules ignore
    /// it.
    pub disowned: Option<Person>,
    /// The client program with its version: `claude-code/2.1.154`.
    pub client: Option<String>,
    /// The session, which is one run of the client.
    pub session: Option<String>,
    /// The model, as reported by the agent.
    pub model: Option<String>,
}

/// A person, with the name and email address from git. In JSON, `kind: person` marks a person.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Person {
    /// The name.
    pub name: String,
    /// The email address.
    pub email: Option<String>,
}

impl Caller {
    /// Returns whether nothing is known about the caller, so that files omit it. A person contradicted by git is not
    /// omitted.
    pub fn is_absent(&self) -> bool {
        *self == Caller::default()
    }

    /// Creates a caller for a person.
    pub fn of_person(name: impl Into<String>, email: Option<String>) -> Self {
        Caller { person: Some(Person { name: name.into(), email }), ..Caller::default() }
    }

    /// Returns the caller for display: the agent or, without one, the person.
    pub fn who(&self, agent: Option<&str>) -> Option<String> {
        let person = self.person.as_ref().map(|person| person_name(&person.name));
        agent.map(|agent| agent_name(agent).into_owned()).or(person)
    }

    /// Returns whether two callers, each with its agent, are the same author. Two named agents are compared by name.
    /// Otherwise two known persons are compared, by name and by address: one person may have several addresses, and spell
    /// the name differently. Names are compared as they look.
    pub fn is_same_author(one: (Option<&str>, &Caller), other: (Option<&str>, &Caller)) -> bool {
        let spelt = |name: &str| folded(name).split_whitespace().collect::<Vec<_>>().join(" ");
        let is_same = |a: &str, b: &str| a == b || spelt(a) == spelt(b);
        match (one.0, other.0, &one.1.person, &other.1.person) {
            (Some(a), Some(b), ..) => is_same(a, b),
            (.., Some(a), Some(b)) => {
                is_same(&a.name, &b.name)
                    || a.email.as_ref().zip(b.email.as_ref()).is_some_and(|(a, b)| is_same(a, b))
            }
            _ => false,
        }
    }

    /// Returns whether two callers, each with its agent, are the same author, or one of them names nobody and both belong to
    /// the same known session: an agent's shell may tell only the session.
    pub fn may_be_same_author(one: (Option<&str>, &Caller), other: (Option<&str>, &Caller)) -> bool {
        let is_unnamed = |it: (Option<&str>, &Caller)| it.0.is_none() && it.1.person.is_none();
        let is_one_session = one.1.session.is_some() && one.1.session == other.1.session;
        Caller::is_same_author(one, other) || is_one_session && (is_unnamed(one) || is_unnamed(other))
    }

    /// Removes the person because git names another author.
    pub fn disown(&mut self) {
        self.disowned = self.person.take().or(self.disowned.take());
    }
}

/// Returns a person's name for display, which no agent's name looks like.
pub fn person_name(name: &str) -> String {
    format!("{name} (a person)")
}

/// Returns an agent's name for display. In quotation marks if it could imitate the words added to a person's name.
pub fn agent_name(agent: &str) -> Cow<'_, str> {
    match agent.contains([',', '(', ')', '“', '”']) {
        true => Cow::Owned(format!("“{}”", agent.replace(['“', '”'], "\""))),
        false => Cow::Borrowed(agent),
    }
}

/// Returns the client's name without its version: `claude-code` for `claude-code/2.1.154`.
pub fn program_of(client: &str) -> &str {
    client.split_once('/').map_or(client, |(program, _)| program)
}
