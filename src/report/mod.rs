//! (placeholder)
#![allow(missing_docs)]
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
pub struct Input {
    pub snapshot: crate::store::Snapshot,
    pub history: Vec<crate::store::HistoryEntry>,
}
#[derive(Default)]
pub struct Options {
    pub template: Option<PathBuf>,
}
#[derive(Debug, thiserror::Error)]
#[error("x")]
pub struct ReportError;
pub struct Templates;
impl Templates {
    pub fn load(_: &Options) -> Result<Templates, ReportError> {
        Ok(Templates)
    }
}
pub fn site(_: &[Input], _: &Templates) -> Result<BTreeMap<String, Vec<u8>>, ReportError> {
    Ok(BTreeMap::new())
}
pub fn write(_: &BTreeMap<String, Vec<u8>>, _: &Path) -> Result<(), ReportError> {
    Ok(())
}
pub fn dump_template(_: &Path) -> Result<(), ReportError> {
    Ok(())
}
