"""Both SDKs behind one face, so that a row is written once."""
