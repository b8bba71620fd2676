CREATE INDEX job_state ON job (state, id);
