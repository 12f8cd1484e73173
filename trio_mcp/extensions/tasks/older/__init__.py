"""Tasks as revision 2025-11-25 has them: on either side, for either side."""
