//! Sentences that name tools and fields for agents, and commands and options for people.

use serde::{Serialize, Serializer};

use crate::text::one_line;

/// A message in two wordings: one for agents and one for people. It is serialized with the wording for agents.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Wording {
    // Boxed, since diagnostics are returned as errors and should stay small.
    agent: Box<str>,
    /// `None` if both read the same.
    person: Option<Box<str>>,
}

impl Wording {
    /// Creates a message with a separate wording for people.
    pub fn both(agent: impl Into<String>, person: impl Into<String>) -> Self {
        Wording { agent: agent.into().into(), person: Some(person.into().into()) }
    }

    /// Returns the wording for agents.
    pub fn agent(&self) -> &str {
        &self.agent
    }

    /// Returns the wording for people.
    pub fn person(&self) -> &str {
        self.person.as_deref().unwrap_or(&self.agent)
    }

    /// Changes both wordings in the same way.
    pub fn map(&self, change: impl Fn(&str) -> String) -> Self {
        Wording {
            agent: change(&self.agent).into(),
            person: self.person.as_deref().map(|text| change(text).into()),
        }
    }

    /// Appends another message after a space.
    pub fn then(&self, next: &Wording) -> Self {
        let joined = |text: &str, next: &str| format!("{text} {next}");
        Wording::both(joined(&self.agent, &next.agent), joined(self.person(), next.person()))
    }
}

impl<T: Into<String>> From<T> for Wording {
    fn from(text: T) -> Self {
        Wording { agent: text.into().into(), person: None }
    }
}

impl Serialize for Wording {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.agent)
    }
}

/// Formats a command as a person types it, with the investigation's id if one is needed.
pub fn command(name: &str, investigation: Option<&str>, rest: &str) -> String {
    let investigation = investigation.map(|id| format!(" -i {id}")).unwrap_or_default();
    one_line(format!("{name}{investigation} {rest}").trim_end())
}
