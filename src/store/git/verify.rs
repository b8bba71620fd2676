//! Verifies that objects match their ids. Committing does not detect an object file that was damaged or tampered with.
//! Git itself checks object hashes only in `git fsck`.

use super::Git;
use crate::store::StoreError;

/// The maximum size of a verified object in bytes. This is far above the size of any file in an investigation.
const LARGEST: u64 = 256 << 20;

impl Git {
    /// Returns the objects that are unreadable or don't match their ids, each with the reason.
    ///
    /// # Errors
    ///
    /// Returns an error if the objects cannot be listed.
    pub fn verify_objects(&self) -> Result<Vec<(String, String)>, StoreError> {
        let failed = self.library("list the objects");
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
                        Ok(hash) => Some(format!("its content has the id {hash}")),
                        Err(error) => Some(error.to_string()),
                    },
                },
            };
            damaged.extend(what.map(|what| (id.to_string(), what)));
        }
        Ok(damaged)
    }

    /// Returns whether git is configured to sign commits. This program never signs them.
    pub fn wants_signatures(&self) -> bool {
        self.repository.config_snapshot().boolean("commit.gpgSign").unwrap_or(false)
    }
}
