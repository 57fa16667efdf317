-- Checksums of what rows hold, so that changed bytes are found (`checksums.py` has the columns that
-- each covers, and fills them in for rows of before). The words of a turn and its vector have one
-- each, because a lost vector can be computed again.
ALTER TABLE thread ADD COLUMN crc INTEGER;
ALTER TABLE turn ADD COLUMN crc INTEGER;
ALTER TABLE turn ADD COLUMN vector_crc INTEGER;
ALTER TABLE passage ADD COLUMN crc INTEGER;
ALTER TABLE episode ADD COLUMN crc INTEGER;
ALTER TABLE cluster ADD COLUMN crc INTEGER;
ALTER TABLE member ADD COLUMN crc INTEGER;
ALTER TABLE span ADD COLUMN crc INTEGER;
