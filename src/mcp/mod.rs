//! stub
pub mod forgiving;
pub mod schema;
