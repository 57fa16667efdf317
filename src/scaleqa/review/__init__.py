"""The review desk: people accept, edit or reject records, one by one."""
