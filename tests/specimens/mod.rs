//! Investigations for tests: an attacker's, and (in `large`) ordinary ones of any size. They are written with git,
//! bypassing the server, as strangers would write them. Each run writes the same bytes.

pub mod hostile;
pub mod payloads;
pub mod repository;
