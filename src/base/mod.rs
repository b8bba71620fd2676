//! The machine: the clock and random ids ([`world`]), system-dependent functions ([`platform`]), threads, temporary
//! folders, and HTTP connections with limits. Nothing here depends on investigations.

pub mod connections;
pub mod parallel;
pub mod platform;
pub mod temporary;
pub mod world;
