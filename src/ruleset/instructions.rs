//! What an agent must know.
