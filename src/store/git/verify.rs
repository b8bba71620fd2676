//! Whether each object is what its id says: a file of an object can be damaged, or written by hand, without a trace in
//! any commit. git looks at an object's hash only in `git fsck`.

use super::{Git, GitError};

/// The largest object that is read for it, in bytes: no file of an investigation comes near.
const LARGEST: u64 = 256 << 20;

impl Git {
    /// The objects that can't be read, or are not what their ids say, with the reason.
    ///
    /// # Errors
    ///
    /// Object files that can't be listed.
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

    /// Whether the settings ask for signed commits. This program signs none.
    pub fn wants_signatures(&self) -> bool {
        self.repository.config_snapshot().boolean("commit.gpgSign").unwrap_or(false)
    }
}
