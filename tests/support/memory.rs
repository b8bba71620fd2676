//! The memory used by a server.

/// Returns the memory of a process in KiB, or 0 if the system does not report it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Memory {
    pub now: u64,
    pub peak: u64,
}

impl Memory {
    pub fn of(process: u32) -> Memory {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.trim().split(' ').next()?.parse().ok()
        };
        Memory { now: field("VmRSS:").unwrap_or(0), peak: field("VmHWM:").unwrap_or(0) }
    }
}
