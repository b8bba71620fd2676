//! Checks that objects match their ids: an object's file can be damaged, or written by hand, without a trace in any
//! commit. git itself checks an object's hash only in `git fsck`.

use super::{Git, GitError};

/// The maximum size of an object that is verified, in bytes: no file of an investigation comes near.
const LARGEST: u64 = 256 << 20;

impl Git {
    /// The unreadable objects, and those that do not match their ids, with the reason.
    ///
    /// # Errors
    ///
    /// The object files can't be listed.
    pub fn verify_objects(&self) -> Result<Vec<(String, String)>, GitError> {
        let failed = self.library("list the objects of");
        let mut damaged = Vec::new();
        for id in self.repository.objects.iter().map_err(&failed)? {
            let id = id.map_err(|error| failed(gix::Error::from_error(error)))?;
            let what = match self.repository.find_header(id) {
                Ok(header) if header.size() > LARGEST => Some(format!("it has {} bytes", header.size())),
                Err(error) => Some(error.to_string()),
                Ok(_) => match self.repository.find_object(id) {
                    Err(error) => Some(error.to_string()),
                    Ok(object) => match gix::objs::compute_hash(id.kind(), object.kind, &object.data) {
                        Ok(hash) if hash == id => None,
                        Ok(hash) => Some(format!("its content is that of {hash}")),
                        Err(error) => Some(error.to_string()),
                    },
                },
            };
            damaged.extend(what.map(|what| (id.to_string(), what)));
        }
        Ok(damaged)
    }

    /// Whether the settings require signed commits. This program signs none.
    pub fn wants_signatures(&self) -> bool {
        self.repository.config_snapshot().boolean("commit.gpgSign").unwrap_or(false)
    }
}
