//! The ruleset file, as types: every kind of rule that the engine knows, and nothing else.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::domain::{NodeId, StateName};

/// The version of the file's form that this program reads.
pub const VERSION: u32 = 1;

/// The last round that a rule may name. A state that comes too early up to this round is never given by a commit.
pub const LAST_ROUND: u32 = 100;

/// One method of investigation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Ruleset {
    /// The version of this file's form: 1.
    #[schemars(extend("const" = VERSION))]
    pub version: u32,
    /// The name it is chosen by: a-z, 0-9 and hyphens. A file `NAME.yaml` holds the ruleset NAME.
    #[schemars(regex(pattern = "^[a-z0-9-]{1,60}$"))]
    pub name: String,
    /// What the method is for, in one line.
    pub summary: String,
    /// What an agent should know beyond the rules, in Markdown; it becomes part of the instructions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// The states a node can be in, in the order in which they are shown.
    pub states: Vec<State>,
    /// What is asked of the roots.
    #[serde(default)]
    pub roots: Roots,
    /// The most nodes that one proposal may hold; absent for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch_limit: Option<u32>,
    /// The breadth that is recommended for one round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub breadth: Option<Breadth>,
    /// States that come too early: the first rule that fits a commit is applied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub early_states: Vec<EarlyState>,
    /// The evidence that some states need.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// How much of one commit may be closed at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminal_ratio: Option<TerminalRatio>,
    /// States that wait for a child to confirm or refute them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub confirmations: Vec<Confirmation>,
    /// What is asked of agents.
    #[serde(default)]
    pub checks: Checks,
    /// What is asked before the end.
    pub end: End,
    /// Below this number of minimum rounds, early states are kept as they are unless `tot_start` says otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow_early_terminal_below: Option<u32>,
    /// The modes that `tot_start` may choose; the first is the default. Absent for the one mode `deep`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modes: Vec<Mode>,
}

/// One state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct State {
    /// Its name, in capitals: `EXPLORE`.
    pub name: StateName,
    /// What it says of a node, in a few words.
    pub meaning: String,
    /// What it counts as.
    pub role: Role,
    /// Its colour in DOT: a name that Graphviz knows, or `#rrggbb`.
    pub colour: String,
    /// A terminal node takes no children and owes none.
    #[serde(default, skip_serializing_if = "is_false")]
    pub terminal: bool,
    /// The children that an open node owes, by its round: the first entry that fits holds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<Children>,
    /// The states that its children may have; absent for any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_states: Option<Vec<StateName>>,
}

/// What a state counts as: in the results, in the quality figures and in the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Role {
    /// Work to be continued.
    Open,
    /// A solution that waits for a child to confirm it.
    AwaitingConfirmation,
    /// An answer.
    Solution,
    /// An answer that can't be tested here.
    Theory,
    /// It confirms its parent.
    Confirmation,
    /// A path with nothing left to try.
    Exhausted,
    /// A path that was ruled out.
    DeadEnd,
}

/// Children that a node owes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Children {
    /// How many, at least.
    pub min: u32,
    /// Only children in these states count; absent for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<Vec<StateName>>,
    /// The first round of a node to which this applies; absent for 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_round: Option<u32>,
    /// The last round of a node to which this applies; absent for no last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_round: Option<u32>,
}

/// What is asked of the roots.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Roots {
    /// Roots that the first batch must bring.
    pub min: u32,
    /// Whether `tot_start` may choose another number with `minRoots`.
    #[serde(skip_serializing_if = "is_false")]
    pub min_is_chosen: bool,
    /// The most roots there may be; absent for no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<u32>,
    /// The ids that a root may have; absent for any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ids: Option<Vec<NodeId>>,
}

impl Default for Roots {
    fn default() -> Self {
        Roots { min: 1, min_is_chosen: false, max: None, ids: None }
    }
}

/// The breadth that is recommended for one round; less draws the warning `R<round>_BREADTH`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Breadth {
    /// The round.
    pub round: u32,
    /// The nodes it should have.
    pub recommended: u32,
}

/// States that come too early in some rounds: stored as another state, or refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EarlyState {
    /// The states.
    pub states: Vec<StateName>,
    /// The first round to which this applies; absent for 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_round: Option<u32>,
    /// The last round to which this applies.
    pub to_round: u32,
    /// The state that is stored in their place; absent to refuse the commit (`STATE_LOCKED`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store_as: Option<StateName>,
    /// The code of the warning; absent for `DEPTH_ENFORCED`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

/// The evidence that some states need, else `MISSING_EVIDENCE`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Evidence {
    /// The states that need it.
    pub states: Vec<StateName>,
    /// Its least length, in characters.
    pub min_characters: u32,
}

/// How much of one commit may be closed at once, round by round, else `TERMINAL_RATIO_EXCEEDED`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TerminalRatio {
    /// The limits, by round; a round that none fits has no limit.
    pub limits: Vec<RatioLimit>,
    /// States that count as closed beside the terminal ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also_closed: Vec<StateName>,
    /// Nodes that count neither as closed nor at all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_counted: Vec<NotCounted>,
}

/// The limit of some rounds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RatioLimit {
    /// The first round to which this applies; absent for 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_round: Option<u32>,
    /// The last round to which this applies; absent for no last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_round: Option<u32>,
    /// The most that may be closed, in percent of the counted nodes.
    pub max_percent: u32,
}

/// Nodes that a ratio leaves out: those that fit every field given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NotCounted {
    /// Nodes in these states.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub states: Option<Vec<StateName>>,
    /// Children of nodes in these states.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub children_of: Option<Vec<StateName>>,
    /// Up to this round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_round: Option<u32>,
}

/// A state that waits for a child to confirm or refute it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Confirmation {
    /// The state that waits.
    pub state: StateName,
    /// What each child's state makes of it; the first such child decides.
    pub outcomes: Vec<Outcome>,
}

/// What a child's state makes of a waiting parent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Outcome {
    /// The child's state.
    pub child: StateName,
    /// The state that the parent then has.
    pub becomes: StateName,
}

/// What is asked of agents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Checks {
    /// A commit sooner than this after its proposal is suspicious.
    pub min_research_seconds: u32,
    /// `SUSPICIOUS`: committed too soon after it was proposed.
    pub suspicious: Severity,
    /// `MISSING_AGENT`: no `agentId`.
    pub missing_agent: Severity,
    /// `REUSED_AGENT`: the `agentId` already stands on another node.
    pub reused_agent: Severity,
    /// `SECRET_SUSPECTED`: a text holds what looks like a credential.
    pub secret_suspected: Severity,
}

impl Default for Checks {
    fn default() -> Self {
        Checks {
            min_research_seconds: 10,
            suspicious: Severity::Warn,
            missing_agent: Severity::Warn,
            reused_agent: Severity::Warn,
            secret_suspected: Severity::Warn,
        }
    }
}

/// What a check does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Severity {
    /// Nothing.
    Off,
    /// The call goes through and warns.
    Warn,
    /// The call is refused.
    Reject,
}

/// What is asked before the end, beside complete nodes and no pending proposal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct End {
    /// The round that must have been reached, else `MIN_ROUNDS`.
    pub min_rounds: u32,
    /// The round that the deepest node must have reached, else `DEPTH_TOO_SHALLOW`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_depth: Option<u32>,
    /// The composite quality that must be reached, in percent, else `QUALITY_TOO_LOW`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_quality_percent: Option<u32>,
}

/// A mode: the same method, stricter or laxer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Mode {
    /// Its name.
    pub name: String,
    /// What it is for, in one line.
    pub meaning: String,
    /// Minimum rounds in place of the ruleset's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_rounds: Option<u32>,
    /// Whether `minRounds` of `tot_start` may go below that number.
    #[serde(default, skip_serializing_if = "is_false")]
    pub min_rounds_may_be_lowered: bool,
    /// No node owes more children than this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_children_owed: Option<u32>,
    /// Whether the recommended breadth is left out.
    #[serde(default, skip_serializing_if = "is_false")]
    pub without_breadth: bool,
    /// `tot_next` asks for at least this many children per open node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub children_asked: Option<u32>,
}

/// The JSON Schema of a ruleset file, by which editors complete and check it. In the draft that they know best.
pub fn json_schema() -> serde_json::Value {
    let generator = schemars::generate::SchemaSettings::draft07().into_generator();
    let mut schema = generator.into_root_schema_for::<Ruleset>();
    schema.insert("title".into(), "A ruleset of Tree of Thoughts".into());
    schema.into()
}

impl Role {
    /// The role, for people.
    pub fn label(self) -> &'static str {
        match self {
            Role::Open => "open",
            Role::AwaitingConfirmation => "awaiting confirmation",
            Role::Solution => "solution",
            Role::Theory => "theory",
            Role::Confirmation => "confirmation",
            Role::Exhausted => "exhausted",
            Role::DeadEnd => "dead end",
        }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_false(value: &bool) -> bool {
    !*value
}

/// Ids are strings in files and in schemas.
macro_rules! text_on_the_wire {
    ($type:ty, $pattern:literal, $description:literal) => {
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Visitor;
                impl serde::de::Visitor<'_> for Visitor {
                    type Value = $type;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($description)
                    }
                    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<$type, E> {
                        <$type>::from_str(text).map_err(E::custom)
                    }
                }
                deserializer.deserialize_str(Visitor)
            }
        }

        impl JsonSchema for $type {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($type).into()
            }
            fn inline_schema() -> bool {
                true
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({"type": "string", "pattern": $pattern})
            }
        }
    };
}

text_on_the_wire!(StateName, "^[A-Z][A-Z0-9_]{0,39}$", "the name of a state, like EXPLORE");
text_on_the_wire!(NodeId, "^R[1-9][0-9]*\\.[A-Za-z0-9]+$", "the id of a node, like R2.A1");
