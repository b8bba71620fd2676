//! Types for ruleset files. The types for each rule kind are defined in its module under [`rules`](super::rules).

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use super::rules::agents::{Checks, Enforcement};
pub use super::rules::alternatives::Alternatives;
pub use super::rules::breadth::Breadth;
pub use super::rules::child_states::ChildStates;
pub use super::rules::children::Children;
pub use super::rules::confirmation::{Confirmation, ConfirmationOutcome};
pub use super::rules::early_states::EarlyState;
pub use super::rules::evidence::Evidence;
pub use super::rules::modes::Mode;
pub use super::rules::roots::Roots;
pub use super::rules::runs::Runs;
pub use super::rules::states::{Role, State};
pub use super::rules::terminal_ratio::{NotCounted, RatioLimit, TerminalRatio};
pub use super::rules::verification::Verification;
use crate::domain::{NodeId, StateName};

/// The supported version of the file format.
pub const VERSION: u32 = 1;

/// The last round that a rule may name. A state that is too early up to this round can never be committed.
pub const LAST_ROUND: u32 = 100;

/// A method of investigation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Ruleset {
    /// The version of the file format: 1.
    #[schemars(extend("const" = VERSION))]
    pub version: u32,
    /// The name, consisting of a-z, 0-9 and hyphens. The file is named `NAME.yaml`.
    #[schemars(regex(pattern = "^[a-z0-9-]{1,60}$"))]
    pub name: String,
    /// The purpose of the method, in one line.
    pub summary: String,
    /// Advice for agents beyond the rules, in Markdown; included in the instructions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
    /// The states of nodes, in display order.
    pub states: Vec<State>,
    /// Requirements for roots.
    #[serde(default)]
    pub roots: Roots,
    /// The maximum number of nodes in a proposal; absent for no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch_limit: Option<u32>,
    /// The recommended breadth of one round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub breadth: Option<Breadth>,
    /// Rules for states that come too early. The first matching rule applies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub early_states: Vec<EarlyState>,
    /// The evidence that some states require.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// States that should be backed by commands, runs or cited files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<Runs>,
    /// The alternatives that some states require.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alternatives: Option<Alternatives>,
    /// Limits on the share of one commit that may be closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub terminal_ratio: Option<TerminalRatio>,
    /// States that wait for a child to confirm or refute them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub confirmations: Vec<Confirmation>,
    /// Rules on who must confirm answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verification: Option<Verification>,
    /// The effect of open objections on ending the investigation; default: `warn`.
    #[serde(default = "warn", skip_serializing_if = "is_warn")]
    pub objections: Enforcement,
    /// Checks on agents' calls.
    #[serde(default)]
    pub checks: Checks,
    /// Requirements for ending the investigation.
    pub end: EndRules,
    /// Below this minimum number of rounds, early states are kept by default; `tot_start` can override this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow_early_terminal_below: Option<u32>,
    /// The modes that `tot_start` may choose, the default first. Absent for a single mode, `deep`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modes: Vec<Mode>,
}

/// Requirements for ending the investigation, apart from complete nodes and no pending proposals.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "End")]
pub struct EndRules {
    /// The minimum round to reach. Reports `MIN_ROUNDS` if it is not reached.
    pub min_rounds: u32,
    /// The minimum round of the deepest node. Reports `DEPTH_TOO_SHALLOW` if it is not reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_depth: Option<u32>,
    /// The minimum composite quality in percent. Reports `QUALITY_TOO_LOW` below it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_quality_percent: Option<u32>,
}

/// Returns the JSON Schema for ruleset files, for completion and validation in editors. Uses the draft that editors
/// support best.
pub fn json_schema() -> serde_json::Value {
    let generator = schemars::generate::SchemaSettings::draft07().into_generator();
    let mut schema = generator.into_root_schema_for::<Ruleset>();
    schema.insert("title".into(), "A Tree of Thoughts ruleset".into());
    schema.into()
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
pub(super) fn is_false(value: &bool) -> bool {
    !*value
}

fn warn() -> Enforcement {
    Enforcement::Warn
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_warn(value: &Enforcement) -> bool {
    *value == Enforcement::Warn
}

/// Serializes ids as strings in files and in schemas.
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
