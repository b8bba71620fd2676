//! The format of ruleset files: its version, its JSON Schema, and ids as text.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::rules::Ruleset;
use crate::domain::{NodeId, ShortId, StateName};

/// The supported version of the file format.
pub const VERSION: u32 = 1;

/// The last round that a rule may name. A state that is too early up to this round can never be committed.
pub const LAST_ROUND: u32 = 100;

/// Returns the JSON Schema for ruleset files, for completion and validation in editors. Uses the draft that editors
/// support best.
pub fn json_schema() -> serde_json::Value {
    let generator = schemars::generate::SchemaSettings::draft07().into_generator();
    let mut schema = generator.into_root_schema_for::<Ruleset>();
    schema.insert("title".into(), "A Tree of Thoughts ruleset".into());
    schema.into()
}

/// Serializes ids as strings in files and in schemas.
macro_rules! text_on_the_wire {
    ($type:ty, $pattern:literal, $description:literal, $read:expr) => {
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
                        $read(text).map_err(E::custom)
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

text_on_the_wire!(
    StateName,
    "^[A-Z][A-Z0-9_]{0,39}$",
    "the name of a state, like EXPLORE",
    StateName::from_str
);
text_on_the_wire!(
    ShortId,
    "^R[1-9][0-9]*\\.[A-Za-z0-9]+$",
    "the short id of a node, like R2.A1",
    ShortId::from_str
);
text_on_the_wire!(
    NodeId,
    "^R[1-9][0-9]*\\.[A-Za-z0-9]+(-[0-9a-z]{6})?$",
    "the id of a node, like R2.A1 or R2.A1-k3f9q2",
    NodeId::in_file
);
