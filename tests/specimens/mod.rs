//! Investigations made for tests: those of an attacker, and (in `large`) an honest one of any size. They are written as strangers would, by git
//! and past the server, with the same bytes in every run.

pub mod hostile;
pub mod payloads;
pub mod repository;
